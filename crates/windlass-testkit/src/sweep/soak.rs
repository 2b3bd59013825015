//! Crash cycles: daemons killed again and again while issues come and go; what is left behind stays bounded.

use std::collections::BTreeMap;
use std::path::Path;

use super::campaign::Chance;
use super::life::Ended;
use super::scenario::Scenario;
use super::stage::Stage;

/// So many daemons die for each issue.
const DEATHS_PER_ISSUE: u32 = 10;
/// A death falls on one of the first points of a life: a whole way has four times as many.
const LAST_POINT: u32 = 30;

#[derive(Debug)]
pub struct Soaked {
    pub kills: u32,
    pub issues: u32,
    /// After the first issue, which nobody disturbed.
    pub first: Weight,
    pub last: Weight,
    pub violations: Vec<String>,
}

/// What a state folder holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weight {
    pub files: u64,
    pub bytes: u64,
    pub refs: u64,
    /// By table.
    pub rows: BTreeMap<String, u64>,
    pub processes: u64,
}

pub fn soak(program: &Path, cycles: u32, seed: u64) -> Soaked {
    let mut chance = Chance(seed | 1);
    let mut stage = Stage::new(program, Scenario::named("happy"));
    let mut violations = Vec::new();
    settle(&mut stage, &mut violations);
    let first = Weight::of(&stage);
    let (mut kills, mut issues) = (0, 1);
    while kills < cycles && violations.is_empty() {
        issues += 1;
        stage.file_another();
        for _ in 0..DEATHS_PER_ISSUE {
            let at = chance.up_to(LAST_POINT).to_string();
            let life = stage.live(&[("WINDLASS_CRASH_AT", &at)]);
            match life.ended {
                Ended::Killed => kills += 1,
                Ended::Idle => break,
                Ended::Failed(_) | Ended::Hung => {
                    violations.push(format!("a daemon ended badly: {:?}\n{}", life.ended, stage.story()));
                }
            }
        }
        settle(&mut stage, &mut violations);
    }
    let last = Weight::of(&stage);
    violations.extend(last.grown(&first, issues, kills));
    let merged = stage.bare(&["log", "--format=%s", "main"]);
    let merged = merged.lines().filter(|line| line.starts_with("Merge #")).count();
    if merged != issues as usize {
        violations.push(format!("{merged} merges on main for {issues} issues"));
    }
    Soaked { kills, issues, first, last, violations }
}

fn settle(stage: &mut Stage, violations: &mut Vec<String>) {
    let life = stage.live(&[]);
    if life.ended != Ended::Idle {
        violations.push(format!("it does not come to its end: {:?}\n{}", life.ended, stage.story()));
        stage.end_all();
    }
}

impl Weight {
    pub fn of(stage: &Stage) -> Self {
        let (mut files, mut bytes) = (0, 0);
        let mut folders = vec![stage.state()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                match entry.metadata() {
                    Ok(found) if found.is_dir() => folders.push(entry.path()),
                    Ok(found) => {
                        files += 1;
                        bytes += found.len();
                    }
                    Err(_) => {}
                }
            }
        }
        let refs = stage.bare(&["for-each-ref", "--format=%(refname)"]).lines().count();
        let (refs, processes) = (refs as u64, stage.processes().len() as u64);
        Self { files, bytes, refs, rows: rows(stage), processes }
    }

    /// Where it grew by more than the issues account for.
    fn grown(&self, first: &Self, issues: u32, kills: u32) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut bound = |what: &str, found: u64, one: u64, slack: u64| {
            let most = one * u64::from(issues) + slack;
            if found > most {
                wrong.push(format!("{found} {what} after {issues} issues and {kills} kills, at most {most}"));
            }
        };
        bound("files", self.files, first.files, 50);
        bound("bytes", self.bytes, first.bytes, 8 << 20);
        for (table, rows) in &self.rows {
            // A start and a repeated reading of an issue are written down; nothing else is.
            let slack = if table == "event" { 4 * u64::from(kills) } else { 2 };
            bound(&format!("rows in {table}"), *rows, first.rows.get(table).copied().unwrap_or(0), slack);
        }
        if self.refs != first.refs {
            wrong.push(format!("{} refs, after one issue {}", self.refs, first.refs));
        }
        if self.processes != 0 {
            wrong.push(format!("{} processes are left", self.processes));
        }
        wrong
    }
}

fn rows(stage: &Stage) -> BTreeMap<String, u64> {
    let database = rusqlite::Connection::open(stage.state().join("windlass.db")).expect("a database");
    let mut names = database
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        .expect("a list of tables");
    let names: Vec<String> =
        names.query_map([], |row| row.get(0)).expect("a list of tables").flatten().collect();
    let count = |name: String| {
        let rows: u32 = database
            .query_row(&format!("SELECT count(*) FROM {name}"), [], |row| row.get(0))
            .expect("a table can be counted");
        (name, u64::from(rows))
    };
    names.into_iter().map(count).collect()
}
