//! Finds the part of a plan that breaks the same rule: whatever can be left out is left out.

use super::plan::Plan;
use super::rules::Rule;
use super::trace::Lines;
use super::{Bug, Template, run_with};

/// Runs that a shrinking may take.
const MAX_RUNS: u32 = 400;

/// A smaller plan that breaks the same rule.
pub fn shrink(bug: Option<Bug>, template: &Template, plan: Plan, rule: Rule) -> Plan {
    let mut shrinker = Shrinker { bug, template, rule, runs: 0 };
    let plan = shrinker.without_mishaps(plan);
    let plan = shrinker.without_issues(plan);
    shrinker.without_mishaps(plan)
}

struct Shrinker<'a> {
    bug: Option<Bug>,
    template: &'a Template,
    rule: Rule,
    runs: u32,
}

impl Shrinker<'_> {
    fn breaks(&mut self, plan: &Plan) -> bool {
        if self.runs >= MAX_RUNS {
            return false;
        }
        self.runs += 1;
        let run = run_with(self.bug, self.template, plan.clone(), Lines::NotKept);
        run.broken.is_some_and(|broken| broken.rule == self.rule)
    }

    /// Leaves out halves, then quarters, and so on down to single mishaps.
    fn without_mishaps(&mut self, mut plan: Plan) -> Plan {
        let mut part = plan.mishaps.len().div_ceil(2);
        while part > 0 {
            let mut at = 0;
            while at < plan.mishaps.len() {
                let mut smaller = plan.clone();
                smaller.mishaps.drain(at..(at + part).min(plan.mishaps.len()));
                if self.breaks(&smaller) {
                    plan = smaller;
                } else {
                    at += part;
                }
            }
            part = if part == 1 { 0 } else { part.div_ceil(2) };
        }
        plan
    }

    fn without_issues(&mut self, mut plan: Plan) -> Plan {
        let mut at = 0;
        while at < plan.issues.len() {
            let mut smaller = plan.clone();
            smaller.issues.remove(at);
            if self.breaks(&smaller) {
                plan = smaller;
            } else {
                at += 1;
            }
        }
        plan
    }
}
