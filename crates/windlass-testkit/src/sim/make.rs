//! Makes a plan out of a seed. Each seed has some kinds of mishaps and not others: what never meets hides less.

use windlass_core::id::IssueNumber;

use super::plan::{
    BuildKind, CrashPoint, Deed, EffectFault, HOUR, Half, IssuePlan, LinkFault, MINUTE, Mishap, NoticeFault,
    Plan, PushKind, ReadFault, ReviewKind, SECOND, Tick, TurnKind,
};
use crate::queue_sim::dice::{Dice, mix};

/// When mishaps may begin.
const ROUGH: Tick = 75 * MINUTE;

type Kind = fn(&mut Maker) -> Mishap;
/// Mishaps that mean something only together.
type Series = fn(&mut Maker) -> Vec<Mishap>;

const SERIES: &[Series] = &[
    Maker::strict_critic,
    Maker::deaf_agent,
    Maker::broken_ci,
    Maker::dying_agent,
    Maker::lost_notices,
    Maker::forgetful_agent,
    Maker::hasty_agent,
];

const KINDS: &[Kind] = &[
    Maker::crash_at_commit,
    Maker::crash_at_effect,
    Maker::crash_at_time,
    Maker::other_daemon,
    Maker::full_disk,
    Maker::clock,
    Maker::outage,
    Maker::effect,
    Maker::read,
    Maker::link,
    Maker::notice,
    Maker::turn,
    Maker::hard_turn,
    Maker::review,
    Maker::build,
    Maker::flaky_builds,
    Maker::deed,
    Maker::ending,
    Maker::push,
];

/// The plan of a seed.
pub fn plan(seed: u64) -> Plan {
    let mut maker = Maker { dice: Dice::new(mix(seed ^ 0x5eed)), issues: 0 };
    let parallel = u32::try_from(1 + maker.dice.below(3)).unwrap_or(1);
    let slots = u32::try_from(1 + maker.dice.below(3)).unwrap_or(1);
    let issues = maker.issues();
    let mut mishaps = Vec::new();
    let heat = maker.dice.below(4);
    for kind in KINDS {
        if maker.dice.below(10) < heat + 1 {
            for _ in 0..=maker.dice.below(3) {
                mishaps.push(kind(&mut maker));
            }
        }
    }
    for series in SERIES {
        if maker.dice.below(30) < heat + 1 {
            mishaps.extend(series(&mut maker));
        }
    }
    Plan { seed, parallel, slots, issues, mishaps, heartbeat: 3 * MINUTE, calm: 100 * MINUTE }
}

struct Maker {
    dice: Dice,
    issues: u64,
}

impl Maker {
    fn issues(&mut self) -> Vec<IssuePlan> {
        self.issues = [1, 2, 2, 3, 3, 4][usize::try_from(self.dice.below(6)).unwrap_or(0)];
        let halves = self.dice.below(3) == 0;
        let shared = self.dice.below(3) == 0;
        (1..=self.issues).map(|nth| self.issue(nth, halves, shared)).collect()
    }

    fn issue(&mut self, nth: u64, halves: bool, shared: bool) -> IssuePlan {
        let word = match self.dice.below(12) {
            0 => "priority",
            1 => "idea",
            2 => "in-progress",
            _ => "backlog",
        };
        let depends_on = match self.dice.below(9) {
            0 if nth > 1 => vec![IssueNumber(1 + self.dice.below(nth - 1))],
            // Also on one that comes later, on itself, or on one that never comes.
            1 if self.dice.below(4) == 0 => vec![IssueNumber(1 + self.dice.below(self.issues + 1))],
            _ => Vec::new(),
        };
        let half = match (halves, nth % 3) {
            (true, 1) => Some(Half::Left),
            (true, 2) => Some(Half::Right),
            (_, _) => None,
        };
        IssuePlan {
            number: IssueNumber(nth),
            at: self.time(20 * MINUTE),
            labels: vec![word.to_owned()],
            depends_on,
            shared: shared && self.dice.below(3) > 0,
            half,
        }
    }

    fn time(&mut self, most: Tick) -> Tick {
        i64::try_from(self.dice.below(most.unsigned_abs())).unwrap_or(0)
    }

    fn nth(&mut self, most: u64) -> u32 {
        u32::try_from(1 + self.dice.below(most)).unwrap_or(1)
    }

