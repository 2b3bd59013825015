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
        let own = own_groups();
        let mut folders = vec![own.iter().find(|own| own.is_second())?.below(name)];
        let wanted = [("memory", limits.memory_bytes.is_some()), ("pids", limits.processes.is_some())];
        for (controller, _) in wanted.iter().filter(|(_, wanted)| *wanted) {
            folders.extend(own.iter().find(|own| own.has(controller)).map(|own| own.below(name)));
        }
        Some(Self { folders })
    }

    /// Makes it. Fails where we may not; a limit that cannot be set is left out.
    pub fn make(&self, limits: GroupLimits) -> io::Result<()> {
        for (at, folder) in self.folders.iter().enumerate() {
            if at == 0 {
                // Only who has the controllers for its children can limit them; without them it still finds them.
                drop(
                    folder
                        .parent()
                        .map(|above| write(&above.join("cgroup.subtree_control"), "+memory +pids")),
                );
            }
            match std::fs::create_dir(folder) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                Ok(()) | Err(_) => {}
            }
            let set = |name: &str, value: u64| {
                let path = folder.join(name);
                if path.exists() { write(&path, &value.to_string()) } else { Ok(()) }
            };
            for (names, value) in [
                (&["memory.max", "memory.limit_in_bytes"][..], limits.memory_bytes),
                (&["pids.max"][..], limits.processes),
                (&["memory.oom.group"][..], limits.memory_bytes.map(|_| 1)),
            ] {
                for name in names {
                    value.map_or(Ok(()), |value| set(name, value))?;
                }
            }
        }
        Ok(())
    }

    /// Open for a child that is to write itself into them.
    pub fn doors(&self) -> io::Result<Vec<File>> {
        self.folders.iter().map(|folder| OpenOptions::new().write(true).open(folder.join(MEMBERS))).collect()
    }

    /// Who is in it; nobody if it is gone.
    pub fn members(&self) -> io::Result<Vec<i32>> {
        self.folders.first().map_or(Ok(Vec::new()), |folder| members(folder))
    }

    /// Kills all members and removes the folders; says how many there were. One that is gone has none.
    pub fn end(&self, patience: Duration) -> io::Result<u32> {
        let until = Instant::now() + patience;
        let mut killed = 0;
        for folder in self.folders.iter().filter(|folder| folder.is_dir()) {
            loop {
                let members = members(folder)?;
                killed = killed.max(u32::try_from(members.len()).unwrap_or(u32::MAX));
                if !members.is_empty() {
                    kill(folder, &members)?;
                }
                match std::fs::remove_dir(folder) {
                    Ok(()) => break,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                    // Whoever was killed is still in it for a moment.
                    Err(error) if Instant::now() >= until => return Err(error),
                    Err(_) => std::thread::sleep(PAUSE),
                }
            }
        }
        Ok(killed)
    }
}

/// What can be had here, found out by trying.
pub fn means() -> Means {
    let limits = GroupLimits { memory_bytes: Some(1 << 30), processes: Some(100) };
    let none = Means { groups: false, memory: false, processes: false };
    let Some(group) = Cgroup::plan(&format!("windlass-trial-{}", std::process::id()), limits) else {
        return none;
    };
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

fn members(folder: &Path) -> io::Result<Vec<i32>> {
    let text = match std::fs::read_to_string(folder.join(MEMBERS)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    Ok(text.lines().filter_map(|line| line.parse().ok()).collect())
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

fn own_groups() -> Vec<Own> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    find(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo"))
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
            let below = path.strip_prefix(root.trim_end_matches('/'))?;
            fits.then(|| Path::new(point).join(below.trim_start_matches('/')))
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
