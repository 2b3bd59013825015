//! Crash points: the moments at which the proof kills the program or breaks an effect. There are two kinds: around a
//! commit of the store, and around (or inside) an effect. Without the feature `crash-points` every call is nothing,
//! and no shipped program has the feature.

/// One thing that is under way at a point: a fact that is committed, or an effect.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// The same in every run.
    pub what: String,
    /// Tells it from others of its kind, also after a restart.
    pub key: String,
}

/// What is to go wrong with an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It fails before anything was done.
    Error,
    /// It is done, and nobody hears of it.
    AnswerLost,
}

#[cfg(feature = "crash-points")]
pub use watched::{
    Watch, after_commit, after_effect, before_commit, before_effect, ends_when_idle, install, step,
};

#[cfg(feature = "crash-points")]
mod watched {
    use std::cell::RefCell;
    use std::sync::OnceLock;

    use super::{Fault, Mark};

    /// Whoever decides what happens at a point. It may end the process.
    pub trait Watch: Send + Sync {
        fn reached(&self, place: &str, marks: &[Mark]) -> Option<Fault>;
        /// The daemon ends by itself when nothing is left to do.
        fn ends_when_idle(&self) -> bool;
    }

    static WATCH: OnceLock<Box<dyn Watch>> = OnceLock::new();

    thread_local! {
        static EFFECT: RefCell<Option<Mark>> = const { RefCell::new(None) };
    }

    /// Only the first counts.
    pub fn install(watch: Box<dyn Watch>) {
        drop(WATCH.set(watch));
    }

    pub fn ends_when_idle() -> bool {
        WATCH.get().is_some_and(|watch| watch.ends_when_idle())
    }

    pub fn before_commit(marks: impl FnOnce() -> Vec<Mark>) {
        commit("before commit", marks);
    }

    pub fn after_commit(marks: impl FnOnce() -> Vec<Mark>) {
        commit("after commit", marks);
    }

    fn commit(place: &str, marks: impl FnOnce() -> Vec<Mark>) {
        if let Some(watch) = WATCH.get() {
            watch.reached(place, &marks());
        }
    }

    /// The intent is read and nothing is done yet. Answers the error that is to be made.
    pub fn before_effect(name: &str, key: &str) -> Option<String> {
        let mark = Mark { what: name.to_owned(), key: key.to_owned() };
        EFFECT.set(Some(mark));
        match reached("before") {
            Some(Fault::Error) => Some("it was made to fail".to_owned()),
            Some(Fault::AnswerLost) | None => None,
        }
    }

    /// Inside an effect of several steps: this one is done, the next is not.
    pub fn step(name: &str) {
        reached(name);
    }

    /// The effect is done and nobody knows it yet. Answers the error that is told instead.
    pub fn after_effect() -> Option<String> {
        let fault = reached("after");
        EFFECT.set(None);
        match fault {
            Some(Fault::AnswerLost) => Some("its answer was lost".to_owned()),
            Some(Fault::Error) | None => None,
        }
    }

    fn reached(place: &str) -> Option<Fault> {
        let mark = EFFECT.with_borrow(Clone::clone)?;
        WATCH.get()?.reached(place, &[mark])
    }
}

/// Nothing without the feature; so are the others.
#[cfg(not(feature = "crash-points"))]
pub fn before_commit(_marks: impl FnOnce() -> Vec<Mark>) {}

#[cfg(not(feature = "crash-points"))]
pub fn after_commit(_marks: impl FnOnce() -> Vec<Mark>) {}

#[cfg(not(feature = "crash-points"))]
pub const fn before_effect(_name: &str, _key: &str) -> Option<String> {
    None
}

#[cfg(not(feature = "crash-points"))]
pub const fn step(_name: &str) {}

#[cfg(not(feature = "crash-points"))]
pub const fn after_effect() -> Option<String> {
    None
}

#[cfg(not(feature = "crash-points"))]
pub const fn ends_when_idle() -> bool {
    false
}
