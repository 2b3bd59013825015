//! What a simulated run is made of: issues that come, and everything that goes wrong or is done by people.
//!
//! Without mishaps the world is a good one. Each mishap can be taken out alone, which is how a failing run is shrunk.

use windlass_core::id::IssueNumber;

/// Milliseconds of the world's own time, which never jumps.
pub type Tick = i64;

pub const SECOND: Tick = 1_000;
pub const MINUTE: Tick = 60 * SECOND;
pub const HOUR: Tick = 60 * MINUTE;

#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub seed: u64,
    /// Tasks that may hold a slot at once.
    pub parallel: u32,
    /// Builds that may run at once.
    pub slots: u32,
    pub issues: Vec<IssuePlan>,
    pub mishaps: Vec<Mishap>,
    /// Between two looks at all sessions.
    pub heartbeat: Tick,
    /// From here on nothing goes wrong any more.
    pub calm: Tick,
}

#[derive(Debug, Clone, PartialEq)]
pub struct IssuePlan {
    pub number: IssueNumber,
    pub at: Tick,
    pub labels: Vec<String>,
    pub depends_on: Vec<IssueNumber>,
    /// Its work also touches a file that others touch.
    pub shared: bool,
    /// Its work breaks a test together with the other half.
    pub half: Option<Half>,
}

/// Two changes that pass alone and fail together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Half {
    Left,
    Right,
}

/// One thing that goes wrong, or that a person does. `nth` counts from 1 over the whole run.
#[derive(Debug, Clone, PartialEq)]
pub enum Mishap {
    Crash(CrashPoint),
    /// A second daemon is started while the first lives.
    Second {
        at: Tick,
    },
    /// The daemon is stopped in its tracks and loses its lock; another takes over, then the first goes on.
    TakeOver {
        at: Tick,
        back: Tick,
    },
    /// The disk takes so many pages more, until the daemon has waited so often.
    DiskFull {
        at: Tick,
        pages: u32,
        waits: u32,
    },
    /// The machine slept, or somebody set its clock.
    Clock {
        at: Tick,
        by: Tick,
    },
    /// The forge answers nobody.
    Outage {
        at: Tick,
        length: Tick,
    },
    Effect {
        nth: u32,
        how: EffectFault,
    },
    Read {
        nth: u32,
        how: ReadFault,
    },
    Link {
        nth: u32,
        how: LinkFault,
    },
    /// A wake-up that does not come, or comes twice.
    Notice {
        nth: u32,
        how: NoticeFault,
    },
    Turn {
        issue: IssueNumber,
        nth: u32,
        how: TurnKind,
    },
    Review {
        issue: IssueNumber,
        nth: u32,
        how: ReviewKind,
    },
    Build {
        nth: u32,
        how: BuildKind,
    },
    /// A program that is to go on with a conversation of the issue knows nothing of it.
    Forgotten {
        issue: IssueNumber,
        nth: u32,
    },
    Deed {
        at: Tick,
        what: Deed,
    },
    /// Nobody answers this issue's questions.
    Silence {
        issue: IssueNumber,
    },
}

/// Where the daemon is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrashPoint {
    BeforeCommit(u32),
    AfterCommit(u32),
    /// The intent is written and nothing was done.
    BeforeEffect(u32),
    /// In the middle of an effect of several steps.
    InEffect {
        nth: u32,
        step: u32,
    },
    /// It was done, and nobody wrote it down.
    AfterEffect(u32),
    At(Tick),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffectFault {
    /// Nothing was done, and the answer says so.
    Failed,
    /// It was done, and the answer was lost.
    AnswerLost,
    /// It takes this long.
    Hangs(Tick),
    /// Only a person can help.
    Refused,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadFault {
    Failed,
    /// The page shows the forge as it was then.
    Stale(Tick),
    Hangs(Tick),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkFault {
    Failed,
    Hangs(Tick),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeFault {
    Lost,
    Twice,
    Late(Tick),
}

/// What an agent does in one turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnKind {
    /// Commits work that passes and asks for CI.
    Good,
    /// Commits work that breaks a test.
    Bad,
    /// Says it is done, and committed nothing.
    Lie,
    /// Stops without a word.
    Silent,
    /// Writes a signal that nobody understands.
    Mumble,
    /// Its program ends with an error, after it committed something or before.
    Dies {
        code: i32,
        worked: bool,
    },
    /// Commits work, asks for CI, and its program ends with an error at once.
    DiesAfter {
        code: i32,
    },
    /// It is killed, and nobody writes down how.
    Vanishes,
    /// Lives on and does nothing.
    Hangs,
    Asks,
    Refuses,
    GivesUp,
    /// Uses more money than there is.
    Spends,
    /// Goes on after its signal, commits more and signals again.
    GoesOn,
    /// Throws the history of its branch away.
    Rewrites,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewKind {
    Approves,
    AsksForChanges,
    Blocks,
    SaysNothing,
    Dies,
    Hangs,
    /// Its provider is too busy.
    IsLimited,
    /// Its report is about the head before, or about one that never was.
    OldHead,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuildKind {
    /// As its content says.
    Honest,
    /// Red without a reason.
    Flakes,
    /// Could not run.
    Breaks,
    /// Ends, but nobody is told for so long.
    EndsUnheard(Tick),
    /// Never runs; nobody is told for so long.
    NeverStarts(Tick),
    /// Its process is killed and leaves nothing.
    Dies,
}

/// What a person does. Somebody may push to main.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    Tell(IssueNumber),
    Retry(IssueNumber),
    Abandon(IssueNumber),
    LabelAbandon(IssueNumber),
    Close(IssueNumber),
    Edit(IssueNumber),
    Pause,
    Resume,
    Push(PushKind),
    /// Main is set back to the commit before.
    ResetMain,
    /// Main's tests pass again.
    MendMain,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushKind {
    /// A file of his own.
    Own,
    /// A file that changes touch.
    Shared,
    /// What breaks main's tests.
    Breaking,
    /// A branch of ours, merged by hand.
    Branch,
}
