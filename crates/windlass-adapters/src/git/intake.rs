//! What a person commits on the main branch of their own checkout, which is only read, reaches ours.

use std::path::Path;

use windlass_core::id::Sha;

use super::bare::BareRepo;
use super::error::GitError;
use super::names::{checkout_ref, head_ref};
use super::refs::{Expect, Swap, loose_ref};

/// How often a branch that others move at the same time is tried.
const TRIES: u32 = 5;

/// What came of a look at a person's main.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Intake {
    /// Ours holds all of theirs.
    Nothing,
    /// Ours moved on to theirs.
    Taken { commits: u64, to: Sha },
    /// Each has commits that the other lacks: a person brings them together.
    Parted(Parted),
}

/// Commits that only one of the two has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parted {
    pub theirs: u64,
    pub ours: u64,
}

impl BareRepo {
    /// Takes over what `checkout` has got on `branch` since we last looked, if nothing of ours stands against it. What was
    /// seen there is kept as `refs/windlass/checkout/<branch>`, last of all, so that who is killed looks again.
    pub fn take_in(&self, checkout: &Path, branch: &str) -> Result<Intake, GitError> {
        let (main, seen) = (head_ref(branch)?, checkout_ref(branch)?);
        // The usual case costs no process.
        let there = loose_ref(&checkout.join(".git"), &main);
        if there.is_some() && there == loose_ref(self.path(), &seen) {
            return Ok(Intake::Nothing);
        }
        let answer = self.call().args(["ls-remote", "--exit-code"]).arg(checkout).arg(&main).done()?;
        let theirs = answer.parse_sha(answer.text().split_whitespace().next().unwrap_or_default())?;
        if self.resolve(&seen)?.as_ref() == Some(&theirs) {
            return Ok(Intake::Nothing);
        }
        self.call()
            .args(["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head"])
            .arg("--no-auto-maintenance")
            .arg(checkout)
            .arg(theirs.as_str())
            .done()?;
        let intake = self.move_on(&main, branch, theirs.clone())?;
        self.set_ref(&seen, &theirs)?;
        Ok(intake)
    }

    fn move_on(&self, main: &str, branch: &str, theirs: Sha) -> Result<Intake, GitError> {
        for _ in 0..TRIES {
            let ours = self.main_tip(branch)?;
            let parted = self.apart(&ours, &theirs)?;
            match parted {
                Parted { theirs: 0, .. } => return Ok(Intake::Nothing),
                Parted { ours: 0, theirs: commits } => {
                    match self.swap(main, &theirs, Expect::At(&ours), Some("windlass: from the checkout"))? {
                        Swap::Done => return Ok(Intake::Taken { commits, to: theirs }),
                        Swap::Lost { .. } => {}
                    }
                }
                Parted { .. } => return Ok(Intake::Parted(parted)),
            }
        }
        Err(GitError::Contended { name: main.to_owned() })
    }

    /// How our main stands to the checkout's as it was last seen; `None` when it never was. No process if they are the same,
    /// and up to three.
    pub fn stands_apart(&self, branch: &str) -> Result<Option<Parted>, GitError> {
        let seen = checkout_ref(branch)?;
        let theirs =
            loose_ref(self.path(), &seen).map_or_else(|| self.resolve(&seen), |sha| Ok(Some(sha)))?;
        let Some(theirs) = theirs else { return Ok(None) };
        self.apart(&self.main_tip(branch)?, &theirs).map(Some)
    }

    fn apart(&self, ours: &Sha, theirs: &Sha) -> Result<Parted, GitError> {
        if ours == theirs {
            return Ok(Parted { theirs: 0, ours: 0 });
        }
        let range = format!("{ours}...{theirs}");
        let answer = self.call().args(["rev-list", "--left-right", "--count", &range]).done()?;
        let text = answer.text();
        let mut counts = text.split_whitespace().map(str::parse::<u64>);
        match (counts.next(), counts.next()) {
            (Some(Ok(ours)), Some(Ok(theirs))) => Ok(Parted { theirs, ours }),
            (_, _) => Err(answer.unusable("two counts were expected")),
        }
    }
}
