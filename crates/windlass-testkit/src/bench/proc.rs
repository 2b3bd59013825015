//! What the kernel says about processes: their time, memory and children.

use std::path::Path;

use super::error::BenchError;

/// Ticks of processor time in a second, as every Linux tells them.
const TICKS: f64 = 100.0;

/// Processor time that a process has used, without its children.
pub fn cpu_seconds(pid: u32) -> Result<f64, BenchError> {
    Ok(seconds(&stat(Path::new(&format!("/proc/{pid}/stat")))?, [11, 12]))
}

/// Processor time of all our children that have ended, and of theirs.
pub fn children_cpu_seconds() -> Result<f64, BenchError> {
    Ok(seconds(&stat(Path::new("/proc/self/stat"))?, [13, 14]))
}

pub fn rss_mb(pid: u32) -> Result<f64, BenchError> {
    let path = format!("/proc/{pid}/status");
    let text = std::fs::read_to_string(&path).map_err(BenchError::io("read", Path::new(&path)))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()).and_then(|kib| kib.parse::<f64>().ok());
    Ok(kib.unwrap_or(f64::NAN) * 1024.0 / 1e6)
}

/// The processes that a process has started and that have not ended.
pub fn children_of(pid: u32) -> Result<Vec<u32>, BenchError> {
    let proc = Path::new("/proc");
    let all = std::fs::read_dir(proc).map_err(BenchError::io("list", proc))?.flatten();
    // One that ends while we look is not there.
    let ours = all.filter(|entry| parent(&entry.path()) == Some(pid));
    Ok(ours.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

/// How many processes wanted to run during the last minute.
pub fn load() -> Result<f64, BenchError> {
    let path = Path::new("/proc/loadavg");
    let text = std::fs::read_to_string(path).map_err(BenchError::io("read", path))?;
    Ok(text.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or(f64::NAN))
}

fn parent(process: &Path) -> Option<u32> {
    stat(&process.join("stat")).ok()?.get(1)?.parse().ok()
}

/// User and system time together.
fn seconds(stat: &[String], fields: [usize; 2]) -> f64 {
    let ticks = |nth: usize| stat.get(nth).and_then(|text| text.parse::<f64>().ok()).unwrap_or(f64::NAN);
    fields.into_iter().map(ticks).sum::<f64>() / TICKS
}

/// The fields after the name, which may itself hold anything: state, parent, and so on.
fn stat(path: &Path) -> Result<Vec<String>, BenchError> {
    let text = std::fs::read_to_string(path).map_err(BenchError::io("read", path))?;
    let rest = text.rsplit_once(") ").map_or("", |(_, rest)| rest);
    Ok(rest.split_whitespace().map(str::to_owned).collect())
}
