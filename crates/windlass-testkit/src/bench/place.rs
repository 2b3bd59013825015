//! Where benchmarks run: the built program, a folder on a real disk, and a way to be interrupted.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use tempfile::TempDir;

use super::error::BenchError;

/// The kernel's name for a file system that lives in memory.
const TMPFS: u64 = 0x0102_1994;

#[derive(Debug)]
pub struct Place {
    /// The project's own checkout.
    pub root: PathBuf,
    /// This very program, which also plays agents.
    pub bench: PathBuf,
    pub windlass: PathBuf,
    /// Holds the last results.
    pub results: PathBuf,
    /// The one thing that is taken from our own environment.
    search_path: String,
    /// Holds everything that this run makes, and goes as a whole when all is measured: on some file systems files
    /// are made slowly for minutes after others were removed.
    run: TempDir,
    folders: AtomicU32,
    interrupted: Arc<AtomicBool>,
}

impl Place {
    /// The programs lie side by side, as one build left them; results go beside that build.
    pub fn find(root: &Path) -> Result<Self, BenchError> {
        let bench = own_program()?;
        let results = results(&bench)?;
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&interrupted))
                .map_err(|source| BenchError::Start { program: "signal handler".into(), source })?;
        }
        Ok(Self {
            root: root.to_owned(),
            windlass: bench.with_file_name("windlass"),
            bench,
            search_path: std::env::var("PATH").unwrap_or_default(),
            run: folder_on_disk(&results)?,
            results,
            folders: AtomicU32::new(0),
            interrupted,
        })
    }

    /// A new folder for one part of the run.
    pub fn folder(&self) -> Result<PathBuf, BenchError> {
        let nth = self.folders.fetch_add(1, Ordering::Relaxed);
        let folder = self.run.path().join(nth.to_string());
        std::fs::create_dir(&folder).map_err(BenchError::io("make", &folder))?;
        // What was written before is not to be waited for in what is measured next.
        rustix::fs::sync();
        Ok(folder)
    }

    /// A program that inherits nothing but the search path.
    pub fn command(&self, program: &Path, folder: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", &self.search_path).env("LC_ALL", "C");
        command.current_dir(folder).stdin(Stdio::null());
        command
    }

    pub fn check(&self) -> Result<(), BenchError> {
        if self.interrupted.load(Ordering::Relaxed) { Err(BenchError::Interrupted) } else { Ok(()) }
    }
}

/// Where the last results lie.
pub fn last_results() -> Result<PathBuf, BenchError> {
    results(&own_program()?)
}

fn own_program() -> Result<PathBuf, BenchError> {
    std::env::current_exe().map_err(BenchError::io("find", Path::new("/proc/self/exe")))
}

fn results(program: &Path) -> Result<PathBuf, BenchError> {
    let target = program.ancestors().nth(2).unwrap_or(Path::new("/"));
    let results = target.join("bench");
    std::fs::create_dir_all(&results).map_err(BenchError::io("make", &results))?;
    Ok(results)
}

fn folder_on_disk(results: &Path) -> Result<TempDir, BenchError> {
    let made = tempfile::Builder::new().prefix("run-").tempdir_in(results);
    let folder = made.map_err(BenchError::io("make a folder in", results))?;
    let disk = rustix::fs::statfs(folder.path());
    let disk = disk.map_err(|source| BenchError::io("look at", folder.path())(source.into()))?;
    if u64::try_from(disk.f_type).is_ok_and(|kind| kind == TMPFS) {
        return Err(BenchError::MemoryDisk { path: results.to_owned() });
    }
    Ok(folder)
}

/// Runs to the end; what it printed, or why it failed.
pub fn run(command: &mut Command) -> Result<String, BenchError> {
    let call = format!("{command:?}");
    let done = command.output().map_err(|source| BenchError::Start { program: call.clone(), source })?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let stderr = String::from_utf8_lossy(&done.stderr).trim().to_owned();
    Err(BenchError::Failed { call, code: done.status.code().unwrap_or(-1), stderr })
}
