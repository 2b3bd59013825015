//! The crash sweep.

use windlass_testkit::sweep::{SCENARIOS, calm, program, relay};

#[test]
fn try_it() {
    let program = program().unwrap();
    let only = std::env::var("ONLY").unwrap_or_default();
    for scenario in SCENARIOS.iter().filter(|s| only.is_empty() || s.name == only) {
        let begun = std::time::Instant::now();
        let calm = calm(&program, scenario);
        println!("{}: calm {:?} {} points {} effects {} names", scenario.name, calm.took, calm.points.reached, calm.points.effects, calm.points.len());
        let report = relay(&program, scenario, &calm);
        println!("  {} kills {:?} violations {} missing {:?}", report.kills, begun.elapsed(), report.violations.len(), report.points.missing(&calm.points));
        for v in &report.violations { println!("{v}"); }
    }
}
