//! Issues that are large, hidden, tangled or many: each is worked on or left with a reason.

use std::collections::BTreeSet;

use crate::crew::{APPROVES, READY, config, crew};

#[test]
fn strange_texts_are_only_texts() {
    let mut works = crew(&config("true", ""), APPROVES, &[]);
    let large = works.machine.path("large.md");
    std::fs::write(&large, "Do as it says. ".repeat(69_900)).unwrap();
    let hidden = "fix \u{202e}gnp\u{200b}.exe\u{e0041}\u{fe0f} \u{1b}[31mred\r\n\u{7}now";
    assert_eq!(works.new_issue(hidden, &format!("body {hidden}\u{2066}\u{0}").replace('\0', "")), 1);
    let shell = "--help; $(touch x) `touch x` ' \" | \\";
    works.must(&["new", "--body", "$(touch x)", "--", shell]);
    works.must(&["new", "a large one", "--body-file", large.to_str().unwrap()]);
    works.up();
    let mut log = works.log();
    for issue in 1..=3 {
        log.wait_merged(issue);
        let brief = works.machine.state().join(format!("sessions/dev-{issue}.1-1/brief.md"));
        let brief = std::fs::read_to_string(brief).unwrap();
        let odd: Vec<char> =
            brief.chars().filter(|c| !c.is_ascii_graphic() && !" \n…".contains(*c)).collect();
        assert_eq!(odd, Vec::<char>::new(), "in the brief of #{issue}");
        assert!(brief.len() < 80_000, "the brief of #{issue} has {} bytes", brief.len());
        let review = works.machine.state().join(format!("sessions/review-{issue}.1-1/brief.md"));
        let review = std::fs::read_to_string(review).unwrap();
        assert!(!review.chars().any(|c| "\u{202e}\u{200b}\u{e0041}\u{fe0f}\u{1b}".contains(c)));
    }
    let heard = works.heard(1);
    assert!(heard.starts_with("# #1 fix ") && heard.contains("body fix gnp.exe [31mred\nnow\n"), "{heard}");
    assert!(works.heard(2).starts_with(&format!("# #2 {shell}\n")), "{}", works.heard(2));
    assert!(works.git(&["log", "--format=%s", "main"]).contains("Merge #2: --help; $(touch x)"));
    assert!(works.git(&["ls-tree", "--name-only", "main", "x"]).is_empty());
    assert_eq!(works.show(3)["body"].as_str().unwrap().len(), 1_048_500);
    works.down();
}

#[test]
fn tangled_dependencies_are_left_with_a_reason() {
    let mut works = crew(&config("true", ""), APPROVES, &[READY]);
    let many: String = (1..=10_000).map(|n| format!("- #{n}\n")).collect();
    let many = works.new_issue("many", &format!("## Dependencies\n{many}"));
    let missing = works.new_issue("missing", "Depends on #999");
    let first = works.new_issue("one", "Depends on #5");
    let second = works.new_issue("two", "Depends on #4");
    let itself = works.new_issue("itself", "Blocked by #6");
    assert_eq!((first, second, itself), (4, 5, 6));
    let waits = works.new_issue("waits", "Depends on #1");
    works.up();
    let mut log = works.log();
    log.wait_merged(1);
    log.wait_merged(waits);
    for (issue, reason) in [
        (many, "names 10000 dependencies, more than the 200 that are read"),
        (missing, "depends on #999, which does not exist"),
        (first, "waits for itself: #4, #5"),
        (second, "waits for itself: #4, #5"),
        (itself, "waits for itself: #6"),
    ] {
        log.wait("the decision", |event| {
            event["kind"] == "decided" && event["issue"] == issue && event["data"]["decision"] == reason
        });
        let why = works.machine.json(&["why", &issue.to_string()]);
        assert_eq!((&why["decision"], &why["open"]), (&reason.into(), &true.into()));
        assert_eq!(log.count("task_claimed", issue), 0);
    }
    works.down();
}

#[test]
fn three_hundred_issues_at_once_are_all_seen() {
    let config = config("true", "").replace("parallel = 12", "parallel = 1");
    let mut works = crew(&config, APPROVES, &["exec sleep 1000"]);
    for n in 2..=300 {
        works.must(&["new", &format!("issue {n}")]);
    }
    works.up();
    let mut log = works.log();
    let mut seen = BTreeSet::new();
    while seen.len() < 300 {
        let known = seen.clone();
        let fresh = |issue: &serde_json::Value| issue.as_u64().is_some_and(|n| !known.contains(&n));
        let event =
            log.wait("one more decision", |event| event["kind"] == "decided" && fresh(&event["issue"]));
        seen.insert(event["issue"].as_u64().unwrap());
    }
    assert_eq!(seen, (1..=300).collect());
    assert_eq!(works.machine.json(&["issues"])["issues"].as_array().unwrap().len(), 300);
    works.down();
}
