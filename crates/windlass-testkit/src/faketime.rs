//! Another clock for a program: the library of faketime, loaded before all others.

use std::path::PathBuf;

/// Where it lies. Where everything must be proved, it must be there.
pub fn library() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten().map(|entry| entry.path());
    let found =
        folders.map(|folder| folder.join("faketime/libfaketimeMT.so.1")).find(|library| library.is_file());
    if found.is_none() {
        assert!(std::env::var("CI").is_err(), "faketime is missing, and nothing may be skipped");
        println!("SKIPPED: faketime is missing; ./check installs it");
    }
    found
}
