//! Deliberate bugs: each breaks one decision, to show that the proof sees it. Without the feature `deliberate-bugs`
//! none of them exists, and no shipped program has the feature.

/// One wrong decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bug {
    /// A second daemon is let in while the first lives.
    NoLease,
    /// A daemon that was replaced may write.
    NoFence,
    /// An effect counts as done before it is begun.
    RecordBeforeEffect,
    /// A build that could not run counts as red.
    InfraCountsAsFail,
    /// Who came last gets the next slot.
    NewestFirst,
    /// A report on another head counts.
    StaleVerdict,
    /// An error of the forge is read as: nothing is new.
    ErrorReadAsEmpty,
    /// Tasks that wait for a person still count against the slots.
    ForgottenSlot,
    /// An issue with a live task is taken again.
    DoubleDispatch,
    /// A question is asked and nobody is told.
    LostEscalation,
    /// After a restart nothing is left of the effects that were under way.
    NoRecovery,
    /// A workspace goes before its session has ended.
    RemovalBeforeStop,
    /// A workspace goes and nothing of it is saved.
    RemovalWithoutSaving,
    /// What main holds already is not settled.
    NoContainment,
    /// What is being tested lands before its test has ended.
    LandWithoutVerdict,
    /// The critic's rounds are not counted.
    UncountedRounds,
    /// Paused is not heard by those who give slots.
    PauseIgnored,
    /// An effect that failed for good is told to nobody.
    SilentGiveUp,
    /// Nobody looks again in case a notice was lost.
    NoSecondLook,
    /// What is stopped in the queue lands all the same.
    QueuePauseIgnored,
    /// What is spent does not count.
    BudgetIgnored,
}

impl Bug {
    pub const ALL: &[Self] = &[
        Self::NoLease,
        Self::NoFence,
        Self::RecordBeforeEffect,
        Self::InfraCountsAsFail,
        Self::NewestFirst,
        Self::StaleVerdict,
        Self::ErrorReadAsEmpty,
        Self::ForgottenSlot,
        Self::DoubleDispatch,
        Self::LostEscalation,
        Self::NoRecovery,
        Self::RemovalBeforeStop,
        Self::RemovalWithoutSaving,
        Self::NoContainment,
        Self::LandWithoutVerdict,
        Self::UncountedRounds,
        Self::PauseIgnored,
        Self::SilentGiveUp,
        Self::NoSecondLook,
        Self::QueuePauseIgnored,
        Self::BudgetIgnored,
    ];
}

#[cfg(feature = "deliberate-bugs")]
thread_local! {
    static NOW: std::cell::Cell<Option<Bug>> = const { std::cell::Cell::new(None) };
}

/// Whether this thread has the bug.
#[cfg(feature = "deliberate-bugs")]
pub fn is(bug: Bug) -> bool {
    NOW.get() == Some(bug)
}

/// Nobody has it.
#[cfg(not(feature = "deliberate-bugs"))]
pub const fn is(_bug: Bug) -> bool {
    false
}

/// Runs `what` with the bug, on this thread.
#[cfg(feature = "deliberate-bugs")]
pub fn with<T>(bug: Option<Bug>, what: impl FnOnce() -> T) -> T {
    let before = NOW.replace(bug);
    let done = what();
    NOW.set(before);
    done
}
