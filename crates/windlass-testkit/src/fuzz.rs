//! One function for each parser of outside text: it takes any bytes, must not panic, and holds what is promised of the
//! answer. `fuzz/` calls them with a fuzzer, the test suite with a corpus and by chance.

use std::cell::RefCell;
use std::os::unix::fs::PermissionsExt;

use tempfile::TempDir;
use windlass_adapters::agent::{self, bridge};
use windlass_adapters::git::{BareRepo, Git};
use windlass_core::deps::{self, Dependencies, MAX_DEPENDENCIES};
use windlass_core::id::Sha;
use windlass_core::phase::{self, Phase, Read};
use windlass_core::testlog::{self, Classified, ExitStatus};
use windlass_core::verdict::{self, Decision};

/// A parser by its name, which is also that of its corpus.
pub type Target = (&'static str, fn(&[u8]));

/// The parser of the configuration is the program's own, so that its target is there.
pub const TARGETS: [Target; 8] = [
    ("phase", phase),
    ("stream_json", stream_json),
    ("codex_json", codex_json),
    ("acp_json", acp_json),
    ("issue_references", issue_references),
    ("verdict", verdict),
    ("git_output", git_output),
    ("testlog", testlog),
];

/// The phase file: what lies behind the part that is read changes nothing, and reasons are one line.
pub fn phase(bytes: &[u8]) {
    let read = phase::read(bytes);
    assert_eq!(read, phase::read(&bytes[..bytes.len().min(phase::MAX_BYTES)]));
    if let Read::Signal(Phase::Escalate { reason } | Phase::Failed { reason }) = &read {
        assert!(reason.chars().count() <= 1_001 && !reason.contains(['\n', '\r', '\u{1b}']), "{reason:?}");
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        assert_eq!(read, Read::Empty);
    }
}

/// A line of an agent's transcript.
pub fn stream_json(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for line in text.lines() {
        let seen = agent::read(line);
        assert!(seen.is_empty() || line.contains('{'), "{line:?} says {seen:?}");
    }
}

/// A line of `codex exec --json`.
pub fn codex_json(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for line in text.lines() {
        let seen = bridge::codex::read(line);
        assert!(seen.is_none() || line.contains('{'), "{line:?} says {seen:?}");
        assert!(seen.iter().flat_map(bridge::codex::Event::tools).count() <= line.len());
    }
}

/// A line of an agent of the Agent Client Protocol.
pub fn acp_json(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for line in text.lines() {
        let read = bridge::acp::read(line);
        assert!(read.is_none() || line.contains('{'), "{line:?} says {read:?}");
    }
}

/// The issues that a text depends on.
pub fn issue_references(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match deps::parse(&text) {
        Dependencies::On(issues) => {
            assert!(issues.len() <= MAX_DEPENDENCIES);
            let named = |number: u64| text.contains(&number.to_string());
            // Leading zeros are part of a number.
            assert!(text.contains("#0") || issues.iter().all(|issue| named(issue.0)), "{issues:?}");
        }
        Dependencies::TooMany(count) => assert!(count > MAX_DEPENDENCIES),
    }
    if !text.contains("```") && !text.contains("~~~") {
        assert_eq!(deps::parse(&format!("```\n{text}\n```")), deps::parse(""), "code says nothing");
    }
}

/// A critic's report: only one about this head, in its schema, is a verdict.
pub fn verdict(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let wanted = Sha::parse(&"a".repeat(40)).expect("hex digits");
    if let Ok(report) = verdict::read(&text, &wanted) {
        assert_eq!(report.head, wanted);
        assert!(report.verdict == Decision::Approve || !report.comments.is_empty());
        assert!(text.contains("\"head\"") && text.contains("\"verdict\""));
        let other = Sha::parse(&"b".repeat(40)).expect("hex digits");
        assert!(verdict::read(&text, &other).is_err(), "a verdict on one head is none on another");
    }
}

/// What a build printed: a red exit is never a pass, whatever the log says.
pub fn testlog(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let report = testlog::read(&text);
    let red = [1, 5, 101, 127, 128, 137].map(ExitStatus::Code);
    for exit in red.into_iter().chain([ExitStatus::Signal(11), ExitStatus::TimedOut, ExitStatus::Missing]) {
        assert_ne!(testlog::classify(&exit, &text, &report), Classified::Pass, "{exit:?}");
    }
    if report.ran == Some(0) {
        assert_ne!(testlog::classify(&ExitStatus::Code(0), &text, &report), Classified::Pass, "nothing ran");
    }
    let shown = testlog::excerpt(&text);
    assert!(shown.len() <= 8_000 && shown.lines().count() <= 51, "{} bytes", shown.len());
}

thread_local! {
    static FAKE: RefCell<Option<(TempDir, BareRepo)>> = const { RefCell::new(None) };
}

/// What git prints, by a program that passes for git: each answer is taken or refused, and none is made up.
pub fn git_output(bytes: &[u8]) {
    FAKE.with_borrow_mut(|fake| {
        let (folder, repo) = fake.get_or_insert_with(fake_git);
        let (a, b) = (sha('a'), sha('b'));
        for code in [0, 1] {
            std::fs::write(folder.path().join("code"), code.to_string()).expect("a file can be written");
            std::fs::write(folder.path().join("answer"), bytes).expect("a file can be written");
            if let Ok(windlass_adapters::git::Merged::Clean { tree }) = repo.merge_tree(&a, &b) {
                assert!(code == 0 && String::from_utf8_lossy(bytes).contains(tree.as_str()));
            }
            if let Ok(found) = repo.anatomy(&a) {
                assert!(code == 0 && String::from_utf8_lossy(bytes).contains(found.tree.as_str()));
            }
            let paths = repo.changed_paths(&a, &b);
            assert!(code == 0 || paths.is_err(), "a failed git has said nothing");
            drop(repo.commits_touching(&a, &b, &["x".to_owned()].into()));
            drop(repo.merge_base(&a, &b));
            drop(repo.main_tip("main"));
            drop(repo.diff(&a, &b, 100).map(|diff| assert!(diff.text.len() <= 400)));
        }
    });
}

fn sha(digit: char) -> Sha {
    Sha::parse(&digit.to_string().repeat(40)).expect("hex digits")
}

fn fake_git() -> (TempDir, BareRepo) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let program = folder.path().join("git");
    let script = format!(
        "#!/bin/sh\n/bin/cat '{0}/answer'\nread code < '{0}/code'\nexit $code\n",
        folder.path().display()
    );
    std::fs::write(&program, script).expect("a file can be written");
    let mode = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(&program, mode).expect("a file of our own");
    let repo = folder.path().join("repo.git");
    std::fs::create_dir_all(repo.join("objects")).expect("a folder can be made");
    std::fs::write(repo.join("HEAD"), "ref: refs/heads/main\n").expect("a file can be written");
    let git = Git::new(format!("{}:/usr/bin:/bin", folder.path().display()));
    let repo = BareRepo::open(&git, &repo).expect("it looks like a repository");
    (folder, repo)
}
