//! Situations that the seeds must reach: a simulator that never gets there proves nothing about them.

use std::collections::BTreeMap;

#[derive(Debug, Default, Clone)]
pub struct Probes(BTreeMap<&'static str, u32>);

/// Says that a situation was reached: `sometimes!(world, "landed over a red test")`.
macro_rules! sometimes {
    ($world:expr, $name:literal) => {
        $world.probes.hit($name)
    };
}
pub(crate) use sometimes;

/// Every situation that the gate's seeds must reach.
pub const ALL: &[&str] = &[
    "a task merged",
    "several changes landed as one",
    "landed over a red test",
    "a change was ejected",
    "a conflict went back to its session",
    "a flake was found out",
    "main was rewritten and the queue paused",
    "somebody's push was adopted",
    "the queue paused because tests could not run",
    "the queue paused because main is red",
    "the money was spent",
    "a question was answered",
    "a question timed out",
    "abandoned by label",
    "abandoned by command",
    "closed by a person",
    "retried after it was abandoned",
    "the agent refused",
    "the critic's rounds were used up",
    "the critic blocked",
    "no verdict, and another critic was asked",
    "a critic's provider was waited for",
    "a verdict on another head was not taken",
    "the agent was reminded until it was given up",
    "a dead agent was brought back",
    "a silent agent was replaced",
    "an agent died when it had said all",
    "a successor went on with a conversation",
    "a conversation was lost",
    "a lost conversation was begun anew",
    "a person's word was passed on",
    "a session outlived its daemon",
    "a build outlived its daemon",
    "an effect was found done after a crash",
    "an answer was lost and nothing was done twice",
    "a fenced daemon ended",
    "a second daemon was refused",
    "a full disk was survived",
    "the clock went back",
    "the machine slept",
    "a lost notice was made good",
    "a landing was found done after a crash",
    "a landing came too late",
    "an entry was on main already",
    "paused and resumed by a person",
    "an issue waited for another",
    "work was saved before its workspace went",
    "a message reached a session that was just ending",
];

impl Probes {
    pub fn hit(&mut self, name: &'static str) {
        assert!(ALL.contains(&name), "{name} is not in the list");
        *self.0.entry(name).or_default() += 1;
    }

    pub fn add(&mut self, other: &Self) {
        for (name, count) in &other.0 {
            *self.0.entry(name).or_default() += count;
        }
    }

    pub fn missed(&self) -> Vec<&'static str> {
        ALL.iter().copied().filter(|name| !self.0.contains_key(name)).collect()
    }

    pub fn counts(&self) -> &BTreeMap<&'static str, u32> {
        &self.0
    }
}
