//! Holds the house in order: direction of dependencies, first lines, sizes, number of packages.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

mod tree;

use tree::{root, rust_files};

/// Raised on purpose, in a commit that says which dependency was added and why.
const MAX_LOCKED_PACKAGES: usize = 246;
const MAX_LINES: usize = 500;

/// windlass -> engine -> {store, adapters} -> core; the test kit drives the heart in a simulated world.
#[test]
fn dependencies_point_one_way() {
    let done = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    let mut seen = BTreeMap::new();
    for package in metadata["packages"].as_array().unwrap() {
        let ours = package["dependencies"].as_array().unwrap().iter().filter(|dep| dep["kind"].is_null());
        let names: BTreeSet<&str> = ours
            .map(|dep| dep["name"].as_str().unwrap())
            .filter(|name| name.starts_with("windlass"))
            .collect();
        seen.insert(package["name"].as_str().unwrap(), names);
    }
    let core = "windlass-core";
    let expected = BTreeMap::from([
        (core, BTreeSet::new()),
        ("windlass-store", BTreeSet::from([core])),
        ("windlass-adapters", BTreeSet::from([core])),
        ("windlass-engine", BTreeSet::from([core, "windlass-store", "windlass-adapters"])),
        ("windlass", BTreeSet::from([core, "windlass-store", "windlass-adapters", "windlass-engine"])),
        (
            "windlass-testkit",
            BTreeSet::from([core, "windlass-store", "windlass-adapters", "windlass-engine"]),
        ),
    ]);
    assert_eq!(seen, expected);
}

#[test]
fn core_depends_on_nothing_that_acts() {
    let text = std::fs::read_to_string(root().join("crates/windlass-core/Cargo.toml")).unwrap();
    let normal = text.split("[dev-dependencies]").next().unwrap().split("[dependencies]").nth(1).unwrap();
    let names: Vec<&str> = normal
        .lines()
        .filter_map(|line| line.split(['.', ' ', '=']).next())
        .filter(|n| !n.is_empty())
        .collect();
    assert_eq!(names, ["schemars", "serde", "serde_json", "thiserror"]);
}

/// Deliberate bugs are for the simulator; what is built to be shipped must not even have them.
#[test]
fn nothing_that_is_shipped_has_deliberate_bugs() {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert!(
        manifest.contains("default-members = [\"crates/windlass\"]"),
        "a plain build must not take the test kit"
    );
    let features = |edges: &str| {
        let done = Command::new(env!("CARGO"))
            .args(["tree", "--package=windlass", "--edges", edges, "--offline", "--locked"])
            .current_dir(root())
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    let shipped = features("normal,build,features");
    assert!(shipped.contains("windlass-core"), "the tree must show our crates");
    assert!(!shipped.contains("deliberate-bugs") && !shipped.contains("windlass-testkit"), "{shipped}");
    assert!(features("normal,dev,features").contains("deliberate-bugs"), "the tree must show the feature");
}

#[test]
fn every_file_says_first_what_it_is_for() {
    let silent: Vec<PathBuf> = rust_files()
        .into_iter()
        .filter(|path| !std::fs::read_to_string(path).unwrap().starts_with("//! "))
        .collect();
    assert!(silent.is_empty(), "no first line in {silent:#?}");
}

#[test]
fn no_product_file_is_too_long() {
    let is_test = |path: &Path| {
        let text = path.to_string_lossy();
        text.contains("/tests/") || text.ends_with("/tests.rs") || text.contains("/testkit/")
    };
    let long: Vec<(PathBuf, usize)> = rust_files()
        .into_iter()
        .filter(|path| !is_test(path))
        .map(|path| (path.clone(), std::fs::read_to_string(&path).unwrap().lines().count()))
        .filter(|(_, lines)| *lines > MAX_LINES)
        .collect();
    assert!(long.is_empty(), "split {long:#?}");
}

#[test]
fn the_number_of_locked_packages_is_known() {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let packages = lock.lines().filter(|line| *line == "[[package]]").count();
    assert!(packages <= MAX_LOCKED_PACKAGES, "{packages} packages are locked");
    assert!(packages > 50, "the count must see the lock file");
}

/// Only one module may be unsafe, and nobody silences a lint without a reason.
#[test]
fn unsafe_code_has_one_home() {
    let homes: BTreeSet<String> = rust_files()
        .into_iter()
        .filter(|path| !path.ends_with("tidy.rs"))
        .filter(|path| std::fs::read_to_string(path).unwrap().contains("expect(unsafe_code"))
        .map(|path| path.strip_prefix(root()).unwrap().to_string_lossy().into_owned())
        .collect();
    assert!(homes.iter().all(|home| home.contains("windlass-adapters/src/process/")), "{homes:?}");
}

/// Task state is written by `record` alone, and main is moved by `perform` alone.
#[test]
fn the_two_gates_have_one_door_each() {
    let users = |word: &str| -> BTreeSet<String> {
        let files = rust_files().into_iter().filter(|path| {
            let text = path.to_string_lossy().into_owned();
            text.contains("windlass-engine/src/") && std::fs::read_to_string(path).unwrap().contains(word)
        });
        files.map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
    };
    assert_eq!(users("Op::SaveTask"), BTreeSet::from(["record.rs".to_owned()]));
    assert_eq!(users("Op::InsertTask"), BTreeSet::from(["record.rs".to_owned()]));
    assert_eq!(users(".repo.land("), BTreeSet::from(["land.rs".to_owned()]));
}
