//! What an agent plants in its clone, its phase file and its output: the daemon runs none of it and survives all of it.

use std::path::Path;

use crate::crew::{APPROVES, READY, abandoned, config, crew, has_ended};
use crate::recovery::kill;

/// Every setting by which a repository can make git run a program, every hook, and one attribute for all filters.
/// Each leaves a mark when it is run outside of a session.
const PLANTS: &str = r#"
evil() { printf '#!/bin/sh\n[ -n "$WINDLASS_SESSION" ] || echo x >> %s/canary-%s\n%s\n' "$here" "$1" "$2" > "$HOME/../$1"; chmod +x "$HOME/../$1"; }
plant() {
    plants=$(cd "$HOME/.." && pwd)
    for name in fsmonitor sshCommand pager gpg credential askpass editor difftool packObjectsHook alternateRefsCommand; do evil $name; done
    for name in clean smudge textconv; do evil $name 'cat'; done
    evil process; evil merge 'exit 1'
    git config core.fsmonitor "$plants/fsmonitor"
    git config core.sshCommand "$plants/sshCommand"
    git config core.pager "$plants/pager"
    git config core.askPass "$plants/askpass"
    git config core.editor "$plants/editor"
    git config core.alternateRefsCommand "$plants/alternateRefsCommand"
    git config gpg.program "$plants/gpg"
    git config commit.gpgSign false
    git config credential.helper "$plants/credential"
    git config diff.external "$plants/difftool"
    git config diff.evil.textconv "$plants/textconv"
    git config filter.evil.clean "$plants/clean"
    git config filter.evil.smudge "$plants/smudge"
    git config merge.evil.driver "$plants/merge"
    git config uploadpack.packObjectsHook "$plants/packObjectsHook"
    git config alias.status "!$plants/pager"
    for hook in applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg \
        post-commit pre-rebase post-checkout post-merge pre-push pre-receive update proc-receive post-receive post-update \
        reference-transaction push-to-checkout pre-auto-gc post-rewrite post-index-change fsmonitor-watchman; do
        evil hook-$hook; mkdir -p .git/hooks; cp "$plants/hook-$hook" .git/hooks/$hook
    done
    mkdir -p "$plants/hooks"; cp .git/hooks/* "$plants/hooks"; git config core.hooksPath "$plants/hooks"
    echo '* filter=evil diff=evil merge=evil' > .gitattributes
}
"#;

#[test]
fn nothing_that_is_planted_in_a_clone_is_run() {
    let borrows = "echo /tmp > .git/objects/info/alternates; signal awaiting_ci";
    let merges = format!(
        "{PLANTS}\nif [ $WINDLASS_TURN = 1 ]; then cp .git/objects/info/alternates $here/kept; {borrows}; \
         else cp $here/kept .git/objects/info/alternates; plant; ready; fi"
    );
    let asks = format!("{PLANTS}\nplant; work; echo more > uncommitted; signal escalate 'may I?'");
    let fails = format!("{PLANTS}\nplant; work; signal failed 'cannot'");
    let mut works = crew(&config("git status && git diff", ""), APPROVES, &[&merges, &asks, &fails]);
    works.up();
    let mut log = works.log();
    log.wait_merged(1);
    assert!(works.heard(1).contains("it borrows objects from another place"), "{}", works.heard(1));
    log.wait_state(2, "AWAITING_HUMAN");
    works.must(&["close", "2"]);
    log.wait_state(2, "CLOSED");
    let saved = log.wait_kind("work_rescued", 2)["data"]["commit"].as_str().unwrap().to_owned();
    assert_eq!(works.git(&["show", &format!("{saved}:uncommitted")]), "more");
    assert_eq!(log.wait_end(3), abandoned("agent_failed"));
    log.wait_terminated("dev-3.1-1");
    works.down();
    assert_eq!(canaries(&works.machine.path("")), [] as [String; 0]);
    // What was planted does work for whoever is careless.
    let clone = works.machine.state().join("workspaces/3.1");
    works.machine.git(&["-C", clone.to_str().unwrap(), "diff"]);
    assert!(!canaries(&works.machine.path("")).is_empty());
}

fn canaries(folder: &Path) -> Vec<String> {
    crate::works::names(folder).into_iter().filter(|name| name.starts_with("canary-")).collect()
}

#[test]
fn a_phase_file_may_hold_anything() {
    let then_ready = |act: &str| {
        format!("if [ $WINDLASS_TURN = 1 ]; then {act}; else rm -rf \"$WINDLASS_PHASE_FILE\"; ready; fi")
    };
    let acts = [
        "echo 'PHASE:dome' > $WINDLASS_PHASE_FILE",
        "head -c 10485760 /dev/zero | tr '\\0' 'x' > $WINDLASS_PHASE_FILE",
        "head -c 4096 /dev/urandom > $WINDLASS_PHASE_FILE",
        "echo 'PHASE:done' > $here/elsewhere; ln -s $here/elsewhere $WINDLASS_PHASE_FILE",
        "mkdir $WINDLASS_PHASE_FILE",
        "mkfifo $WINDLASS_PHASE_FILE",
    ];
    let mut scripts: Vec<String> = acts.iter().map(|act| then_ready(act)).collect();
    scripts.push("echo 'PHASE:dome' > $WINDLASS_PHASE_FILE".to_owned());
    let scripts: Vec<&str> = scripts.iter().map(String::as_str).collect();
    let mut works = crew(&config("true", ""), APPROVES, &scripts);
    works.up();
    let mut log = works.log();
    for issue in 1..=6 {
        log.wait_merged(issue);
        let told = works.heard(issue).matches("which is not a signal").count();
        assert_eq!((told, log.count("phase_unknown", issue)), (1, 1), "{issue}: {}", works.heard(issue));
        assert!(!works.heard(issue).contains("You stopped without a signal"), "{}", works.heard(issue));
    }
    assert!(works.heard(1).contains("Your phase file says `PHASE:dome`"), "{}", works.heard(1));
    assert_eq!(log.wait_end(7), abandoned("agent_failed"));
    works.down();
}

#[test]
fn a_line_of_fifty_megabytes_is_cut() {
    let loud = "head -c 52428800 /dev/zero | tr '\\0' 'x'; ready";
    let mut works = crew(&config("true", ""), APPROVES, &[READY, loud]);
    works.up();
    let mut log = works.log();
    let pid = log.wait("the start", |event| event["kind"] == "daemon_started")["data"]["pid"].clone();
    log.wait_merged(1);
    log.wait_merged(2);
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches("kB").trim().parse().unwrap();
    assert!(peak < 128 * 1024, "the daemon took {peak} kB");
    let transcript = works.machine.state().join("sessions/dev-2.1-1/transcript.jsonl");
    assert!(transcript.metadata().unwrap().len() < 8 << 20);
    works.down();
}

/// Its environment is empty, its family and its daemon are dead: `down` still knows whose it is, where there are control groups.
#[test]
fn down_ends_a_process_that_has_hidden_everything() {
    if !windlass_adapters::process::means(std::process::id()).groups {
        let named = std::env::var("WINDLASS_MAY_SKIP").unwrap_or_default();
        let may = std::env::var("CI").is_err() || named.split(' ').any(|word| word == "groups");
        assert!(may, "the system lets us make no control groups, and nothing may be skipped");
        println!("SKIPPED: the system lets us make no control groups");
        return;
    }
    let hides = "setsid env -i PATH=$PATH here=$here sh -c 'sleep 600 & echo $! > $here/hidden'; echo $PPID > $here/shim; \
                 echo there > $here/done; exec sleep 600";
    let mut works = crew(&config("true", ""), APPROVES, &[hides]);
    works.up();
    works.wait_until("the hidden process", || works.note("done") == "there\n");
    works.kill();
    kill("KILL", &works.note("shim"));
    let hidden = works.note("hidden").trim().to_owned();
    assert!(!has_ended(&hidden), "it has left the family");
    let down = works.must(&["down"]);
    assert!(down.contains("0 processes left") && has_ended(&hidden), "{down}");
}
