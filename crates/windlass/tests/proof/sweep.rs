//! The crash sweep and the fault loop over all scenarios.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Instant, SystemTime};

use windlass_testkit::sweep::{Done, Report, Size, campaign, program};

/// Killed or broken anywhere, every scenario ends as if nothing had happened.
#[test]
fn killed_and_broken_at_every_point_it_comes_to_the_same_end() {
    let Some(program) = proof_program() else { return };
    let size = if std::env::var_os("WINDLASS_PROOF_LONG").is_some() { Size::Long } else { Size::Check };
    let seed = std::env::var("WINDLASS_SWEEP_SEED").ok().and_then(|text| text.parse().ok());
    let seed = seed.unwrap_or_else(|| {
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(1, |since| since.as_secs())
    });
    let begun = Instant::now();
    let done = campaign(&program, size, seed, |text| eprintln!("{text}"));
    let mut sum = Report::default();
    for Done { scenario, calm, report } in done {
        println!(
            "{:<20} {:>4} points, {:>4} kills, {:>3} faults, {:>3} runs",
            scenario.name, calm.points.reached, report.kills, report.faults, report.runs
        );
        insta::assert_snapshot!(format!("points_of_{}", scenario.name), calm.points.list());
        for wrong in &report.violations {
            println!("{}: {wrong}", scenario.name);
        }
        sum.add(report);
    }
    println!("{} kills and {} faults in {} s, seed {seed}", sum.kills, sum.faults, begun.elapsed().as_secs());
    assert!(sum.violations.is_empty(), "{} violations, WINDLASS_SWEEP_SEED={seed}", sum.violations.len());
    assert!(sum.kills > 1_000 && sum.faults > 500, "the sweep must see the points");
}

/// The program with crash points. Where everything must be proved, it must be there.
pub fn proof_program() -> Option<PathBuf> {
    let found = program();
    if found.is_none() {
        assert!(std::env::var("CI").is_err(), "WINDLASS_PROOF_BIN is not set, and nothing may be skipped");
        println!("SKIPPED: WINDLASS_PROOF_BIN names no program with crash points; ./check builds one");
    }
    found
}

/// What users get has no crash points in it.
#[test]
fn the_shipped_program_has_no_crash_points() {
    let has = |path: &std::path::Path, word: &str| {
        let bytes = std::fs::read(path).unwrap();
        bytes.windows(word.len()).any(|window| window == word.as_bytes())
    };
    let shipped = PathBuf::from(env!("CARGO_BIN_EXE_windlass"));
    for word in ["WINDLASS_CRASH_AT", "WINDLASS_CRASH_TRACE", "WINDLASS_FAULT_AT", "WINDLASS_UNTIL_IDLE"] {
        assert!(!has(&shipped, word), "{word}");
        if let Some(program) = proof_program() {
            assert!(has(&program, word), "the test looks for the right words");
        }
    }
    assert!(Command::new(&shipped).arg("--version").status().unwrap().success());
}
