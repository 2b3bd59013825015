//! Critics that answer badly, block or never have enough: nothing is merged that was not approved.

use crate::crew::{READY, abandoned, config, crew};

/// One critic for all; what it does depends on the issue.
const BAD: &str = r#"
case $n in
    1) verdict 'LGTM, APPROVE' ;;
    2) verdict '{"head":"0000000000000000000000000000000000000000","verdict":"APPROVE"}' ;;
    3) verdict "{\"head\":\"$(git rev-parse HEAD)\",\"verdict\":\"APPROVE\",\"merge\":true}" ;;
    4) verdict '' ;;
    5) exit 1 ;;
    6) mkfifo "$WINDLASS_VERDICT_FILE" ;;
    7) [ $nth = 1 ] || approve ;;
esac
"#;

#[test]
fn what_is_no_verdict_is_never_an_approval() {
    let mut works = crew(&config("true", ""), BAD, &[READY; 7]);
    works.up();
    let mut log = works.log();
    for issue in 1..=6 {
        log.wait_state(issue, "AWAITING_HUMAN");
        log.wait_commented(issue);
        let shown = works.show(issue);
        assert_eq!((&shown["task"]["reviews"], &shown["open"]), (&2.into(), &true.into()), "{issue}");
        assert_eq!(log.count("no_verdict", issue), 2, "{issue}");
        let question = &works.comments(issue, "**Needs you.**")[0];
        assert!(question.contains("no usable verdict"), "{question}");
        assert!(!works.is_on_main(issue));
    }
    log.wait_merged(7);
    assert_eq!((log.count("no_verdict", 7), works.show(7)["task"]["reviews"].clone()), (1, 2.into()));
    works.down();
}

const FINDS: &str = r#"
finding() { printf '{"severity":"sev1","category":"tests","file":"%s","message":"%s"}' "$1" "$2"; }
say() { verdict "{\"head\":\"$(git rev-parse HEAD)\",\"verdict\":\"$1\",\"comments\":[$2]}"; }
case $n-$nth in
    1-*) say BLOCK "$(finding a 'leaks a key')" ;;
    2-1) say REQUEST_CHANGES "$(finding a 'no test'),$(finding b 'bad name')" ;;
    2-2) say REQUEST_CHANGES "$(finding b 'bad name')" ;;
    2-*) say REQUEST_CHANGES "$(finding a 'no test'),$(finding c 'too slow')" ;;
    3-1) say REQUEST_CHANGES "$(finding a 'no test')" ;;
    *) approve ;;
esac
"#;

#[test]
fn a_critic_that_never_has_enough_is_stopped_and_one_that_blocks_is_obeyed() {
    let mut works = crew(&config("true", ""), FINDS, &[READY; 3]);
    works.up();
    let mut log = works.log();
    assert_eq!(log.wait_end(1), abandoned("blocked_by_critic"));
    assert_eq!(log.wait_end(2), abandoned("iterations"));
    log.wait_merged(3);
    log.wait_terminated("review-1.1-1");
    log.wait_terminated("review-2.1-3");
    log.wait_commented(1);
    log.wait_commented(2);
    assert_eq!(works.labels(1), ["blocked"]);
    assert_eq!(works.labels(2), ["loop:needs-review"]);
    assert_eq!(works.workspaces(), ["1.1", "2.1"]);
    let shown = works.show(2);
    assert_eq!((&shown["task"]["critic_rounds"], &shown["task"]["reviews"]), (&3.into(), &3.into()));
    let findings: Vec<String> = shown["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| {
            let word = |key: &str| finding[key].as_str().unwrap();
            format!("{} {} {}", word("id"), word("status"), word("message"))
        })
        .collect();
    assert_eq!(findings, ["F1 reopened no test", "F2 addressed bad name", "F3 open too slow"]);
    let told = works.heard(2);
    assert!(
        told.contains("F1 sev1/tests a: no test") && told.contains("F2 sev1/tests b: bad name"),
        "{told}"
    );
    assert!(works.heard(3).contains("The critic asks for changes (round 1)"));
    let sessions = works.show(3)["task"]["sessions"].clone();
    assert_eq!(sessions, 1, "feedback goes to the same session");
    works.down();
}
