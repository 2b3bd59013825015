//! A control group for each program, where the system lets us make one: whoever is in it is found, whatever it did to its
//! environment or its parents, and all of them together have limits.
//!
//! Where the second version has the controllers, one folder is all there is. Where the first version still has them, the
//! folder in the second version finds the members, and one for each limit stands beside it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::ProcessId;

/// A daemon that a service manager has put into a group of this name may make others beside it.
pub const DAEMON_GROUP: &str = "windlass-daemon";

const PAUSE: Duration = Duration::from_millis(2);
/// How long an empty group may take to go.
const LINGERS: Duration = Duration::from_millis(200);
const MEMBERS: &str = "cgroup.procs";

/// What the members of a group may use together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupLimits {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Processes and threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
}

/// The folders of one group, the one that knows all members first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cgroup {
    folders: Vec<PathBuf>,
}

/// What a system lets us do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Means {
    pub groups: bool,
    pub memory: bool,
    pub processes: bool,
}

impl Cgroup {
    /// Where a group of this name would be. Nothing is made yet, so that it can be written down first.
    pub fn plan(name: &str, limits: GroupLimits) -> Option<Self> {
        Self::below(&groups_of(std::process::id()), name, limits)
    }

    fn below(own: &[Own], name: &str, limits: GroupLimits) -> Option<Self> {
        let mut folders = vec![own.iter().find(|own| own.is_second())?.below(name)];
        let wanted = [("memory", limits.memory_bytes.is_some()), ("pids", limits.processes.is_some())];
        for (controller, _) in wanted.iter().filter(|(_, wanted)| *wanted) {
            folders.extend(own.iter().find(|own| own.has(controller)).map(|own| own.below(name)));
        }
        Some(Self { folders })
    }

    /// Makes it. Fails where we may not; a limit that cannot be set is left out.
    pub fn make(&self, limits: GroupLimits) -> io::Result<()> {
        let (first, others) = self.folders.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        for controller in ["+memory", "+pids"] {
            // Only who has the controllers for its children can limit them; without them it still finds them.
            drop(first.parent().map(|above| write(&above.join("cgroup.subtree_control"), controller)));
        }
        create(first)?;
        limit(first, limits);
        for folder in others.iter().filter(|folder| create(folder).is_ok()) {
            limit(folder, limits);
        }
        Ok(())
    }

    /// Open for a child that is to write itself into them; those that cannot be entered are left out.
    pub fn doors(&self) -> Vec<File> {
        let open = |folder: &PathBuf| OpenOptions::new().write(true).open(folder.join(MEMBERS)).ok();
        self.folders.iter().filter_map(open).collect()
    }

    /// Whether all its folders have this name: what was written down may have been changed since.
    pub fn is_named(&self, name: &str) -> bool {
        self.folders.iter().all(|folder| folder.file_name().is_some_and(|own| own == name))
    }

    /// Who is in it, or in a group that one of them made in it; nobody if it is gone.
    pub fn members(&self) -> io::Result<Vec<i32>> {
        self.folders.first().map_or(Ok(Vec::new()), |folder| members(folder))
    }

    /// Kills all members and removes the folders; says how many there were. One that is gone has none.
    pub fn end(&self, patience: Duration) -> io::Result<u32> {
        let mut killed = 0;
        for folder in self.folders.iter().filter(|folder| folder.is_dir()) {
            let begun = Instant::now();
            loop {
                let members = members(folder)?;
                killed = killed.max(u32::try_from(members.len()).unwrap_or(u32::MAX));
                if !members.is_empty() {
                    kill(folder, &members)?;
                } else if remove(folder).is_ok() || begun.elapsed() > LINGERS {
                    // Empty, though it may not want to go: nobody is left, and the next of its name takes it over.
                    break;
                }
                if begun.elapsed() > patience {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                std::thread::sleep(PAUSE);
            }
        }
        Ok(killed)
    }
}

/// What can be had where this process is, found out by trying.
pub fn means(process: u32) -> Means {
    let limits = GroupLimits { memory_bytes: Some(1 << 30), processes: Some(100) };
    let none = Means { groups: false, memory: false, processes: false };
    let name = format!("windlass-trial-{}", std::process::id());
    let Some(group) = Cgroup::below(&groups_of(process), &name, limits) else { return none };
    if group.make(limits).is_err() {
        return none;
    }
    let has = |names: &[&str]| {
        let found = |folder: &PathBuf| names.iter().any(|name| folder.join(name).exists());
        group.folders.iter().any(found)
    };
    let memory = has(&["memory.max", "memory.limit_in_bytes"]);
    let means = Means { groups: true, memory, processes: has(&["pids.max"]) };
    drop(group.end(Duration::from_secs(1)));
    means
}

fn create(folder: &Path) -> io::Result<()> {
    match std::fs::create_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// What a folder has no file for, or what may not be set, does not hold.
fn limit(folder: &Path, limits: GroupLimits) {
    let GroupLimits { memory_bytes, processes } = limits;
    for (name, value) in [
        ("memory.max", memory_bytes),
        ("memory.limit_in_bytes", memory_bytes),
        ("memory.oom.group", memory_bytes.map(|_| 1)),
        ("pids.max", processes),
    ] {
        drop(value.map(|value| write(&folder.join(name), &value.to_string())));
    }
}

/// A folder and all below it, the innermost first; nothing for one that is gone.
fn tree(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            }
        }
        found.push(folder);
    }
    found.reverse();
    Ok(found)
}