    fn any_issue(&mut self) -> IssueNumber {
        IssueNumber(1 + self.dice.below(self.issues))
    }

    fn crash_at_commit(&mut self) -> Mishap {
        let nth = self.nth(140);
        let before = self.dice.below(2) == 0;
        Mishap::Crash(if before { CrashPoint::BeforeCommit(nth) } else { CrashPoint::AfterCommit(nth) })
    }

    fn crash_at_effect(&mut self) -> Mishap {
        let nth = self.nth(70);
        Mishap::Crash(match self.dice.below(3) {
            0 => CrashPoint::BeforeEffect(nth),
            1 => CrashPoint::AfterEffect(nth),
            _ => CrashPoint::InEffect { nth, step: self.nth(3) - 1 },
        })
    }

    fn crash_at_time(&mut self) -> Mishap {
        Mishap::Crash(CrashPoint::At(self.time(ROUGH)))
    }

    fn other_daemon(&mut self) -> Mishap {
        let at = self.time(ROUGH);
        match self.dice.below(2) {
            0 => Mishap::Second { at },
            _ => Mishap::TakeOver { at, back: SECOND + self.time(20 * MINUTE) },
        }
    }

    fn full_disk(&mut self) -> Mishap {
        let (pages, waits) = (self.nth(12) - 1, self.nth(300));
        Mishap::DiskFull { at: self.time(ROUGH), pages, waits }
    }

    fn clock(&mut self) -> Mishap {
        let by = match self.dice.below(3) {
            0 => -self.time(15 * MINUTE),
            1 => self.time(20 * MINUTE),
            _ => self.time(9 * HOUR),
        };
        Mishap::Clock { at: self.time(ROUGH), by }
    }

    fn outage(&mut self) -> Mishap {
        Mishap::Outage { at: self.time(ROUGH), length: self.time(12 * MINUTE) }
    }

    fn effect(&mut self) -> Mishap {
        let how = match self.dice.below(8) {
            0..=2 => EffectFault::Failed,
            3..=5 => EffectFault::AnswerLost,
            6 => EffectFault::Hangs(self.time(15 * MINUTE)),
            _ => EffectFault::Refused,
        };
        Mishap::Effect { nth: self.nth(80), how }
    }

    fn read(&mut self) -> Mishap {
        let how = match self.dice.below(4) {
            0 | 1 => ReadFault::Failed,
            2 => ReadFault::Stale(self.time(15 * MINUTE)),
            _ => ReadFault::Hangs(self.time(12 * MINUTE)),
        };
        Mishap::Read { nth: self.nth(40), how }
    }

    fn link(&mut self) -> Mishap {
        let how = match self.dice.below(2) {
            0 => LinkFault::Failed,
            _ => LinkFault::Hangs(self.time(8 * MINUTE)),
        };
        Mishap::Link { nth: self.nth(16), how }
    }

    fn notice(&mut self) -> Mishap {
        let how = match self.dice.below(4) {
            0 | 1 => NoticeFault::Lost,
            2 => NoticeFault::Twice,
            _ => NoticeFault::Late(self.time(6 * MINUTE)),
        };
        Mishap::Notice { nth: self.nth(60), how }
    }

    /// What an agent may do and still get somewhere.
    fn turn(&mut self) -> Mishap {
        let how = match self.dice.below(8) {
            0 | 1 => TurnKind::Bad,
            2 => TurnKind::Lie,
            3 => TurnKind::Silent,
            4 => TurnKind::Mumble,
            5 => TurnKind::GoesOn,
            6 => TurnKind::Rewrites,
            _ => TurnKind::Asks,
        };
        Mishap::Turn { issue: self.any_issue(), nth: self.nth(4), how }
    }

    fn hard_turn(&mut self) -> Mishap {
        let worked = self.dice.below(2) == 0;
        let how = match self.dice.below(8) {
            0 | 1 => TurnKind::Dies { code: 1, worked },
            2 => TurnKind::Vanishes,
            3 | 4 => TurnKind::Hangs,
            5 => TurnKind::Refuses,
            6 => TurnKind::GivesUp,
            _ => TurnKind::Spends,
        };
        Mishap::Turn { issue: self.any_issue(), nth: self.nth(3), how }
    }

