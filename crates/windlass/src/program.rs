//! Finds programs where PATH says that they are.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The program of this name, or the one at this path.
pub fn find(search_path: &str, name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| runs(path));
    }
    let folders = search_path.split(':').filter(|folder| !folder.is_empty());
    folders.map(|folder| Path::new(folder).join(name)).find(|path| !name.is_empty() && runs(path))
}

fn runs(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
