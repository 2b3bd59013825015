//! What the machine must have: git, room, a clock that can be right.

use std::process::Command;
use std::time::Duration;

use windlass_adapters::process::{Full, Limits, capture};

use windlass_core::time::Millis;

use crate::context::Context;
use crate::view::{Check, Stamp};

/// The first git whose `merge-tree` writes trees.
const OLDEST_GIT: (u32, u32) = (2, 38);
/// Nothing of ours is older: 2024-01-01.
const BEFORE_US: i64 = 1_704_067_200_000;
const LIMITS: Limits = Limits { time: Duration::from_secs(20), stdout: 1 << 16, when_full: Full::Cut };

pub fn checks(context: &Context) -> Vec<Check> {
    vec![git(&context.around.search_path), clock(windlass_engine::now()), home(context)]
}

fn git(search_path: &str) -> Check {
    let mut command = Command::new("git");
    command.arg("--version").env_clear().env("PATH", search_path).env("LC_ALL", "C");
    let remedy = format!("install git {}.{} or newer and put it on the PATH", OLDEST_GIT.0, OLDEST_GIT.1);
    let said = match capture(&mut command, None, &LIMITS) {
        Ok(done) if done.code() == 0 => String::from_utf8_lossy(&done.stdout).trim().to_owned(),
        Ok(done) => return Check::fail("git", format!("`git --version` ends with {}", done.code()), remedy),
        Err(error) => return Check::fail("git", format!("git does not run: {error}"), remedy),
    };
    match version(&said) {
        Some(found) if found >= OLDEST_GIT => Check::ok("git", said),
        Some(_) => Check::fail("git", format!("{said} is too old"), remedy),
        None => Check::warn("git", format!("cannot read the version from `{said}`"), remedy),
    }
}

/// `git version 2.39.5` is (2, 39).
fn version(said: &str) -> Option<(u32, u32)> {
    let number = said.split_whitespace().nth(2)?;
    let mut parts = number.split('.').map(|part| part.parse::<u32>().ok());
    Some((parts.next()??, parts.next()??))
}

fn clock(now: Millis) -> Check {
    if now.0 < BEFORE_US {
        let says = format!("it is said to be {}", Stamp(now));
        return Check::fail("clock", says, "set the clock; deadlines and ages are read off it");
    }
    Check::ok("clock", Stamp(now).to_string())
}

fn home(context: &Context) -> Check {
    match &context.around.home {
        Some(home) if home.is_dir() => Check::ok("home", home.display().to_string()),
        Some(home) => Check::warn("home", format!("`{}` is no folder", home.display()), "set HOME"),
        None => Check::warn(
            "home",
            "HOME is not set",
            "set HOME, or name the state folder with WINDLASS_STATE_DIR",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_in_1970_is_a_failure() {
        let check = clock(Millis(60_000));
        assert!(
            check.result == crate::view::CheckResult::Fail && check.says.contains("1970-01-01"),
            "{check:?}"
        );
        assert_eq!(clock(windlass_engine::now()).result, crate::view::CheckResult::Ok);
    }

    #[test]
    fn versions_are_read_as_git_says_them() {
        assert_eq!(version("git version 2.39.5"), Some((2, 39)));
        assert_eq!(version("git version 2.39.5 (Apple Git-154)"), Some((2, 39)));
        assert_eq!(version("git version 3.0"), Some((3, 0)));
        assert_eq!((version("git"), version("git version x.y")), (None, None));
    }
}
