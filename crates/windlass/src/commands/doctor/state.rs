//! What the state folder must be: ours alone, whole, and without anything that nobody owns.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use windlass_adapters::process::{self, Means};
use windlass_core::time::Span;
use windlass_store::{EventQuery, SqliteStore, Store};

use super::{Repair, workspaces};
use crate::commands::down;
use crate::daemon::{self, Daemon, Holder};
use crate::error::CliError;
use crate::leftovers;
use crate::needs;
use crate::project::Project;
use crate::text::age;
use crate::view::{Check, CheckResult, InboxItem};

/// So far an event may lie ahead of the clock.
const DRIFT: Span = Span::mins(2);

pub fn checks(project: &Project, repair: Repair) -> Vec<Check> {
    // First: a folder with wrong permissions is not even opened.
    let mut checks = vec![permissions(project, repair)];
    let seen = daemon::look_twice(project.layout.state());
    let up = matches!(seen, Ok(Daemon::Up { .. } | Daemon::Unknown));
    checks.push(groups(process::means(daemon_or_us(&seen))));
    checks.push(match seen {
        Ok(Daemon::Up { pid, holder }) => {
            let pid = pid.map_or_else(String::new, |pid| format!(", pid {pid}"));
            Check::ok(
                "daemon",
                match holder {
                    Holder::Daemon => format!("up{pid}"),
                    Holder::Run(_) | Holder::Tick | Holder::Restore | Holder::Import => {
                        format!("`windlass {holder}` has the factory{pid}")
                    }
                },
            )
        }
        Ok(Daemon::Down) => Check::ok("daemon", "down; `windlass up` starts it"),
        Ok(Daemon::Unknown) => Check::warn("daemon", "unknown: the database is being opened", "look again"),
        Err(error) => Check::fail("daemon", error.sentence(), "windlass logs"),
    });
    match project.reader() {
        Ok(store) => {
            checks.push(database(&store));
            checks.push(time(&store));
            // First: nobody may work in a workspace that goes.
            let processes = processes(project, up, repair);
            let repair = if up || processes.result != CheckResult::Ok { Repair::No } else { repair };
            checks.push(workspaces::check(project, &store, repair));
            checks.push(processes);
            checks.extend(unstopped(project, &store));
        }
        Err(error) => {
            checks.push(Check::fail("database", error.sentence(), error.next.join("    ")));
            checks.push(processes(project, up, repair));
        }
    }
    checks
}

/// What a daemon may do depends on where it was started.
fn daemon_or_us(seen: &Result<Daemon, CliError>) -> u32 {
    match seen {
        Ok(Daemon::Up { pid: Some(pid), .. }) => *pid,
        Ok(Daemon::Up { pid: None, .. } | Daemon::Down | Daemon::Unknown) | Err(_) => std::process::id(),
    }
}

/// Whether agents and builds are kept together, and whether their limits hold.
fn groups(means: Means) -> Check {
    let Means { groups, memory, processes } = means;
    match (groups, memory && processes) {
        (true, true) => Check::ok("groups", "every agent has a control group; [limits] holds"),
        (true, false) => Check::warn(
            "groups",
            format!("every agent has a control group; limited: memory {memory}, processes {processes}"),
            "windlass service install    asks systemd for the right to limit them",
        ),
        (false, _) => Check::warn(
            "groups",
            "no control groups here: processes are found by their family and environment, [limits] does not hold",
            "windlass service install    asks systemd for them",
        ),
    }
}

fn permissions(project: &Project, repair: Repair) -> Check {
    let state = project.layout.state();
    let found = match state.metadata() {
        Ok(found) => found,
        Err(error) => {
            return Check::fail("state", format!("`{}`: {error}", state.display()), "windlass init");
        }
    };
    let mode = found.permissions().mode() & 0o777;
    if found.uid() != rustix::process::geteuid().as_raw() {
        let says = format!("`{}` belongs to user {}", state.display(), found.uid());
        return Check::fail("state", says, "run windlass as that user, or name another folder with --state");
    }
    if mode & 0o077 == 0 {
        return Check::ok("state", format!("`{}`, ours alone", state.display()));
    }
    let check = Check::fail(
        "state",
        format!("`{}` is open to others (mode {mode:o})", state.display()),
        format!("chmod 700 '{}'", state.display()),
    );
    match repair {
        Repair::No => check,
        Repair::Safe => match std::fs::set_permissions(state, std::fs::Permissions::from_mode(0o700)) {
            Ok(()) => check.put_in_order("mode is 700 now"),
            Err(_) => check,
        },
    }
}

fn database(store: &SqliteStore) -> Check {
    match store.check_integrity() {
        Ok(()) => Check::ok("database", "integrity ok"),
        Err(error) => Check::fail("database", error.to_string(), error.hint().unwrap_or_default()),
    }
}

/// A clock that went back makes ages and deadlines wrong.
fn time(store: &dyn Store) -> Check {
    let query = EventQuery { limit: Some(1), newest_first: true, ..EventQuery::default() };
    let now = windlass_engine::now();
    match store.events(&query).map(|events| events.first().map(|event| event.entry.at)) {
        Ok(Some(at)) if at > now + DRIFT => {
            let says = format!("the newest event lies {} in the future", age(at, now));
            Check::fail("time", says, "set the clock; deadlines and ages are read off it")
        }
        Ok(_) => Check::ok("time", "no event lies in the future"),
        Err(error) => Check::fail("time", error.to_string(), "windlass doctor"),
    }
}

/// Sessions that were to be stopped and are not; nothing is said when there are none.
fn unstopped(project: &Project, store: &dyn Store) -> Vec<Check> {
    match needs::unstopped(project, store, windlass_engine::now()) {
        Ok(items) => {
            let check = |item: InboxItem| {
                Check::warn("sessions", format!("{}: {}", item.title, item.text), item.next)
            };
            items.into_iter().map(check).collect()
        }
        Err(error) => vec![Check::fail("sessions", error.sentence(), "ps")],
    }
}

/// With the factory down nothing of it may run.
fn processes(project: &Project, up: bool, repair: Repair) -> Check {
    let name = "processes";
    let state = project.layout.state();
    let found = match leftovers::find(state) {
        Ok(found) => found,
        Err(error) => return Check::warn(name, format!("unknown: {error}"), "ps"),
    };
    if up {
        return Check::ok(name, format!("{} at work", found.len()));
    }
    if found.is_empty() {
        return Check::ok(name, "0 left");
    }
    let list: Vec<String> = found.iter().map(|left| format!("{} {}", left.pid, left.command)).collect();
    let says = format!("{} run though the factory is down: {}", found.len(), list.join(", "));
    let check = Check::warn(name, says, "windlass up takes them over, windlass doctor --fix ends them");
    match repair {
        Repair::No => check,
        Repair::Safe => match down::end_leftovers(state) {
            Ok(()) => check.put_in_order("ended"),
            Err(error) => Check::fail(name, error.sentence(), "windlass down"),
        },
    }
}
