//! The merge queue as a pure function: what is known in, what to do next out.
//!
//! Today's policy is FIFO, one tested candidate at a time. A better one changes `plan` and nothing around it.

use crate::id::{Sha, TaskId};
use crate::time::Millis;

/// A change waiting to land.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub task: TaskId,
    /// The head that the critic approved.
    pub head: Sha,
    pub since: Millis,
}

/// What git says about an entry on top of main, or of the entries before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    Clean {
        candidate: Sha,
        tree: Sha,
    },
    /// Main holds the head already.
    Contained,
    Conflict {
        files: Vec<String>,
        commits: Vec<String>,
    },
}

/// What is known of a candidate's tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tested {
    Not,
    /// A build for it waits or runs.
    Running,
    Pass,
    Fail {
        failing: Vec<String>,
        log: String,
    },
    /// Builds of it could not run, this often in a row.
    Broke {
        times: u32,
        why: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// Oldest first.
    pub entries: Vec<Entry>,
    /// The links of the first entries, as far as they are built on the current main.
    pub chain: Vec<(Link, Tested)>,
    pub paused: Option<String>,
    /// A landing is under way; nothing else may move main.
    pub landing: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Build the links of the first `n` entries.
    Chain {
        n: usize,
    },
    Test {
        task: TaskId,
        candidate: Sha,
        tree: Sha,
    },
    Land {
        task: TaskId,
        head: Sha,
        candidate: Sha,
        tree: Sha,
    },
    /// Back to its own session: it conflicts with main.
    Return {
        task: TaskId,
        head: Sha,
        files: Vec<String>,
        commits: Vec<String>,
    },
    /// Back to its own session: its tests fail on main.
    Eject {
        task: TaskId,
        head: Sha,
        failing: Vec<String>,
        log: String,
    },
    /// Nothing left to land.
    Settle {
        task: TaskId,
        head: Sha,
    },
    Pause {
        reason: String,
    },
}

/// Builds that could not run blame nobody; after this many in a row the queue waits for a person.
const MAX_BROKE: u32 = 3;

pub fn plan(view: &View) -> Vec<Act> {
    if view.paused.is_some() || view.landing {
        return Vec::new();
    }
    let Some(entry) = view.entries.first() else { return Vec::new() };
    let Some((link, tested)) = view.chain.first() else { return vec![Act::Chain { n: 1 }] };
    let (task, head) = (entry.task.clone(), entry.head.clone());
    match link {
        Link::Contained => vec![Act::Settle { task, head }],
        Link::Conflict { files, commits } => {
            vec![Act::Return { task, head, files: files.clone(), commits: commits.clone() }]
        }
        Link::Clean { candidate, tree } => {
            let (candidate, tree) = (candidate.clone(), tree.clone());
            match tested {
                Tested::Not => vec![Act::Test { task, candidate, tree }],
                Tested::Running => Vec::new(),
                Tested::Pass => vec![Act::Land { task, head, candidate, tree }],
                Tested::Fail { failing, log } => {
                    vec![Act::Eject { task, head, failing: failing.clone(), log: log.clone() }]
                }
                Tested::Broke { times, why } if *times >= MAX_BROKE => {
                    vec![Act::Pause { reason: format!("CI could not run {times} times in a row: {why}") }]
                }
                Tested::Broke { .. } => vec![Act::Test { task, candidate, tree }],
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sha(digit: &str) -> Sha {
        Sha::parse(&digit.repeat(40)).unwrap()
    }

    fn view(tested: Tested) -> View {
        let entry = |n: &str| Entry { task: TaskId::stored(n), head: sha("a"), since: Millis(0) };
        View {
            entries: vec![entry("1.1"), entry("2.1")],
            chain: vec![(Link::Clean { candidate: sha("c"), tree: sha("d") }, tested)],
            paused: None,
            landing: false,
        }
    }

    #[test]
    fn the_oldest_is_chained_tested_and_landed() {
        let mut fresh = view(Tested::Not);
        fresh.chain.clear();
        assert_eq!(plan(&fresh), [Act::Chain { n: 1 }]);
        assert!(matches!(&plan(&view(Tested::Not))[..], [Act::Test { task, .. }] if task.as_str() == "1.1"));
        assert_eq!(plan(&view(Tested::Running)), []);
        assert!(matches!(&plan(&view(Tested::Pass))[..], [Act::Land { task, .. }] if task.as_str() == "1.1"));
    }

    #[test]
    fn red_and_conflicting_entries_go_back_and_broken_builds_blame_nobody() {
        let red = Tested::Fail { failing: vec!["t".into()], log: String::new() };
        assert!(matches!(&plan(&view(red))[..], [Act::Eject { .. }]));
        let broke = |times| plan(&view(Tested::Broke { times, why: "no disk".into() }));
        assert!(matches!(&broke(2)[..], [Act::Test { .. }]));
        assert!(matches!(&broke(3)[..], [Act::Pause { .. }]));
        let mut conflict = view(Tested::Not);
        conflict.chain[0].0 = Link::Conflict { files: vec!["a".into()], commits: vec![] };
        assert!(matches!(&plan(&conflict)[..], [Act::Return { .. }]));
        conflict.chain[0].0 = Link::Contained;
        assert!(matches!(&plan(&conflict)[..], [Act::Settle { .. }]));
    }

    #[test]
    fn nothing_moves_while_paused_or_landing() {
        let mut paused = view(Tested::Pass);
        paused.paused = Some("main rewritten".into());
        assert_eq!(plan(&paused), []);
        let mut landing = view(Tested::Pass);
        landing.landing = true;
        assert_eq!(plan(&landing), []);
    }
}
