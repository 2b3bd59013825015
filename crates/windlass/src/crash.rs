//! For the proof only: lists the crash points of a run, and ends or breaks the daemon at one of them.
//!
//! `WINDLASS_CRASH_TRACE=FILE` adds a line for each point. `WINDLASS_CRASH_AT=N` is SIGKILL at the Nth, and
//! `WINDLASS_CRASH_AT=fresh:FILE` at the first one that the file does not name yet. `WINDLASS_FAULT_AT=N:KIND` breaks
//! the Nth effect of this life, `each:KIND` every effect the first time; the kinds are `error`, `lost` and `hang`.
//! `WINDLASS_UNTIL_IDLE=1` ends the daemon when nothing is left to do.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use rustix::process::{Signal, getpid, kill_process};
use windlass_core::crash::{self, Fault, Mark, Watch};

#[derive(Debug)]
struct Orders {
    trace: Option<File>,
    at: Option<At>,
    fault: Option<(Which, Kind)>,
    until_idle: bool,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    points: u64,
    effects: u64,
    /// Points that were died at, in this life or an earlier one; or effects that were broken.
    known: BTreeSet<String>,
}

#[derive(Debug)]
enum At {
    Nth(u64),
    /// Notes each point that it dies at.
    Fresh(File),
}

#[derive(Debug, Clone, Copy)]
enum Which {
    Nth(u64),
    Each,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Error,
    Lost,
    Hang,
}

/// Takes orders from the environment. What cannot be read is an error of the proof, and ends it.
pub fn install() {
    let mut seen = Seen::default();
    let at = value("WINDLASS_CRASH_AT").map(|text| match text.strip_prefix("fresh:") {
        Some(path) => {
            let known = std::fs::read_to_string(path).unwrap_or_default();
            seen.known = known.lines().map(str::to_owned).collect();
            At::Fresh(append(path))
        }
        None => At::Nth(text.parse().expect("a number of a point")),
    });
    let orders = Orders {
        trace: value("WINDLASS_CRASH_TRACE").map(|path| append(&path)),
        at,
        fault: value("WINDLASS_FAULT_AT").map(|text| fault(&text)),
        until_idle: value("WINDLASS_UNTIL_IDLE").is_some(),
        seen: Mutex::new(seen),
    };
    crash::install(Box::new(orders));
}

fn value(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

fn append(path: &str) -> File {
    OpenOptions::new().create(true).append(true).open(path).expect("a file that can be written")
}

fn fault(text: &str) -> (Which, Kind) {
    let (which, kind) = text.split_once(':').expect("which and how, with a colon between");
    let which = match which {
        "each" => Which::Each,
        nth => Which::Nth(nth.parse().expect("a number of an effect")),
    };
    let kind = match kind {
        "error" => Kind::Error,
        "lost" => Kind::Lost,
        "hang" => Kind::Hang,
        other => panic!("there is no fault `{other}`"),
    };
    (which, kind)
}

impl Watch for Orders {
    fn reached(&self, place: &str, marks: &[Mark]) -> Option<Fault> {
        // Held to the end: whoever dies here dies before another point is reached.
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.points += 1;
        self.note(&seen, place, marks);
        if self.is_last(&mut seen, place, marks) {
            kill_process(getpid(), Signal::KILL).expect("we may end ourselves");
            forever();
        }
        let kind = self.broken(&mut seen, place, marks)?;
        drop(seen);
        match kind {
            Kind::Error => Some(Fault::Error),
            Kind::Lost => Some(Fault::AnswerLost),
            Kind::Hang => forever(),
        }
    }

    fn ends_when_idle(&self) -> bool {
        self.until_idle
    }
}

impl Orders {
    fn note(&self, seen: &Seen, place: &str, marks: &[Mark]) {
        let Some(mut trace) = self.trace.as_ref() else { return };
        let marks: Vec<String> = marks.iter().map(|mark| format!("\t{}\t{}", mark.what, mark.key)).collect();
        let line = format!("{}\t{}\t{place}{}\n", seen.points, windlass_engine::now().0, marks.concat());
        trace.write_all(line.as_bytes()).expect("the trace can be written");
    }

    fn is_last(&self, seen: &mut Seen, place: &str, marks: &[Mark]) -> bool {
        match &self.at {
            None => false,
            Some(At::Nth(nth)) => seen.points == *nth,
            Some(At::Fresh(file)) => {
                let lines =
                    marks.iter().map(|mark| format!("{place}\t{}\t{}", mark.what, timeless(&mark.key)));
                let fresh: Vec<String> = lines.filter(|line| seen.known.insert(line.clone())).collect();
                let mut file = file;
                let text: String = fresh.iter().map(|line| format!("{line}\n")).collect();
                file.write_all(text.as_bytes()).expect("the list of points can be written");
                !fresh.is_empty()
            }
        }
    }

    /// An error comes before the effect, a lost answer after it; who hangs has not begun.
    fn broken(&self, seen: &mut Seen, place: &str, marks: &[Mark]) -> Option<Kind> {
        let (which, kind) = self.fault?;
        let here = match kind {
            Kind::Error | Kind::Hang => place == "before",
            Kind::Lost => place == "after",
        };
        if !here {
            return None;
        }
        seen.effects += 1;
        let chosen = match which {
            Which::Nth(nth) => seen.effects == nth,
            Which::Each => marks.iter().any(|mark| seen.known.insert(mark.key.clone())),
        };
        if chosen && let Some(mut trace) = self.trace.as_ref() {
            let line = format!("fault\t{place}\t{}\n", marks.first().map_or("", |mark| &mark.key));
            trace.write_all(line.as_bytes()).expect("the trace can be written");
        }
        chosen.then_some(kind)
    }
}

/// Some keys end with the time of the order: one that was not committed is ordered again at another time.
fn timeless(key: &str) -> &str {
    match key.rsplit_once(':') {
        Some((rest, end)) if end.len() > 10 && end.bytes().all(|byte| byte.is_ascii_digit()) => rest,
        Some(_) | None => key,
    }
}

fn forever() -> ! {
    loop {
        std::thread::park();
    }
}
