//! The landing protocol: a daemon, its zombie, crashes at every point, and people who push to main directly.
//!
//! Each guard of the protocol can be taken away, to see that the promises need it.

use stateright::{Model, Property};

use super::{Searched, search};

/// One more thing on main: a change of ours, or a push of somebody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Item {
    Change(u8),
    Outside(u8),
}

/// A main is known by all that it holds, as a commit is.
type Main = Vec<Item>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// Main moves only from the value that the candidate was built on.
    CompareAndSwap,
    /// Who is on the snapshot already is not built on it again.
    Containment,
    /// A daemon writes only under the newest epoch.
    Fence,
    /// Intents are looked up after a restart.
    Recovery,
    /// Only what passed its test is ordered to land.
    Verdict,
}

/// How far a search goes, and which guard is missing.
#[derive(Debug, Clone)]
pub struct Landing {
    pub changes: u8,
    /// This change fails its tests wherever it is.
    pub bad: u8,
    pub crashes: u8,
    pub pushes: u8,
    /// Take-overs of the lease from a daemon that goes on.
    pub zombies: u8,
    pub without: Option<Guard>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct World {
    main: Main,
    epoch: u8,
    tasks: Vec<Fate>,
    intent: Option<Intent>,
    daemons: Vec<Daemon>,
    crashes: u8,
    pushes: u8,
    /// Pushes that were none of our changes.
    outside: u8,
    zombies: u8,
}

/// What the store says of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Fate {
    Queued,
    Landed,
    SentBack,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Intent {
    expected: Main,
    new: Main,
    entries: Vec<u8>,
}

/// One process; `mind` is all that it loses when it dies.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Daemon {
    epoch: u8,
    mind: Mind,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Mind {
    Free,
    Built(Intent),
    /// An intent that is to be acted on, after a look at main if an earlier daemon may have begun it.
    Landing(Intent),
    Landed(Intent),
    Stale(Intent),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Build {
        daemon: u8,
        entries: Vec<u8>,
    },
    SendBack {
        daemon: u8,
    },
    Intend {
        daemon: u8,
    },
    Push {
        daemon: u8,
    },
    Record {
        daemon: u8,
    },
    Crash {
        daemon: u8,
    },
    Start,
    TakeOver,
    PushDirectly,
    /// Somebody puts a change of ours on main without us.
    MergeByHand {
        change: u8,
    },
}

impl Landing {
    pub fn search(self) -> Searched {
        search(self)
    }

    fn has(&self, guard: Guard) -> bool {
        self.without != Some(guard)
    }

    fn may_write(&self, world: &World, daemon: &Daemon) -> bool {
        daemon.epoch == world.epoch || !self.has(Guard::Fence)
    }

    /// What a daemon can do next.
    fn steps_of(&self, world: &World, nth: u8, daemon: &Daemon, steps: &mut Vec<Step>) {
        match &daemon.mind {
            Mind::Free => {
                let waiting = (0..self.changes).filter(|change| self.is_waiting(world, *change));
                let waiting: Vec<u8> = waiting.collect();
                if world.intent.is_none() {
                    for upto in 1..=waiting.len() {
                        steps.push(Step::Build { daemon: nth, entries: waiting[..upto].to_vec() });
                    }
                }
            }
            Mind::Built(built) => {
                let passes = !built.entries.contains(&self.bad);
                if passes || !self.has(Guard::Verdict) {
                    steps.push(Step::Intend { daemon: nth });
                } else {
                    steps.push(Step::SendBack { daemon: nth });
                }
            }
            Mind::Landing(_) => steps.push(Step::Push { daemon: nth }),
            Mind::Landed(_) | Mind::Stale(_) => steps.push(Step::Record { daemon: nth }),
        }
        if world.crashes < self.crashes {
            steps.push(Step::Crash { daemon: nth });
        }
    }

    fn is_waiting(&self, world: &World, change: u8) -> bool {
        let contained = world.main.contains(&Item::Change(change)) && self.has(Guard::Containment);
        world.tasks[usize::from(change)] == Fate::Queued && !contained
    }

    fn build(world: &World, entries: Vec<u8>) -> Intent {
        let mut new = world.main.clone();
        new.extend(entries.iter().map(|change| Item::Change(*change)));
        Intent { expected: world.main.clone(), new, entries }
    }

    /// The probe by ancestry, then the swap.
    fn push(&self, world: &mut World, intent: Intent) -> Mind {
        let there = world.main.starts_with(&intent.new);
        if there {
            return Mind::Landed(intent);
        }
        if world.main == intent.expected || !self.has(Guard::CompareAndSwap) {
            world.main.clone_from(&intent.new);
            return Mind::Landed(intent);
        }
        Mind::Stale(intent)
    }

    fn start(&self, world: &mut World) {
        world.epoch += 1;
        let mind = match world.intent.clone().filter(|_| self.has(Guard::Recovery)) {
            Some(intent) => Mind::Landing(intent),
            None => Mind::Free,
        };
        world.daemons.push(Daemon { epoch: world.epoch, mind });
    }

    /// Whoever is fenced ends.
    fn act(&self, world: &mut World, nth: u8, act: impl FnOnce(&mut World, Mind) -> Mind) {
        let at = usize::from(nth);
        if !self.may_write(world, &world.daemons[at]) {
            world.daemons.remove(at);
            return;
        }
        let mind = std::mem::replace(&mut world.daemons[at].mind, Mind::Free);
        let after = act(world, mind);
        world.daemons[at].mind = after;
    }

