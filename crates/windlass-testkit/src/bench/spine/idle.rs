//! Two hundred tasks that wait for a person, their sessions without a process: what the daemon needs meanwhile.

use crate::bench::error::BenchError;
use crate::bench::factory::{Factory, Setup};
use crate::bench::place::Place;
use crate::bench::sheet::{Op, Sheet};
use crate::bench::stats::count;
use crate::bench::{agents, proc};

const TASKS: usize = 200;

pub fn measure(place: &Place) -> Result<Sheet, BenchError> {
    let setup = Setup { files: 20, parallel: 8, ci_slots: 1, dev: agents::asker(), critic: agents::critic() };
    let mut factory = Factory::new(place, &setup)?;
    for nth in 0..TASKS {
        factory.file(&format!("question {nth}"))?;
    }
    factory.up()?;
    let mut asked = 0;
    factory.follow("two hundred questions", |seen| {
        asked += usize::from(seen.moved().is_some_and(|(to, _)| to == "AWAITING_HUMAN"));
        asked == TASKS
    })?;
    factory.settle()?;
    let pid = factory.pid().ok_or(BenchError::Interrupted)?;
    factory.wait("the end of all sessions", |_| Ok(proc::children_of(pid)?.is_empty()))?;
    let percent = factory.cpu_percent_at_rest()?;
    let rss = proc::rss_mb(pid)?;
    factory.down()?;
    let what = "of one core, over a minute, with 200 tasks that wait for a person";
    let mut sheet = Sheet::new("spine");
    sheet.figure_with_goal("idle_200_cpu_percent", percent, Op::Below, 1.0, what);
    sheet.figure_with_goal("idle_200_rss_mb", rss, Op::AtMost, 60.0, "memory of the daemon then");
    sheet.figure("idle_tasks", count(TASKS), "tasks that wait, each after a real session");
    Ok(sheet)
}