fn remove(folder: &Path) -> io::Result<()> {
    for folder in tree(folder)? {
        match std::fs::remove_dir(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

fn members(folder: &Path) -> io::Result<Vec<i32>> {
    let mut all = Vec::new();
    for folder in tree(folder)? {
        match std::fs::read_to_string(folder.join(MEMBERS)) {
            Ok(text) => all.extend(text.lines().filter_map(|line| line.parse::<i32>().ok())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}

/// All at once where the system can, else one by one; who is forked meanwhile is met in the next round.
fn kill(folder: &Path, members: &[i32]) -> io::Result<()> {
    let at_once = folder.join("cgroup.kill");
    if at_once.exists() {
        return write(&at_once, "1");
    }
    for id in members.iter().filter_map(|pid| ProcessId::of(*pid)) {
        id.signal(rustix::process::Signal::KILL)?;
    }
    Ok(())
}

/// These files take a value in one write, and none by being created.
fn write(path: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes())
}

/// The group that we are in, in one hierarchy.
struct Own {
    /// None for the second version.
    controllers: Option<String>,
    folder: PathBuf,
}

impl Own {
    fn is_second(&self) -> bool {
        self.controllers.is_none()
    }

    fn has(&self, controller: &str) -> bool {
        self.controllers.as_ref().is_some_and(|all| all.split(',').any(|one| one == controller))
    }

    fn below(&self, name: &str) -> PathBuf {
        let beside = self.folder.file_name().is_some_and(|own| own == DAEMON_GROUP);
        let above = self.folder.parent().filter(|_| beside).unwrap_or(&self.folder);
        above.join(name)
    }
}

fn groups_of(process: u32) -> Vec<Own> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    find(&read(&format!("/proc/{process}/cgroup")), &read("/proc/self/mountinfo"))
}

/// `groups` has a line `4:memory:/a/b` for each hierarchy, `0::/a/b` for the second version; `mounts` says where they lie.
fn find(groups: &str, mounts: &str) -> Vec<Own> {
    let own = |line: &str| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let controllers = (!controllers.is_empty()).then(|| controllers.to_owned());
        let folder = mounts.lines().find_map(|mount| {
            let (place, kind) = mount.split_once(" - ")?;
            let mut kind = kind.split(' ');
            let (kind, options) = (kind.next()?, kind.nth(1)?);
            let fits = match &controllers {
                None => kind == "cgroup2",
                Some(wanted) => kind == "cgroup" && options.split(',').any(|option| option == wanted),
            };
            let mut place = place.split(' ').skip(3);
            let (root, point) = (place.next()?, place.next()?);
            let below = Path::new(path).strip_prefix(root).ok()?;
            fits.then(|| Path::new(point).join(below))
        })?;
        Some(Own { controllers, folder })
    };
    groups.lines().filter_map(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_groups_are_found_in_both_versions() {
        let mounts = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
                      35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
                      36 31 0:33 /box /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
                      41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:4 - cgroup2 cgroup2 rw\n";
        let groups = "4:memory:/api/x\n2:cpu,cpuacct:/box/y\n3:freezer:/\n0::/user.slice/a\n";
        let found = find(groups, mounts);
        let shown: Vec<String> = found.iter().map(|own| own.folder.display().to_string()).collect();
        assert_eq!(
            shown,
            ["/sys/fs/cgroup/memory/api/x", "/sys/fs/cgroup/unified/user.slice/a"],
            "the one with two controllers is named by both of them, and is not asked for"
        );
        assert!(found[0].has("memory") && found[1].is_second());
        assert_eq!(found[1].below("s"), Path::new("/sys/fs/cgroup/unified/user.slice/a/s"));
        let beside = find("0::/w.service/windlass-daemon\n", mounts);
        assert_eq!(beside[0].below("s"), Path::new("/sys/fs/cgroup/unified/w.service/s"));
    }
}
