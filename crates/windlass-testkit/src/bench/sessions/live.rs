//! Fifty sessions with a living process each: the daemon dies and finds them, they die and the daemon finds out.

use std::time::{Duration, Instant};

use windlass_core::journal::{Fact, FactoryFact};
use windlass_core::task::Event;
use windlass_store::{Store, Which};

use crate::bench::agents;
use crate::bench::error::BenchError;
use crate::bench::factory::{Factory, Seen, Setup, now_ms, sh};
use crate::bench::place::{Place, run};
use crate::bench::sheet::{Op, Sheet};
use crate::bench::stats::{count, percentile};

const SESSIONS: usize = 50;
/// Killed one after the other.
const DEATHS: usize = 25;
/// One whole round of everything that happens by the clock, the heartbeat included.
const WATCHED: Duration = Duration::from_secs(61);

pub fn measure(place: &Place) -> Result<Sheet, BenchError> {
    let notes = place.folder()?;
    // Whoever is called asks a person.
    let stay = format!(
        "until [ -e {0}/$WINDLASS_SESSION ]; do sleep 0.5; done
printf 'PHASE:escalate\\nwhich?\\n' > $WINDLASS_PHASE_FILE; exec sleep 100000",
        notes.display()
    );
    let setup = Setup { files: 20, parallel: 50, ci_slots: 1, dev: sh(&stay), critic: agents::critic() };
    let mut factory = Factory::new(place, &setup)?;
    for nth in 0..SESSIONS {
        factory.file(&format!("session {nth}"))?;
    }
    factory.up()?;
    wait_running(&mut factory)?;
    let mut sheet = Sheet::new("sessions");
    idle(&mut factory, &mut sheet)?;
    deaths(&mut factory, &mut sheet)?;
    reattach(&mut factory, &notes, &mut sheet)?;
    factory.down()?;
    Ok(sheet)
}

fn wait_running(factory: &mut Factory<'_>) -> Result<(), BenchError> {
    let mut running = 0;
    factory.follow("fifty sessions", |seen| {
        running += usize::from(seen.moved().is_some_and(|(to, _)| to == "RUNNING"));
        running == SESSIONS
    })?;
    factory.settle()
}

fn idle(factory: &mut Factory<'_>, sheet: &mut Sheet) -> Result<(), BenchError> {
    let percent = factory.cpu_percent_at_rest()?;
    let what = "of one core, the daemon's own, over a minute with 50 living sessions";
    sheet.figure_with_goal("idle_50_cpu_percent", percent, Op::Below, 1.0, what);
    Ok(())
}

/// From the kill of an agent to the event on the disk.
fn deaths(factory: &mut Factory<'_>, sheet: &mut Sheet) -> Result<(), BenchError> {
    let mut noticed = Vec::new();
    let victims = factory.store()?.identities(Which::Live)?;
    for victim in victims.iter().take(DEATHS) {
        let pid = victim.pid.ok_or(BenchError::Interrupted)?;
        let killed = now_ms();
        run(std::process::Command::new("kill").args(["-KILL", &pid.to_string()]))?;
        let crashed = |seen: &Seen| match &seen.event.entry.fact {
            Fact::Task(Event::AgentCrashed { session, .. }) => *session == victim.name,
            Fact::Task(_) | Fact::Factory(_) => false,
        };
        let events = factory.follow("a crash that is noticed", crashed)?;
        noticed.extend(events.iter().filter(|seen| crashed(seen)).map(|seen| seen.at_ms - killed));
        factory.settle()?;
    }
    let what = "SIGKILL of an agent to the event on the disk, 95 of 100";
    sheet.figure_with_goal("death_noticed_p95_ms", percentile(&noticed, 95.0), Op::AtMost, 100.0, what);
    sheet.figure("deaths", count(noticed.len()), "agents killed, one after the other");
    Ok(())
}

/// The daemon is killed; the sessions speak while it is away; a new daemon hears each of them and starts none again.
fn reattach(factory: &mut Factory<'_>, notes: &std::path::Path, sheet: &mut Sheet) -> Result<(), BenchError> {
    factory.wait("the processes of all sessions", |factory| {
        Ok(factory.store()?.identities(Which::Live)?.iter().all(|session| session.pid.is_some()))
    })?;
    let living = factory.store()?.identities(Which::Live)?;
    factory.kill()?;
    for session in &living {
        let note = notes.join(session.name.as_str());
        std::fs::write(&note, "").map_err(BenchError::io("write", &note))?;
    }
    let state = factory.state();
    for session in &living {
        let phase = state.join("sessions").join(session.name.as_str()).join("phase");
        let until = Instant::now() + WATCHED;
        while std::fs::metadata(&phase).map_or(0, |found| found.len()) == 0 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    let start = now_ms();
    factory.start()?;
    let (mut heard, mut restarted) = (Vec::new(), 0);
    factory.follow("every session that spoke", |seen| {
        match &seen.event.entry.fact {
            Fact::Task(Event::PhaseSeen { .. }) => heard.push(seen.at_ms - start),
            Fact::Factory(FactoryFact::AgentRegistered { .. }) => restarted += 1,
            Fact::Task(_) | Fact::Factory(_) => {}
        }
        heard.len() == living.len()
    })?;
    let alive = living.iter().filter(|session| {
        session.pid.is_some_and(|pid| std::path::Path::new(&format!("/proc/{pid}")).exists())
    });
    let what = "start of a new daemon to the words of each session heard and on the disk, 95 of 100";
    sheet.figure_with_goal("reattach_50_p95_ms", percentile(&heard, 95.0), Op::AtMost, 1000.0, what);
    sheet.figure_with_goal("reattach_restarted", count(restarted), Op::AtMost, 0.0, "sessions started again");
    let what = "processes that live on, of fifty";
    sheet.figure_with_goal("reattach_living", count(alive.count()), Op::AtLeast, count(SESSIONS), what);
    Ok(())
}
