//! Whether the machine has room for more work.

use std::path::Path;

use rustix::fs::StatVfs;
use windlass_core::schedule::Hold;

use crate::settings::Guards;

/// A disk can be out of files long before it is out of bytes. A checkout takes one for each file of the project.
const MIN_FREE_INODES: u64 = 10_000;
/// Below this part of the guard of the disk not even those who are at work are told to go on: they could write nothing.
const LAST_PART: u64 = 10;

/// The guard that is not met, if any. What cannot be read holds nothing up.
pub fn hold(guards: Guards, state: &Path) -> Option<Hold> {
    if let Some(free_mb) = free_memory_mb().filter(|free| *free < guards.min_free_memory_mb) {
        return Some(Hold::LowMemory { free_mb, wanted_mb: guards.min_free_memory_mb });
    }
    disk(guards, state)
}

/// What the disk lacks for new work.
pub fn disk(guards: Guards, state: &Path) -> Option<Hold> {
    lacks(state, guards, 1)
}

/// What the disk lacks for any work at all.
pub fn full(guards: Guards, state: &Path) -> Option<Hold> {
    lacks(state, guards, LAST_PART)
}

fn lacks(state: &Path, guards: Guards, part: u64) -> Option<Hold> {
    // Who wants no guard has none.
    if guards.min_free_disk_mb == 0 {
        return None;
    }
    let stat = rustix::fs::statvfs(state).ok()?;
    let (free_mb, wanted_mb) = (megabytes(&stat), guards.min_free_disk_mb / part);
    if free_mb < wanted_mb {
        return Some(Hold::LowDisk { free_mb, wanted_mb });
    }
    let (free, wanted) = (stat.f_favail, MIN_FREE_INODES / part);
    // A file system that makes them as it goes says that it has none at all.
    (stat.f_files > 0 && free < wanted).then_some(Hold::LowInodes { free, wanted })
}

/// What a new program could use; `None` where the system does not say.
pub fn free_memory_mb() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib / 1024)
}

pub fn free_disk_mb(path: &Path) -> Option<u64> {
    Some(megabytes(&rustix::fs::statvfs(path).ok()?))
}

fn megabytes(stat: &StatVfs) -> u64 {
    stat.f_bavail.saturating_mul(stat.f_frsize) / (1 << 20)
}
