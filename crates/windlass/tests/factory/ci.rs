//! Builds that cannot run, hang, lie or litter: nobody is blamed for a broken CI, and each build begins clean.

use std::collections::BTreeSet;

use crate::crew::{APPROVES, READY, abandoned, config, crew, has_ended};
use crate::works::Works;

/// The build does what the file `mode` in its tree says.
const CI: &str = "case $(cat mode 2> /dev/null) in
    missing) ./nowhere ;;
    not_executable) ./README ;;
    hangs) trap '' TERM; sleep 1000 ;;
    empty) printf 'running 0 tests\\n\\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\\n' ;;
    killed) kill -9 $$ ;;
    red) echo 'not ok 1 - adds'; echo '1..1'; exit 1 ;;
    *) echo 'ok 1 - adds'; echo '1..1' ;;
esac
";

fn with_ci(script: &str, more: &str, scripts: &[&str]) -> Works {
    let works = crew(&config("sh @ci.sh", more), APPROVES, scripts);
    works.script("ci.sh", script);
    works
}

#[test]
fn a_build_that_could_not_run_is_nobodys_fault() {
    let modes = ["missing", "not_executable", "hangs", "empty", "killed"];
    let scripts = modes.map(|mode| format!("echo {mode} > mode; ready"));
    let mut scripts: Vec<&str> = scripts.iter().map(String::as_str).collect();
    scripts.push(READY);
    let mut works = with_ci(CI, "[timeouts]\nci = \"2s\"\n", &scripts);
    works.up();
    let mut log = works.log();
    let reasons =
        ["could not be run", "could not be run", "ran out of time", "no test was run", "was killed"];
    for (issue, reason) in (1..).zip(reasons) {
        log.wait_state(issue, "AWAITING_HUMAN");
        log.wait_commented(issue);
        let question = &works.comments(issue, "**Needs you.** CI could not run on ")[0];
        assert!(question.contains(reason), "{question}");
        let shown = works.show(issue);
        assert_eq!(shown["task"]["ci_fixes"], 0);
        let builds = shown["builds"].as_array().unwrap();
        assert_eq!((builds.len(), log.count("build_broke", issue)), (2, 2), "{shown}");
        assert!(builds.iter().all(|build| build["status"] == "broke"), "{shown}");
    }
    log.wait_merged(6);
    works.down();
}

#[test]
fn a_red_build_is_fixed_or_given_up() {
    let fixes = "if [ $WINDLASS_TURN = 1 ]; then echo red > mode; else git rm -q -f mode; fi; ready";
    let never = "echo red > mode; ready";
    let mut works = with_ci(CI, "", &[fixes, never]);
    works.up();
    let mut log = works.log();
    log.wait_merged(1);
    let told = works.heard(1);
    assert!(told.contains("CI failed on ") && told.contains("Failing tests:\n- adds"), "{told}");
    assert_eq!(works.show(1)["task"]["ci_fixes"], 1);
    assert_eq!(log.wait_end(2), abandoned("ci_exhausted"));
    log.wait_commented(2);
    assert_eq!((log.count("build_failed", 2), works.show(2)["task"]["ci_fixes"].clone()), (4, 3.into()));
    assert_eq!(works.labels(2), ["blocked"]);
    works.down();
}

/// Looks whether the checkout is clean, then leaves all that a build can leave.
const LITTERS: &str = "here=@
git rev-parse HEAD >> $here/tested
{ git status --porcelain --ignored; [ ! -e .git/mine ] || echo 'a planted .git'; } >> $here/litter
echo x > untracked; echo y >> README; mkdir -p deep/er; echo z > deep/er/file; chmod 000 deep
rm -rf .git; git init -q .; echo x > .git/mine
git config core.fsmonitor \"echo x >> $here/canary;\"; git config core.hooksPath $here
setsid sh -c 'trap \"\" TERM HUP; echo $$ >> '$here'/children; sleep 1000 & wait' > /dev/null 2>&1 &
until [ \"$(wc -l < $here/children)\" -ge \"$(wc -l < $here/tested)\" ]; do sleep 0.02; done 2> /dev/null
";

#[test]
fn every_build_is_clean_and_tests_the_exact_commit() {
    let mut works = with_ci("", "", &[READY, READY, READY]);
    let here = works.machine.path("");
    works.script("ci.sh", &LITTERS.replace('@', &here.to_string_lossy()));
    let one_slot = std::fs::read_to_string(works.machine.repo().join("windlass.toml")).unwrap();
    works.machine.commit_config(&one_slot.replace("slots = 6", "slots = 1"));
    works.up();
    let mut log = works.log();
    for issue in 1..=3 {
        log.wait_merged(issue);
    }
    assert_eq!(works.note("litter"), "");
    assert!(!works.machine.path("canary").exists());
    let asked: BTreeSet<String> = log
        .seen
        .iter()
        .filter(|event| event["kind"] == "build_queued")
        .map(|event| event["data"]["commit"].as_str().unwrap().to_owned())
        .collect();
    let tested = works.note("tested");
    assert_eq!(tested.lines().map(str::to_owned).collect::<BTreeSet<_>>(), asked);
    assert_eq!(tested.lines().count(), asked.len());
    for pid in works.note("children").lines() {
        assert!(has_ended(pid), "{pid} outlived its build");
    }
    works.down();
}
