//! SIGKILL at each point of a landing: how long until the change is on main and recorded.
//!
//! What was really interrupted is looked up after the kill, and the sample counts for that.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use windlass_core::id::TaskId;

use super::desk::{Desk, touch};
use crate::bench::error::BenchError;
use crate::bench::sheet::{Op, Sheet};
use crate::bench::stats::{count, millis, percentile};
use crate::bench::{proc, talk};

const EACH: usize = 6;
/// Some kills hit another point than the one they were meant for.
pub const TASKS: usize = EACH * Point::ALL.len() + 10;
/// A landing is over long before so many looks.
const MAX_LOOKS: u32 = 5_000_000;
const GOAL_MS: f64 = 5_000.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Point {
    BeforeIntent,
    AfterIntent,
    BeforePush,
    AfterPush,
    AfterRecord,
}

impl Point {
    const ALL: [Self; 5] =
        [Self::BeforeIntent, Self::AfterIntent, Self::BeforePush, Self::AfterPush, Self::AfterRecord];

    fn word(self) -> &'static str {
        match self {
            Self::BeforeIntent => "before_intent",
            Self::AfterIntent => "after_intent",
            Self::BeforePush => "before_push",
            Self::AfterPush => "after_push",
            Self::AfterRecord => "after_record",
        }
    }

    fn what(self) -> &'static str {
        match self {
            Self::BeforeIntent => "the test has passed, nothing is written",
            Self::AfterIntent => "the landing is ordered",
            Self::BeforePush => "git is about to move main",
            Self::AfterPush => "main has moved, nobody has written it down",
            Self::AfterRecord => "it is written down, the issue is still open",
        }
    }
}

pub fn measure(desk: &mut Desk<'_>, sheet: &mut Sheet) -> Result<(), BenchError> {
    let mut samples: BTreeMap<Point, Vec<f64>> = BTreeMap::new();
    let mut left = TASKS;
    for wanted in Point::ALL {
        while samples.get(&wanted).map_or(0, Vec::len) < EACH && left > 0 {
            left -= 1;
            let (hit, took) = interrupt(desk, wanted)?;
            talk(&format!("{} (wanted {}): {took:.0} ms", hit.word(), wanted.word()));
            samples.entry(hit).or_default().push(took);
        }
    }
    for point in Point::ALL {
        let of_point = samples.remove(&point).unwrap_or_default();
        let what = format!("start to landed and recorded after a kill when {}, p95", point.what());
        let name = format!("recover_{}_ms", point.word());
        sheet.figure_with_goal(&name, percentile(&of_point, 95.0), Op::AtMost, GOAL_MS, &what);
        sheet.figure(&format!("recover_{}_kills", point.word()), count(of_point.len()), "samples of it");
    }
    Ok(())
}

/// Kills the daemon at a point of the next landing; what was hit, and the milliseconds until all is well.
fn interrupt(desk: &mut Desk<'_>, wanted: Point) -> Result<(Point, f64), BenchError> {
    let task = desk.wait_testing()?;
    let before = desk.main()?;
    desk.factory.news()?;
    if wanted == Point::BeforePush {
        // Git waits for a while when somebody else holds the lock of a ref.
        touch(&desk.bare().join("refs/heads/main.lock"))?;
    }
    desk.let_go()?;
    let mut landed = false;
    let mut looks = 0;
    while !reached(desk, wanted, &before, &task, &mut landed)? {
        looks += 1;
        if looks == MAX_LOOKS {
            return Err(BenchError::TooLittle(format!("a landing never was {}", wanted.word())));
        }
    }
    desk.factory.kill()?;
    landed = landed || saw_landing(desk, &task)?;
    let hit = if landed {
        Point::AfterRecord
    } else if desk.main()? != before {
        Point::AfterPush
    } else if !desk.is_landing()? {
        Point::BeforeIntent
    } else if wanted == Point::BeforePush {
        Point::BeforePush
    } else {
        Point::AfterIntent
    };
    Ok((hit, recover(desk, &task, landed)?))
}

fn reached(
    desk: &mut Desk<'_>,
    wanted: Point,
    before: &str,
    task: &TaskId,
    landed: &mut bool,
) -> Result<bool, BenchError> {
    Ok(match wanted {
        Point::BeforeIntent => desk.has_ended(),
        Point::AfterIntent => desk.is_landing()?,
        Point::BeforePush => desk.factory.pid().is_some_and(waits_for_main),
        Point::AfterPush => desk.main()? != before,
        Point::AfterRecord => {
            *landed = saw_landing(desk, task)?;
            *landed
        }
    })
}

/// Whether a child of the daemon is the git process that moves main.
fn waits_for_main(daemon: u32) -> bool {
    let moves = |pid: u32| {
        let line =
            std::fs::read(Path::new("/proc").join(pid.to_string()).join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        line.contains("update-ref") && line.contains("refs/heads/main")
    };
    proc::children_of(daemon).is_ok_and(|children| children.into_iter().any(moves))
}

fn saw_landing(desk: &mut Desk<'_>, task: &TaskId) -> Result<bool, BenchError> {
    let news = desk.factory.news()?;
    Ok(news.iter().any(|seen| {
        let entry = &seen.event.entry;
        entry.fact.kind() == "landed" && entry.task.as_ref() == Some(task)
    }))
}

/// From the start of a new daemon until it is up and the change is landed in its books.
fn recover(desk: &mut Desk<'_>, task: &TaskId, landed: bool) -> Result<f64, BenchError> {
    let (mut landed, mut up) = (landed, false);
    let start = Instant::now();
    desk.factory.start()?;
    desk.factory.follow("recovery", |seen| {
        let entry = &seen.event.entry;
        up = up || entry.fact.kind() == "daemon_started";
        landed = landed || (entry.fact.kind() == "landed" && entry.task.as_ref() == Some(task));
        up && landed
    })?;
    Ok(millis(start.elapsed()))
}
