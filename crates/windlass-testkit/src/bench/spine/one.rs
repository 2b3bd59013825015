//! One task at a time from issue to main, over the floor of the same git commands.

use windlass_core::time::Millis;

use super::REPO_FILES;
use super::floor::Floor;
use crate::bench::error::BenchError;
use crate::bench::factory::{Factory, Seen, Setup};
use crate::bench::place::Place;
use crate::bench::sheet::{Op, Sheet};
use crate::bench::stats::{count, median, millis};
use crate::bench::{agents, talk};

const WARM_UP: usize = 3;
const ROUNDS: usize = 20;

/// Where a task's time goes: each stage ends with the first event of its kind.
const STAGES: [(&str, &str, &str); 7] = [
    ("stage_claim_ms", "task_claimed", "the issue is read and taken"),
    ("stage_workspace_ms", "workspace_ready", "the clone is made"),
    ("stage_agent_ms", "phase_seen", "the agent starts, commits and signals"),
    ("stage_fetch_ms", "work_fetched", "the work is fetched and checked"),
    ("stage_ci_ms", "build_passed", "push, change, checkout, build `true`"),
    ("stage_critic_ms", "verdict_given", "checkout, critic, verdict"),
    ("stage_land_ms", "landed", "merge, commit, swap"),
];

pub fn measure(place: &Place) -> Result<Sheet, BenchError> {
    let setup =
        Setup { files: REPO_FILES, parallel: 1, ci_slots: 1, dev: agents::dev(), critic: agents::critic() };
    let mut factory = Factory::new(place, &setup)?;
    let floor = Floor::new(place, factory.folder(), &factory.repo())?;
    factory.up()?;
    let mut tasks: Vec<[f64; STAGES.len()]> = Vec::new();
    let mut floors = Vec::new();
    for round in 0..WARM_UP + ROUNDS {
        let stages = task(&mut factory, round)?;
        let took = floor.task(round)?;
        if round >= WARM_UP {
            talk(&format!("task {:.0} ms, floor {:.0} ms", stages.iter().sum::<f64>(), millis(took)));
            tasks.push(stages);
            floors.push(millis(took));
        }
    }
    factory.down()?;
    Ok(sheet(&tasks, &floors))
}

/// Files an issue, waits for its merge, and says how long each stage took.
fn task(factory: &mut Factory<'_>, round: usize) -> Result<[f64; STAGES.len()], BenchError> {
    let issue = factory.file(&format!("task {round}"))?;
    let of_issue = |seen: &Seen| seen.event.entry.issue.is_some_and(|number| number.0 == issue);
    let events =
        factory.follow("a merge", |seen| of_issue(seen) && seen.event.entry.fact.kind() == "landed")?;
    factory.settle()?;
    let mut before = factory.created_at(issue)?;
    let mut stages = [0.0; STAGES.len()];
    for (stage, (_, kind, _)) in stages.iter_mut().zip(STAGES) {
        let end = events.iter().filter(|seen| of_issue(seen));
        let end = end.map(|seen| &seen.event.entry).find(|entry| entry.fact.kind() == kind);
        let end = end.ok_or_else(|| BenchError::TooLittle(format!("no `{kind}` of issue {issue}")))?.at;
        *stage = span(before, end);
        before = end;
    }
    Ok(stages)
}

fn sheet(tasks: &[[f64; STAGES.len()]], floors: &[f64]) -> Sheet {
    let mut sheet = Sheet::new("spine");
    let whole: Vec<f64> = tasks.iter().map(|stages| stages.iter().sum()).collect();
    let (task_ms, floor_ms) = (median(&whole), median(floors));
    let what = "one task from issue to main, over the bare git commands";
    sheet.figure_with_goal("task_over_floor", task_ms / floor_ms, Op::AtMost, 2.0, what);
    sheet.figure("task_ms", task_ms, "median, issue created to main moved");
    sheet.figure(
        "floor_ms",
        floor_ms,
        "median, clone --shared, commit, fetch, merge-tree, commit-tree, update-ref",
    );
    for (nth, (name, _, what)) in STAGES.into_iter().enumerate() {
        let stage: Vec<f64> = tasks.iter().map(|stages| stages[nth]).collect();
        sheet.figure(name, median(&stage), what);
    }
    sheet.figure("repo_files", count(REPO_FILES), "files in the repository");
    sheet.figure("task_rounds", count(tasks.len()), "tasks and floors measured in turn, after a warm-up");
    sheet
}

#[expect(clippy::cast_precision_loss, reason = "a few seconds in milliseconds")]
fn span(from: Millis, to: Millis) -> f64 {
    (to.0 - from.0) as f64
}
