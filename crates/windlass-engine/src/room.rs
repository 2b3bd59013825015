//! Whether the machine has room for more work.

use std::path::Path;

use windlass_core::schedule::Hold;

use crate::settings::Guards;

/// The guard that is not met, if any. What cannot be read holds nothing up.
pub fn hold(guards: Guards, state: &Path) -> Option<Hold> {
    if let Some(free_mb) = free_memory_mb().filter(|free| *free < guards.min_free_memory_mb) {
        return Some(Hold::LowMemory { free_mb, wanted_mb: guards.min_free_memory_mb });
    }
    let free_mb = free_disk_mb(state).filter(|free| *free < guards.min_free_disk_mb)?;
    Some(Hold::LowDisk { free_mb, wanted_mb: guards.min_free_disk_mb })
}

/// What a new program could use; `None` where the system does not say.
pub fn free_memory_mb() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib / 1024)
}

pub fn free_disk_mb(path: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(path).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize) / (1 << 20))
}
