//! What every forge must do, written once against the trait; each forge runs the whole suite.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use windlass_adapters::Remedy;
use windlass_adapters::forge::{
    ChangeFilter, Durability, EmbeddedForge, Forge, ForgeError, IssueFilter, IssueQuery, NewChange, NewIssue,
    NewReview, Subject, every, key_of,
};
use windlass_core::forge::{Change, ChangeState, Issue, ReviewDecision, StatusState};
use windlass_core::id::{ChangeNumber, EffectKey, IssueNumber, Sha};
use windlass_core::time::Millis;

/// One `#[test]` for each clause. `$fresh` gives a forge without issues, and what keeps it alive.
macro_rules! contract {
    ($forge:ident, $fresh:path: $($clause:ident)*) => {
        mod $forge {
            $(#[test]
            fn $clause() {
                let (forge, _keep) = $fresh();
                super::$clause(&forge);
            })*
        }
    };
}

contract! { embedded, super::fresh_embedded:
    an_issue_is_read_as_it_was_made
    a_long_body_with_odd_characters_is_kept_whole
    a_body_over_the_limit_and_an_empty_title_are_refused
    an_issue_under_a_used_key_is_the_first_one
    issues_and_changes_share_one_counter
    issues_are_listed_oldest_first_over_many_pages
    a_query_takes_only_what_has_all_its_marks
    what_was_updated_is_found_and_nothing_is_missed_between_pages
    closing_and_reopening_twice_is_doing_it_once
    labels_are_set_by_name_and_repeating_changes_nothing
    a_repeated_comment_is_one_comment
    the_same_key_on_two_issues_is_two_comments
    comments_are_listed_in_order_and_from_a_time_on
    a_branch_has_one_open_change
    a_change_goes_from_open_to_merged_or_closed_and_no_further
    only_an_open_change_moves_its_head
    changes_are_listed_open_or_all
    a_repeated_review_is_one_review_of_one_head
    a_commit_has_one_status_for_each_context
    what_is_missing_is_an_error_and_never_an_empty_answer
}

fn fresh_embedded() -> (EmbeddedForge, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let forge = EmbeddedForge::open(&folder.path().join("windlass.db"), Durability::Normal).unwrap();
    (forge, folder)
}

fn an_issue_is_read_as_it_was_made(forge: &dyn Forge) {
    let new = NewIssue {
        title: "fix the\ndoor\u{7}".into(),
        body: "It squeaks.".into(),
        labels: vec!["priority".into(), "backlog".into(), "backlog".into()],
        author: "ann".into(),
        key: None,
    };
    let made = forge.create_issue(&new, Millis(1_000)).unwrap();
    assert_eq!(forge.issue(made.number).unwrap(), made);
    assert_eq!(made.title, "fix the door");
    assert_eq!(made.body, "It squeaks.");
    assert_eq!(made.labels, ["backlog", "priority"]);
    assert!(made.open && made.closed_at.is_none());
    assert_eq!(made.created_at, made.updated_at);
}

fn a_long_body_with_odd_characters_is_kept_whole(forge: &dyn Forge) {
    let start = "a\0b\u{1b}[31m\r\n\u{202e}🚪";
    let body = format!("{start}{}", "x".repeat((1 << 20) - start.len()));
    let made = forge.create_issue(&NewIssue { body: body.clone(), ..titled("long") }, Millis(1)).unwrap();
    assert!(forge.issue(made.number).unwrap().body == body);
    let said = forge.comment(made.number, &key("long"), &body, Millis(2)).unwrap();
    assert!(said.body.starts_with(&body));
}

fn a_body_over_the_limit_and_an_empty_title_are_refused(forge: &dyn Forge) {
    let body = "x".repeat((1 << 20) + 1);
    for new in [NewIssue { body: body.clone(), ..titled("long") }, titled(" \n "), titled("")] {
        let refused = forge.create_issue(&new, Millis(1)).unwrap_err();
        assert!(matches!(refused, ForgeError::Invalid { .. }), "{refused:?}");
        assert_eq!(refused.remedy(), Remedy::AskHuman);
    }
    let issue = issue(forge, "door");
    let refused = forge.comment(issue.number, &key("long"), &body, Millis(1));
    assert!(matches!(refused, Err(ForgeError::Invalid { .. })), "{refused:?}");
    assert_eq!(list(forge, &IssueQuery::default()), [issue.number]);
}

