//! Every parser of outside text: its corpus again, and what a few changes make of it. `fuzz/` goes further.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use windlass_testkit::fuzz::{TARGETS, Target};

/// Starting a program for each case is slow.
const SLOW: &str = "git_output";

/// The parser of `windlass.toml`: what is refused says why, and what is taken is taken again.
fn config(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match windlass::check_config(&text) {
        Ok(()) => assert_eq!(windlass::check_config(&text), Ok(())),
        Err(why) => assert!(!why.trim().is_empty()),
    }
}

fn targets() -> Vec<Target> {
    let mut all = TARGETS.to_vec();
    all.push(("config", config));
    all
}

fn corpus(name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

#[test]
fn the_corpus_of_every_parser_is_read() {
    for (name, target) in targets() {
        let files = corpus(name);
        assert!(files.len() >= 3, "{name} has {} samples", files.len());
        for (path, bytes) in files {
            println!("{}", path.display());
            target(&bytes);
        }
    }
}

/// A change of a sample: where, and what is put there instead of how much.
type Edit = (prop::sample::Index, Vec<u8>, usize);

fn edited(sample: &[u8], edits: &[Edit]) -> Vec<u8> {
    let mut bytes = sample.to_vec();
    for (at, put, cut) in edits {
        let at = at.index(bytes.len() + 1);
        let end = (at + cut).min(bytes.len());
        bytes.splice(at..end, put.iter().copied());
    }
    bytes
}

/// Single bytes, and words that mean something to some parser.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let words =
        ["\n", "\r\n", "\0", "\u{1b}[31m", "\u{202e}", "#1", "```", "\"", "{", "}", "[", "\\u0000", "=", " "];
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..6),
        prop::sample::select(words.to_vec()).prop_map(|word| word.as_bytes().to_vec()),
        (1..4_000_usize).prop_map(|n| vec![b'9'; n]),
    ]
}

#[test]
fn no_parser_is_upset_by_changed_samples() {
    for (name, target) in targets() {
        let samples: Vec<Vec<u8>> = corpus(name).into_iter().map(|(_, bytes)| bytes).collect();
        let cases = if name == SLOW { 24 } else { 1_000 };
        let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
        let edit = (any::<prop::sample::Index>(), piece(), 0..40_usize);
        let strategy = (prop::sample::select(samples), prop::collection::vec(edit, 0..8));
        runner
            .run(&strategy, |(sample, edits)| {
                target(&edited(&sample, &edits));
                Ok(())
            })
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}