    /// Nothing is left to do: all that can land has landed, and the store knows it.
    fn is_settled(&self, world: &World) -> bool {
        let settled = |change: u8| match world.tasks[usize::from(change)] {
            Fate::Landed => world.main.contains(&Item::Change(change)),
            Fate::SentBack => change == self.bad,
            Fate::Queued => world.main.contains(&Item::Change(change)),
        };
        world.intent.is_none() && (0..self.changes).all(settled)
    }
}

impl Model for Landing {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        let tasks = vec![Fate::Queued; usize::from(self.changes)];
        let daemons = vec![Daemon { epoch: 1, mind: Mind::Free }];
        let main = Vec::new();
        vec![World {
            main,
            epoch: 1,
            tasks,
            intent: None,
            daemons,
            crashes: 0,
            pushes: 0,
            outside: 0,
            zombies: 0,
        }]
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        for (nth, daemon) in (0..).zip(&world.daemons) {
            self.steps_of(world, nth, daemon, steps);
        }
        let leads = world.daemons.iter().any(|daemon| daemon.epoch == world.epoch);
        if !leads {
            steps.push(Step::Start);
        } else if world.zombies < self.zombies {
            steps.push(Step::TakeOver);
        }
        if world.pushes < self.pushes {
            steps.push(Step::PushDirectly);
            let open = (0..self.changes)
                .filter(|change| *change != self.bad && !world.main.contains(&Item::Change(*change)));
            steps.extend(open.map(|change| Step::MergeByHand { change }));
        }
    }

    fn next_state(&self, before: &World, step: Step) -> Option<World> {
        let mut world = before.clone();
        match step {
            Step::Build { daemon, entries } => {
                let built = Self::build(&world, entries);
                world.daemons[usize::from(daemon)].mind = Mind::Built(built);
            }
            Step::SendBack { daemon } => self.act(&mut world, daemon, |world, mind| {
                // With others in the same candidate nobody is blamed: it is built again with fewer.
                if let Mind::Built(built) = mind
                    && built.entries == [self.bad]
                {
                    world.tasks[usize::from(self.bad)] = Fate::SentBack;
                }
                Mind::Free
            }),
            Step::Intend { daemon } => self.act(&mut world, daemon, |world, mind| match mind {
                Mind::Built(built) if world.intent.is_none() => {
                    world.intent = Some(built.clone());
                    Mind::Landing(built)
                }
                Mind::Built(_) => Mind::Free,
                other => other,
            }),
            // The push itself is outside the store: no fence holds a zombie back here, only the swap does.
            Step::Push { daemon } => {
                let at = usize::from(daemon);
                let Mind::Landing(intent) = world.daemons[at].mind.clone() else { return None };
                world.daemons[at].mind = self.push(&mut world, intent);
            }
            Step::Record { daemon } => self.act(&mut world, daemon, |world, mind| {
                if let Mind::Landed(intent) = &mind {
                    for change in &intent.entries {
                        world.tasks[usize::from(*change)] = Fate::Landed;
                    }
                }
                world.intent = None;
                Mind::Free
            }),
            Step::Crash { daemon } => {
                world.crashes += 1;
                world.daemons.remove(usize::from(daemon));
            }
            Step::Start => self.start(&mut world),
            Step::TakeOver => {
                world.zombies += 1;
                self.start(&mut world);
            }
            Step::PushDirectly => {
                world.main.push(Item::Outside(world.outside));
                world.outside += 1;
                world.pushes += 1;
            }
            Step::MergeByHand { change } => {
                world.main.push(Item::Change(change));
                world.pushes += 1;
            }
        }
        (world != *before).then_some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("a direct push is never lost", |_: &Self, world: &World| {
                (0..world.outside).all(|nth| world.main.contains(&Item::Outside(nth)))
            }),
            Property::always("no change lands twice", |_: &Self, world: &World| {
                let mut sorted = world.main.clone();
                sorted.sort_unstable();
                sorted.windows(2).all(|two| two[0] != two[1])
            }),
            Property::always("no failing change is on main", |model: &Self, world: &World| {
                !world.main.contains(&Item::Change(model.bad))
            }),
            Property::always("what is recorded as landed is on main", |_: &Self, world: &World| {
                let landed = |(nth, fate): (u8, &Fate)| {
                    *fate != Fate::Landed || world.main.contains(&Item::Change(nth))
                };
                (0..).zip(&world.tasks).all(landed)
            }),
            Property::always(
                "when nothing can be done any more, everything is settled",
                |model: &Self, world: &World| {
                    let mut steps = Vec::new();
                    model.actions(world, &mut steps);
                    let goes_on = steps.into_iter().any(|step| model.next_state(world, step).is_some());
                    goes_on || model.is_settled(world)
                },
            ),
            Property::sometimes("all that is good has landed", |model: &Self, world: &World| {
                model.is_settled(world) && world.main.len() + 1 >= usize::from(model.changes)
            }),
            Property::sometimes(
                "a zombie pushes what its successor has taken over",
                |_: &Self, world: &World| {
                    let pushed = |daemon: &Daemon| matches!(daemon.mind, Mind::Landed(_));
                    world.daemons.iter().any(|daemon| daemon.epoch < world.epoch && pushed(daemon))
                },
            ),
        ]
    }
}