fn an_issue_under_a_used_key_is_the_first_one(forge: &dyn Forge) {
    let new = NewIssue { key: Some(key("12.1/follow-up")), ..titled("follow-up") };
    assert_eq!(forge.find_issue(&key("12.1/follow-up")).unwrap(), None);
    let first = forge.create_issue(&new, Millis(1)).unwrap();
    assert_eq!(forge.create_issue(&new, Millis(2)).unwrap(), first);
    assert_eq!(forge.find_issue(&key("12.1/follow-up")).unwrap(), Some(first.clone()));
    assert_eq!(key_of(&first.body), Some(key("12.1/follow-up")));
    assert_eq!(list(forge, &IssueQuery::default()), [first.number]);
}

fn issues_and_changes_share_one_counter(forge: &dyn Forge) {
    let numbers = [
        issue(forge, "one").number.0,
        change(forge, "two").number.0,
        issue(forge, "three").number.0,
        change(forge, "four").number.0,
    ];
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
}

fn issues_are_listed_oldest_first_over_many_pages(forge: &dyn Forge) {
    let made: Vec<IssueNumber> = (0..230).map(|n| issue(forge, &format!("issue {n}")).number).collect();
    assert_eq!(list(forge, &IssueQuery::default()), made);
    let first = forge.issues(&IssueQuery::default(), None).unwrap();
    assert!(first.items.len() < made.len() && first.next.is_some());
}

fn a_query_takes_only_what_has_all_its_marks(forge: &dyn Forge) {
    let [a, b, c] = ["a", "b", "c"].map(|title| issue(forge, title).number);
    forge.add_labels(a, &["backlog", "priority"], Millis(2)).unwrap();
    forge.add_labels(b, &["backlog"], Millis(2)).unwrap();
    forge.add_labels(c, &["backlog", "priority"], Millis(2)).unwrap();
    forge.close_issue(c, Millis(3)).unwrap();
    let ask = |filter, labels: &[&str]| {
        let labels = labels.iter().map(|name| (*name).to_owned()).collect();
        list(forge, &IssueQuery { filter, labels, updated_since: None })
    };
    assert_eq!(ask(IssueFilter::All, &["priority", "backlog"]), [a, c]);
    assert_eq!(ask(IssueFilter::Open, &["backlog"]), [a, b]);
    assert_eq!(ask(IssueFilter::Closed, &["backlog"]), [c]);
    assert_eq!(ask(IssueFilter::Open, &[]), [a, b]);
    assert_eq!(ask(IssueFilter::All, &["back"]), []);
}

fn what_was_updated_is_found_and_nothing_is_missed_between_pages(forge: &dyn Forge) {
    let made: Vec<Issue> = (0..150).map(|n| issue_at(forge, &format!("issue {n}"), 1_000 + n)).collect();
    let since = made[20].updated_at;
    let query = IssueQuery { updated_since: Some(since), ..IssueQuery::default() };
    let first = forge.issues(&query, None).unwrap();
    // Two already passed or not yet reached change while the list is read: both must still turn up.
    for number in [made[0].number, made[140].number] {
        forge.comment(number, &key("between"), "now", Millis(9_000)).unwrap();
    }
    let mut seen: Vec<IssueNumber> = first.items.iter().map(|issue| issue.number).collect();
    let mut next = first.next;
    while let Some(cursor) = next {
        let page = forge.issues(&query, Some(&cursor)).unwrap();
        assert!(page.items.is_sorted_by_key(|issue| issue.updated_at));
        seen.extend(page.items.iter().map(|issue| issue.number));
        next = page.next;
    }
    seen.sort();
    seen.dedup();
    let expected: Vec<IssueNumber> = made
        .iter()
        .filter(|i| i.updated_at >= since || i.number == made[0].number)
        .map(|i| i.number)
        .collect();
    assert_eq!(seen, expected);
}

