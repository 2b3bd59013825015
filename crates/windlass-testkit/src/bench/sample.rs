//! A repository of so many files, and git as the benchmarks run it.

use std::path::Path;
use std::process::Command;

use super::error::BenchError;
use super::place::{Place, run};

const FILES_IN_A_FOLDER: usize = 50;

/// A checkout on `main` with one commit of `files` small files.
pub fn repository(place: &Place, folder: &Path, files: usize) -> Result<(), BenchError> {
    std::fs::create_dir_all(folder).map_err(BenchError::io("make", folder))?;
    run(git(place, folder).args(["init", "--quiet", "--initial-branch=main"]))?;
    for nth in 0..files {
        let below = folder.join(format!("part-{}", nth / FILES_IN_A_FOLDER));
        std::fs::create_dir_all(&below).map_err(BenchError::io("make", &below))?;
        let path = below.join(format!("file-{nth}.txt"));
        // As long as a small source file, and no two alike.
        let text = format!("line of file {nth}, which says nothing in particular\n").repeat(30);
        std::fs::write(&path, text).map_err(BenchError::io("write", &path))?;
    }
    run(git(place, folder).args(["add", "--all"]))?;
    run(git(place, folder).args(["commit", "--quiet", "--message=base"]))?;
    Ok(())
}

/// Git without anybody's settings.
pub fn git(place: &Place, folder: &Path) -> Command {
    let mut command = place.command(Path::new("git"), folder);
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "Bench").env(format!("GIT_{who}_EMAIL"), "bench@localhost");
    }
    command
}
