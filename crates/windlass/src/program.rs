//! Finds programs where PATH says that they are.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use windlass_adapters::process::{Full, Limits, capture};

/// The program of this name, or the one at this path.
pub fn find(search_path: &str, name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| runs(path));
    }
    let folders = search_path.split(':').filter(|folder| !folder.is_empty());
    folders.map(|folder| Path::new(folder).join(name)).find(|path| !name.is_empty() && runs(path))
}

/// What it says of its version, in one line.
pub fn version(search_path: &str, path: &Path) -> Option<String> {
    let limits = Limits { time: Duration::from_secs(20), stdout: 1 << 12, when_full: Full::Fail };
    let mut asked = Command::new(path);
    asked.arg("--version").env_clear().env("PATH", search_path);
    let said = capture(&mut asked, None, &limits).ok().filter(|said| said.code() == 0)?;
    Some(windlass_core::text::one_line(&String::from_utf8_lossy(&said.stdout), 60))
}

fn runs(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