fn closing_and_reopening_twice_is_doing_it_once(forge: &dyn Forge) {
    let number = issue(forge, "door").number;
    forge.close_issue(number, Millis(10)).unwrap();
    let closed = forge.issue(number).unwrap();
    assert!(!closed.open && closed.closed_at.is_some());
    forge.close_issue(number, Millis(20)).unwrap();
    assert_eq!(forge.issue(number).unwrap(), closed);
    forge.reopen_issue(number, Millis(30)).unwrap();
    let open = forge.issue(number).unwrap();
    assert!(open.open && open.closed_at.is_none() && open.updated_at >= closed.updated_at);
    forge.reopen_issue(number, Millis(40)).unwrap();
    assert_eq!(forge.issue(number).unwrap(), open);
}

fn labels_are_set_by_name_and_repeating_changes_nothing(forge: &dyn Forge) {
    let number = issue(forge, "door").number;
    forge.add_labels(number, &["in-progress", "prediction/unreviewed"], Millis(10)).unwrap();
    let labelled = forge.issue(number).unwrap();
    assert_eq!(labelled.labels, ["in-progress", "prediction/unreviewed"]);
    forge.add_labels(number, &["in-progress"], Millis(20)).unwrap();
    forge.remove_label(number, "never-there", Millis(20)).unwrap();
    assert_eq!(forge.issue(number).unwrap(), labelled);
    for at in [30, 40] {
        forge.remove_label(number, "in-progress", Millis(at)).unwrap();
        assert_eq!(forge.issue(number).unwrap().labels, ["prediction/unreviewed"]);
    }
    assert!(matches!(forge.add_labels(number, &["a,b"], Millis(50)), Err(ForgeError::Invalid { .. })));
}

fn a_repeated_comment_is_one_comment(forge: &dyn Forge) {
    let number = issue(forge, "door").number;
    let key = key("12.1/comment/1");
    assert_eq!(forge.find_comment(number, &key).unwrap(), None);
    let first = forge.comment(number, &key, "Build failed.", Millis(10)).unwrap();
    // The answer was lost; the caller asks again.
    assert_eq!(forge.comment(number, &key, "Build failed.", Millis(99)).unwrap(), first);
    assert_eq!(forge.find_comment(number, &key).unwrap(), Some(first.clone()));
    assert_eq!(all_comments(forge, number), std::slice::from_ref(&first.body));
    assert_eq!(first.body, "Build failed.\n\n<!-- windlass:12.1/comment/1 -->");
}

fn the_same_key_on_two_issues_is_two_comments(forge: &dyn Forge) {
    let [a, b] = ["a", "b"].map(|title| issue(forge, title).number);
    for number in [a, b] {
        forge.comment(number, &key("k"), "hello", Millis(1)).unwrap();
    }
    assert_eq!((all_comments(forge, a).len(), all_comments(forge, b).len()), (1, 1));
    // A body that quotes a marker is not that effect's comment.
    forge.comment(a, &key("quoting"), "<!-- windlass:other -->", Millis(2)).unwrap();
    assert_eq!(forge.find_comment(a, &key("other")).unwrap(), None);
}

fn comments_are_listed_in_order_and_from_a_time_on(forge: &dyn Forge) {
    let number = issue(forge, "door").number;
    let said: Vec<_> = (0..210)
        .map(|n| forge.comment(number, &key(&format!("k{n}")), &format!("{n}"), Millis(1_000 + n)).unwrap())
        .collect();
    let all = every(|from| forge.comments(number, from)).unwrap();
    assert_eq!(all, said);
    let since = said[50].created_at;
    let late = every(|from| forge.comments_since(number, since, from)).unwrap();
    assert_eq!(late, said.iter().filter(|c| c.created_at >= since).cloned().collect::<Vec<_>>());
    assert_eq!(forge.issue(number).unwrap().updated_at, said[209].created_at);
}