    fn review(&mut self) -> Mishap {
        let how = match self.dice.below(10) {
            0..=2 => ReviewKind::AsksForChanges,
            3 => ReviewKind::Blocks,
            4 => ReviewKind::SaysNothing,
            5 => ReviewKind::Dies,
            6 => ReviewKind::Hangs,
            7 => ReviewKind::IsLimited,
            _ => ReviewKind::OldHead,
        };
        Mishap::Review { issue: self.any_issue(), nth: self.nth(3), how }
    }

    fn build(&mut self) -> Mishap {
        let how = match self.dice.below(5) {
            0 | 1 => BuildKind::Breaks,
            2 => BuildKind::EndsUnheard(self.time(30 * MINUTE)),
            3 => BuildKind::NeverStarts(self.time(30 * MINUTE)),
            _ => BuildKind::Dies,
        };
        Mishap::Build { nth: self.nth(12), how }
    }

    fn flaky_builds(&mut self) -> Mishap {
        Mishap::Build { nth: self.nth(12), how: BuildKind::Flakes }
    }

    fn strict_critic(&mut self) -> Vec<Mishap> {
        let (issue, how) = (self.any_issue(), ReviewKind::AsksForChanges);
        (1..=3).map(|nth| Mishap::Review { issue, nth, how }).collect()
    }

    fn deaf_agent(&mut self) -> Vec<Mishap> {
        let (issue, how) =
            (self.any_issue(), if self.dice.below(2) == 0 { TurnKind::Silent } else { TurnKind::Lie });
        (1..=3).map(|nth| Mishap::Turn { issue, nth, how }).collect()
    }

    fn dying_agent(&mut self) -> Vec<Mishap> {
        let (issue, how) = (self.any_issue(), TurnKind::Dies { code: 2, worked: false });
        (1..=3).map(|nth| Mishap::Turn { issue, nth, how }).collect()
    }

    /// Now and then it has died before, or somebody has said something.
    fn forgetful_agent(&mut self) -> Vec<Mishap> {
        let (issue, nth) = (self.any_issue(), self.nth(2));
        let dies = Mishap::Turn { issue, nth: self.nth(2), how: TurnKind::Dies { code: 3, worked: false } };
        let tells = Mishap::Deed { at: self.time(ROUGH), what: Deed::Tell(issue) };
        let mut mishaps = vec![Mishap::Forgotten { issue, nth }];
        mishaps.extend([dies, tells].into_iter().filter(|_| self.dice.below(2) == 0));
        mishaps
    }

    /// Its work is good, and then it has to go on with what a critic or another issue asks of it.
    fn hasty_agent(&mut self) -> Vec<Mishap> {
        let (issue, how) = (self.any_issue(), TurnKind::DiesAfter { code: 4 });
        let critic = Mishap::Review { issue, nth: 1, how: ReviewKind::AsksForChanges };
        vec![Mishap::Turn { issue, nth: self.nth(2), how }, critic]
    }

    fn lost_notices(&mut self) -> Vec<Mishap> {
        let first = self.nth(30);
        (first..first + 12).map(|nth| Mishap::Notice { nth, how: NoticeFault::Lost }).collect()
    }

    fn broken_ci(&mut self) -> Vec<Mishap> {
        let first = self.nth(8);
        (first..first + 4).map(|nth| Mishap::Build { nth, how: BuildKind::Breaks }).collect()
    }

    fn deed(&mut self) -> Mishap {
        let issue = self.any_issue();
        let what = match self.dice.below(5) {
            0 => Deed::Tell(issue),
            1 => Deed::Retry(issue),
            2 => Deed::Edit(issue),
            3 => Deed::Pause,
            _ => return Mishap::Silence { issue },
        };
        Mishap::Deed { at: self.time(ROUGH), what }
    }

    fn ending(&mut self) -> Mishap {
        let issue = self.any_issue();
        let what = match self.dice.below(3) {
            0 => Deed::Abandon(issue),
            1 => Deed::LabelAbandon(issue),
            _ => Deed::Close(issue),
        };
        Mishap::Deed { at: self.time(ROUGH), what }
    }

    fn push(&mut self) -> Mishap {
        let what = match self.dice.below(9) {
            0..=3 => Deed::Push(PushKind::Own),
            4 => Deed::Push(PushKind::Shared),
            5 => Deed::Push(PushKind::Breaking),
            6 => Deed::Push(PushKind::Branch),
            _ => Deed::ResetMain,
        };
        Mishap::Deed { at: self.time(ROUGH), what }
    }
}
