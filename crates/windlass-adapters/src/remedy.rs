//! What to do about an error of the outside world.

/// The answer an adapter's error gives to its caller. There is no retry inside an adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// The same call may well succeed later.
    TryAgain,
    /// Nothing changes until a person looks at it.
    AskHuman,
}
