//! `cli`: what a person waits for at the command line, on a state that has seen ten thousand tasks and a million events.

use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use super::error::BenchError;
use super::factory::{Factory, Setup};
use super::place::{Place, run};
use super::sheet::{Op, Sheet};
use super::spine::stored::{Size, TASKS, fill};
use super::stats::{count, median, millis};
use super::{Wishes, agents, talk};

const EVENTS_OF_A_TASK: usize = 100;
const COMMITS: usize = 1_000_000;
const CALLS: usize = 20;
const LONG_CALLS: usize = 3;

pub fn measure(place: &Place, _wishes: &Wishes) -> Result<Sheet, BenchError> {
    let setup = Setup { files: 20, parallel: 8, ci_slots: 1, dev: agents::dev(), critic: agents::critic() };
    let factory = Factory::new(place, &setup)?;
    talk("ten thousand tasks and a million events are written");
    let events = fill(&factory.state(), Size::with_events(EVENTS_OF_A_TASK))?;
    let mut sheet = Sheet::new("cli");
    talk("status, help and version");
    let status = timed(place, &factory, &["status", "--json"], CALLS)?;
    let what = "`windlass status --json` as a new process, median of 20";
    sheet.figure_with_goal("status_cold_ms", status, Op::AtMost, 50.0, what);
    talk("all events as lines of JSON");
    let all = timed(place, &factory, &["events", "--since", "0", "--json"], LONG_CALLS)?;
    let what = "lines of `windlass events --since 0 --json`, median of 3";
    sheet.figure_with_goal("events_per_s", count(events) / (all / 1_000.0), Op::AtLeast, 100_000.0, what);
    let help = timed(place, &factory, &["--help"], CALLS)?;
    sheet.figure_with_goal("help_ms", help, Op::AtMost, 10.0, "`windlass --help`, median of 20");
    let version = timed(place, &factory, &["--version"], CALLS)?;
    sheet.figure("version_ms", version, "`windlass --version`, the floor of any call");
    talk("a history of a million commits is made, as a yardstick");
    let repo = history(place)?;
    sheet.figure(
        "git_log_ms",
        git_log(place, &repo)?,
        "`git log --oneline` over a million commits, median of 3",
    );
    sheet.figure("tasks", count(TASKS), "stored, 300 of them live");
    sheet.figure("events", count(events), "stored");
    sheet.figure("commits", count(COMMITS), "in the yardstick's history");
    Ok(sheet)
}

fn timed(place: &Place, factory: &Factory<'_>, args: &[&str], calls: usize) -> Result<f64, BenchError> {
    let mut samples = Vec::new();
    for _ in 0..=calls {
        place.check()?;
        let start = Instant::now();
        run(factory.windlass().args(args).stdout(Stdio::null()))?;
        samples.push(millis(start.elapsed()));
    }
    // The first call also reads program and database from the disk.
    Ok(median(&samples[1..]))
}

/// One branch of commits without any file.
fn history(place: &Place) -> Result<std::path::PathBuf, BenchError> {
    let folder = place.folder()?;
    let git = Path::new("git");
    run(place.command(git, &folder).args(["init", "--quiet", "--bare"]))?;
    let mut command = place.command(git, &folder);
    command.args(["fast-import", "--quiet"]).stdin(Stdio::piped());
    let mut child = command.spawn().map_err(|source| BenchError::Start { program: "git".into(), source })?;
    let stdin = child.stdin.take().ok_or(BenchError::Interrupted)?;
    let mut to = BufWriter::new(stdin);
    let wrote = (0..COMMITS).try_for_each(|nth| {
        let message = format!("commit number {nth}");
        let who = format!("B <b@localhost> {} +0000", 1_600_000_000 + nth);
        writeln!(to, "commit refs/heads/main\ncommitter {who}\ndata {}\n{message}", message.len())
    });
    wrote.and_then(|()| to.flush()).map_err(BenchError::io("write to git in", &folder))?;
    drop(to);
    child.wait().map_err(BenchError::io("wait for git in", &folder))?;
    Ok(folder)
}

fn git_log(place: &Place, repo: &Path) -> Result<f64, BenchError> {
    let mut samples = Vec::new();
    for _ in 0..=LONG_CALLS {
        place.check()?;
        let start = Instant::now();
        let mut command = place.command(Path::new("git"), repo);
        run(command.args(["log", "--oneline", "main"]).stdout(Stdio::null()))?;
        samples.push(millis(start.elapsed()));
    }
    Ok(median(&samples[1..]))
}
