//! Whatever is committed and whatever changes the world goes through the two places that the crash sweep can stop at.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Files of a crate's own source, without tests, that hold the word.
fn users(folder: &str, word: &str) -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
    let mut folders = vec![root.clone()];
    let mut found = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let product = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            if !name.ends_with("tests.rs") && product.contains(word) {
                found.insert(name);
            }
        }
    }
    found
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// A database that is being made or migrated has nothing to lose yet; each step of it is one transaction.
#[test]
fn the_store_commits_in_one_place() {
    assert_eq!(users("windlass-store/src", "\"COMMIT\""), set(&["sqlite/writer.rs"]));
    assert_eq!(users("windlass-store/src", ".commit()"), set(&["sqlite/migrate.rs"]));
    assert_eq!(users("windlass-store/src", "crash::before_commit("), set(&["sqlite/writer.rs"]));
    assert_eq!(users("windlass-store/src", "crash::after_commit("), set(&["sqlite/writer.rs"]));
    assert_eq!(users("windlass-engine/src", "store.commit("), set(&["record.rs"]));
}

/// Everything in the adapters that changes the world and that the engine could call.
const ACTS: &[&str] = &[
    ".update_ref(",
    ".set_ref(",
    ".delete_ref(",
    ".land(",
    ".land_marked(",
    ".clone_with_files(",
    ".remove_workspace(",
    ".fetch_work(",
    ".check_out(",
    "client::prepare(",
    "client::spawn(",
    "client::respawn(",
    "client::say(",
    "client::end(",
    ".open_change(",
    ".update_change_head(",
    ".comment(",
    ".add_labels(",
    ".remove_label(",
    ".set_status(",
    ".post_review(",
    ".close_issue(",
    ".mark_merged(",
    ".close_change(",
];

#[test]
fn the_engine_acts_in_one_place() {
    for act in ACTS {
        let users = users("windlass-engine/src", act);
        assert!(
            !users.is_empty(),
            "`{act}` is not called any more: it is renamed or to be taken off the list"
        );
        assert!(users.iter().all(|user| user.starts_with("perform/")), "`{act}` is called by {users:?}");
    }
    // Only on its way down, when everything is to end, does the host stop processes itself.
    assert_eq!(users("windlass-engine/src", "client::request_stop("), set(&["host.rs"]));
    assert_eq!(users("windlass-engine/src", "crash::before_effect("), set(&["perform/mod.rs"]));
    assert_eq!(users("windlass-engine/src", "crash::after_effect("), set(&["perform/mod.rs"]));
    assert_eq!(users("windlass-engine/src", "carry_out("), set(&["perform/mod.rs"]));
}

/// What the forge offers is all on the list above, so that a new way to write cannot be forgotten.
#[test]
fn every_writing_call_of_the_forge_is_known() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../windlass-adapters/src/forge/mod.rs");
    let text = std::fs::read_to_string(path).unwrap();
    let interface = text.split("pub trait Forge").nth(1).unwrap().split("\n}\n").next().unwrap();
    let calls = interface.lines().filter_map(|line| line.trim().strip_prefix("fn ")?.split('(').next());
    let reads = ["issue", "issues", "comments", "comments_since", "change", "changes", "reviews", "statuses"];
    // Only people make and reopen issues; the engine does not.
    let people = ["create_issue", "reopen_issue"];
    let unknown: Vec<&str> = calls
        .filter(|call| !reads.contains(call) && !call.starts_with("find_") && !people.contains(call))
        .filter(|call| !ACTS.contains(&format!(".{call}(").as_str()))
        .collect();
    assert_eq!(unknown, Vec::<&str>::new());
    for call in people {
        assert_eq!(users("windlass-engine/src", &format!(".{call}(")), set(&[]));
    }
}
