//! The real Claude Code against the scripted provider: how soon a killed session asks again, and whether an idle one is quiet.

use std::time::{Duration, Instant};

use windlass_store::{Store, Which};

use crate::bench::error::BenchError;
use crate::bench::factory::{Factory, Setup};
use crate::bench::place::{Place, run};
use crate::bench::sheet::{Op, Sheet};
use crate::bench::stats::count;
use crate::bench::{agents, talk};
use windlass_testkit::provider::{Provider, Step};
use windlass_testkit::real;

const KILLS: usize = 5;
const QUIET: Duration = Duration::from_secs(30);

pub fn measure(place: &Place) -> Result<Sheet, BenchError> {
    let mut sheet = Sheet::new("sessions");
    let Some(binary) = real::CLAUDE.binary("claude_resume_first_request_s") else {
        talk("SKIPPED claude_resume_first_request_s: Claude Code is not installed");
        return Ok(sheet);
    };
    let provider = Provider::start().map_err(BenchError::io("start", place.root.as_path()))?;
    let setup = Setup { files: 20, parallel: 8, ci_slots: 1, dev: agents::dev(), critic: agents::critic() };
    let mut factory = Factory::new(place, &setup)?;
    let key = factory.folder().join("key");
    std::fs::write(&key, "bench\n").map_err(BenchError::io("write", &key))?;
    let config = factory.repo().join("windlass.toml");
    let text = format!(
        "name = \"bench\"\n[ci]\ncommand = \"true\"\n[guards]\nmin_free_memory_mb = 1\nmin_free_disk_mb = 1\n\
         [agent.dev]\nkind = \"claude-code\"\nbinary = {:?}\n\
         env = {{ ANTHROPIC_API_KEY = \"file:{}\", ANTHROPIC_BASE_URL = {:?}, CLAUDE_CODE_MAX_RETRIES = \"0\" }}\n",
        binary,
        key.display(),
        provider.url("dev")
    );
    std::fs::write(&config, text).map_err(BenchError::io("write", &config))?;
    resume(&mut factory, &provider, &mut sheet)?;
    quiet(&mut factory, &provider, &mut sheet)?;
    factory.down()?;
    Ok(sheet)
}

/// Each session hangs in its first request; it is killed there, and its successor asks again.
fn resume(factory: &mut Factory<'_>, provider: &Provider, sheet: &mut Sheet) -> Result<(), BenchError> {
    factory.up()?;
    let mut took = Vec::new();
    for nth in 1..=KILLS {
        provider.script("dev", [Step::Hang, question(), Step::say("asked")]);
        factory.file(&format!("resume {nth}"))?;
        let before = provider.asked("dev").len();
        provider.wait_asked("dev", before.max((nth - 1) * 3) + 1);
        let victim = live_dev(factory)?;
        let killed = Instant::now();
        run(std::process::Command::new("kill").args(["-KILL", &victim.to_string()]))?;
        let asked = provider.wait_asked("dev", (nth - 1) * 3 + 2);
        took.push(asked[(nth - 1) * 3 + 1].at.duration_since(killed).as_secs_f64());
        provider.wait_asked("dev", nth * 3);
    }
    let worst = took.iter().copied().fold(f64::NAN, f64::max);
    let what =
        "SIGKILL of Claude Code in a turn to the first request of its resumed conversation, worst of 5";
    sheet.figure_with_goal("claude_resume_first_request_s", worst, Op::AtMost, 3.0, what);
    Ok(())
}

fn question() -> Step {
    Step::bash("printf 'PHASE:escalate\\nwhich?\\n' > $WINDLASS_PHASE_FILE")
}

/// The process of the session that was started last, once it is known.
fn live_dev(factory: &mut Factory<'_>) -> Result<u32, BenchError> {
    let mut found = None;
    factory.wait("the number of the agent's process", |factory| {
        let live = factory.store()?.identities(Which::Live)?;
        let newest = live.into_iter().max_by_key(|identity| identity.created_at);
        found = newest.and_then(|identity| identity.pid);
        Ok(found.is_some())
    })?;
    found.ok_or(BenchError::Interrupted)
}

/// All sessions wait for a person, warm or let go: none of them may ask the provider anything.
fn quiet(factory: &mut Factory<'_>, provider: &Provider, sheet: &mut Sheet) -> Result<(), BenchError> {
    let before = provider.asked("dev").len();
    factory.rest(QUIET)?;
    let asked = provider.asked("dev").len() - before;
    let what = "requests of five waiting Claude Codes in 30 s";
    sheet.figure_with_goal("idle_requests", count(asked), Op::AtMost, 0.0, what);
    Ok(())
}