fn a_branch_has_one_open_change(forge: &dyn Forge) {
    let issue = issue(forge, "door").number;
    let new = NewChange { issue: Some(issue), ..new_change("fix/issue-1") };
    assert_eq!(forge.find_change("fix/issue-1").unwrap(), None);
    let first = forge.open_change(&new, Millis(10)).unwrap();
    assert_eq!((first.issue, first.state, &first.head), (Some(issue), ChangeState::Open, &new.head));
    let second = forge.open_change(&new, Millis(20)).unwrap_err();
    assert!(matches!(second, ForgeError::Conflict { .. }), "{second:?}");
    assert_eq!(forge.find_change("fix/issue-1").unwrap(), Some(first.clone()));
    forge.close_change(first.number).unwrap();
    let again = forge.open_change(&new, Millis(30)).unwrap();
    assert_ne!(again.number, first.number);
    assert_eq!(forge.find_change("fix/issue-1").unwrap(), Some(again));
}

fn a_change_goes_from_open_to_merged_or_closed_and_no_further(forge: &dyn Forge) {
    let [merged, closed] = ["merged", "closed"].map(|branch| change(forge, branch).number);
    for _ in 0..2 {
        forge.mark_merged(merged, &sha('c')).unwrap();
        forge.close_change(closed).unwrap();
    }
    let conflicts = [
        forge.mark_merged(merged, &sha('d')),
        forge.close_change(merged),
        forge.mark_merged(closed, &sha('c')),
    ];
    for answer in conflicts {
        assert!(matches!(answer, Err(ForgeError::Conflict { .. })), "{answer:?}");
    }
    assert_eq!(forge.change(merged).unwrap().state, ChangeState::Merged);
    assert_eq!(forge.change(closed).unwrap().state, ChangeState::Closed);
}

fn only_an_open_change_moves_its_head(forge: &dyn Forge) {
    let number = change(forge, "fix/issue-1").number;
    for _ in 0..2 {
        forge.update_change_head(number, &sha('b')).unwrap();
        assert_eq!(forge.change(number).unwrap().head, sha('b'));
    }
    forge.mark_merged(number, &sha('c')).unwrap();
    let late = forge.update_change_head(number, &sha('d'));
    assert!(matches!(late, Err(ForgeError::Conflict { .. })), "{late:?}");
    assert_eq!(forge.change(number).unwrap().head, sha('b'));
}

fn changes_are_listed_open_or_all(forge: &dyn Forge) {
    let made: Vec<ChangeNumber> = (0..120).map(|n| change(forge, &format!("b{n}")).number).collect();
    forge.close_change(made[3]).unwrap();
    forge.mark_merged(made[5], &sha('c')).unwrap();
    let numbers = |filter| -> Vec<ChangeNumber> {
        every(|from| forge.changes(filter, from)).unwrap().iter().map(|change| change.number).collect()
    };
    assert_eq!(numbers(ChangeFilter::All), made);
    let open: Vec<ChangeNumber> =
        made.iter().copied().filter(|number| ![made[3], made[5]].contains(number)).collect();
    assert_eq!(numbers(ChangeFilter::Open), open);
}

fn a_repeated_review_is_one_review_of_one_head(forge: &dyn Forge) {
    let number = change(forge, "fix/issue-1").number;
    let rejected = NewReview {
        key: key("review/1"),
        head: sha('a'),
        decision: ReviewDecision::ChangesRequested,
        body: "The door is upside down.".into(),
    };
    let first = forge.post_review(number, &rejected, Millis(10)).unwrap();
    assert_eq!(forge.post_review(number, &rejected, Millis(20)).unwrap(), first);
    let decision = ReviewDecision::Approved;
    let approved = NewReview { key: key("review/2"), head: sha('b'), decision, ..rejected };
    let second = forge.post_review(number, &approved, Millis(30)).unwrap();
    let all = forge.reviews(number).unwrap();
    assert_eq!(all, [first.clone(), second]);
    assert_eq!(
        all.iter().map(|r| (&r.head, r.decision)).collect::<Vec<_>>(),
        [(&sha('a'), ReviewDecision::ChangesRequested), (&sha('b'), ReviewDecision::Approved)]
    );
    assert_eq!(forge.find_review(number, &key("review/1")).unwrap(), Some(first));
    assert_eq!(forge.find_review(number, &key("review/3")).unwrap(), None);
}

