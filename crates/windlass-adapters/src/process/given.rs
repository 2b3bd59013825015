//! What processes were started with: their arguments and their environment.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::ident::{Stat, pids};

/// How long somebody may take from its fork to its program; after that it is taken for what it shows.
const BIRTH: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(1);

/// Each part has a zero byte behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    pub pid: i32,
    pub args: Vec<u8>,
    pub environment: Vec<u8>,
}

/// Every process of our own user with what it was given. Not ourselves, and nobody who ends while we look.
pub fn given() -> io::Result<Vec<Given>> {
    let mine = rustix::process::getuid().as_raw();
    let own = std::process::id().cast_signed();
    let ours = |pid: &i32| {
        let owner = std::fs::metadata(format!("/proc/{pid}")).map(|found| found.uid());
        *pid != own && owner.is_ok_and(|owner| owner == mine)
    };
    Ok(pids()?.into_iter().filter(ours).filter_map(read).collect())
}

fn read(pid: i32) -> Option<Given> {
    let until = Instant::now() + BIRTH;
    loop {
        let (given, settled) = look(pid)?;
        if settled || Instant::now() >= until {
            return Some(given);
        }
        std::thread::sleep(PAUSE);
    }
}

/// While a program takes the place of another one, the process shows first what the former was given and then nothing. So
/// what it shows is settled only if one and the same program was there, whole, before and after.
fn look(pid: i32) -> Option<(Given, bool)> {
    let before = Stat::read(pid).filter(Stat::has_program)?;
    let args = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let same = Stat::read(pid).is_some_and(|after| after.stack == before.stack);
    Some((Given { pid, args, environment }, same && is_settled(&before)))
}

fn is_settled(stat: &Stat) -> bool {
    // We fork only to start a program. Others may fork and stay what they are, and would be waited for in vain.
    let becomes_another = stat.forked && program(stat.id.pid) == program(std::process::id().cast_signed());
    stat.stack.is_some_and(|(_, end)| end != 0) && !becomes_another
}

/// Where its program lies, or lay before a newer one was put there.
fn program(pid: i32) -> Option<PathBuf> {
    let path = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    let path = path.to_string_lossy();
    Some(PathBuf::from(path.strip_suffix(" (deleted)").unwrap_or(&path)))
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};

    use super::*;

    fn find(child: &Child) -> Option<Given> {
        given().unwrap().into_iter().find(|given| given.pid == child.id().cast_signed())
    }

    #[test]
    fn whoever_is_just_starting_is_seen_with_what_it_was_given() {
        for round in 0..200 {
            let value = format!("JUST_STARTED={round}");
            let mut child = Command::new("sleep")
                .arg("60")
                .env_clear()
                .env("JUST_STARTED", round.to_string())
                .spawn()
                .unwrap();
            let seen = find(&child);
            child.kill().unwrap();
            child.wait().unwrap();
            let seen = seen.map(|given| (given.args, given.environment));
            assert_eq!(seen, Some((b"sleep\x0060\0".to_vec(), format!("{value}\0").into_bytes())), "{round}");
        }
    }

    #[test]
    fn nobody_is_waited_for_who_has_no_environment_or_stays_a_fork() {
        let mut bare = Command::new("sleep").arg("60").env_clear().spawn().unwrap();
        let mut shell = Command::new("sh");
        // In the background a shell reads nothing from its own input; by another number it does.
        shell.args(["-c", "exec 3<&0; (read line <&3; exit) & echo $!; wait"]);
        shell.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut shell = shell.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let fork: i32 = line.trim().parse().unwrap();
        let seen = find(&bare);
        let settled = [bare.id().cast_signed(), fork].map(|pid| look(pid).map(|(_, settled)| settled));
        bare.kill().unwrap();
        bare.wait().unwrap();
        drop(shell.stdin.take());
        shell.wait().unwrap();
        let seen = seen.map(|given| (given.args, given.environment.len()));
        assert_eq!(seen, Some((b"sleep\x0060\0".to_vec(), 0)));
        assert_eq!(settled, [Some(true), Some(true)], "one look is enough");
    }
}