fn a_commit_has_one_status_for_each_context(forge: &dyn Forge) {
    let (a, b) = (sha('a'), sha('b'));
    forge.set_status(&a, "ci/test", StatusState::Pending, "running", Millis(1)).unwrap();
    forge.set_status(&a, "ci/lint", StatusState::Success, "clean", Millis(2)).unwrap();
    for at in [3, 4] {
        forge.set_status(&a, "ci/test", StatusState::Failure, "3 failed", Millis(at)).unwrap();
    }
    let seen: Vec<_> =
        forge.statuses(&a).unwrap().into_iter().map(|s| (s.context, s.state, s.description)).collect();
    assert_eq!(
        seen,
        [
            ("ci/lint".into(), StatusState::Success, "clean".into()),
            ("ci/test".into(), StatusState::Failure, "3 failed".into())
        ]
    );
    assert_eq!(forge.statuses(&b).unwrap(), []);
}

fn what_is_missing_is_an_error_and_never_an_empty_answer(forge: &dyn Forge) {
    let change = change(forge, "fix/issue-1").number;
    // A change's number is no issue's, though both come from one counter.
    for number in [IssueNumber(change.0), IssueNumber(9_999), IssueNumber(u64::MAX)] {
        let answers = [
            forge.issue(number).err(),
            forge.close_issue(number, Millis(1)).err(),
            forge.reopen_issue(number, Millis(1)).err(),
            forge.add_labels(number, &["backlog"], Millis(1)).err(),
            forge.remove_label(number, "backlog", Millis(1)).err(),
            forge.comment(number, &key("k"), "body", Millis(1)).err(),
            forge.find_comment(number, &key("k")).err(),
            forge.comments(number, None).err(),
            forge.open_change(&NewChange { issue: Some(number), ..new_change("b") }, Millis(1)).err(),
        ];
        for answer in answers {
            assert!(
                matches!(answer, Some(ForgeError::NotFound(Subject::Issue(n))) if n == number),
                "{answer:?}"
            );
        }
    }
    let number = ChangeNumber(9_999);
    let (head, decision) = (sha('a'), ReviewDecision::Approved);
    let review = NewReview { key: key("k"), head, decision, body: "ok".into() };
    let answers = [
        forge.change(number).err(),
        forge.update_change_head(number, &sha('a')).err(),
        forge.mark_merged(number, &sha('a')).err(),
        forge.close_change(number).err(),
        forge.post_review(number, &review, Millis(1)).err(),
        forge.find_review(number, &key("k")).err(),
        forge.reviews(number).err(),
    ];
    for answer in answers {
        assert!(matches!(answer, Some(ForgeError::NotFound(Subject::Change(_)))), "{answer:?}");
    }
}

fn titled(title: &str) -> NewIssue {
    NewIssue { title: title.into(), body: "body".into(), labels: Vec::new(), author: "ann".into(), key: None }
}

fn issue(forge: &dyn Forge, title: &str) -> Issue {
    issue_at(forge, title, 1)
}

fn issue_at(forge: &dyn Forge, title: &str, at: i64) -> Issue {
    forge.create_issue(&titled(title), Millis(at)).unwrap()
}

fn new_change(branch: &str) -> NewChange {
    NewChange {
        branch: branch.into(),
        base: "main".into(),
        head: sha('a'),
        title: "fix the door".into(),
        body: "Oiled.".into(),
        issue: None,
    }
}

fn change(forge: &dyn Forge, branch: &str) -> Change {
    forge.open_change(&new_change(branch), Millis(1)).unwrap()
}

fn list(forge: &dyn Forge, query: &IssueQuery) -> Vec<IssueNumber> {
    every(|from| forge.issues(query, from)).unwrap().iter().map(|issue| issue.number).collect()
}

fn all_comments(forge: &dyn Forge, number: IssueNumber) -> Vec<String> {
    every(|from| forge.comments(number, from)).unwrap().into_iter().map(|comment| comment.body).collect()
}

fn key(text: &str) -> EffectKey {
    EffectKey::new(text)
}

fn sha(digit: char) -> Sha {
    Sha::parse(&digit.to_string().repeat(40)).unwrap()
}
