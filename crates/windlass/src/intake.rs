//! What a person commits on main in their checkout reaches the factory's main, and what does not is said.

use std::path::PathBuf;

use windlass_adapters::git::{BareRepo, Git, GitError, Intake, Parted};

use crate::project::Project;
use crate::text::counted;

/// The two mains that belong together.
#[derive(Debug, Clone)]
pub struct Mains {
    git: Git,
    ours: PathBuf,
    checkout: PathBuf,
    branch: String,
}

/// The checkout lacks what has landed.
#[derive(Debug, Clone)]
pub struct Apart {
    /// Whether a person's own commits wait for the two to be joined.
    pub waits: bool,
    pub says: String,
    /// The command that joins them.
    pub pull: String,
}

impl Mains {
    pub fn of(project: &Project) -> Self {
        Self {
            git: Git::new(project.search_path()),
            ours: project.layout.repository(),
            checkout: project.root.clone(),
            branch: project.sources.branch.clone(),
        }
    }

    /// Takes over what the checkout has beyond us. What a person should hear of it, if anything; the error is what they
    /// should hear when git has not answered.
    pub fn take(&self) -> Result<Option<String>, String> {
        let taken = BareRepo::open(&self.git, &self.ours)
            .and_then(|repo| repo.take_in(&self.checkout, &self.branch))
            .map_err(|error| {
                format!("your {} cannot be read, the factory goes on with its own: {error}", self.branch)
            })?;
        Ok(match taken {
            Intake::Nothing => None,
            Intake::Taken { commits, to } => {
                let commits = number(commits, "commit is", "commits are");
                Some(format!("of your {}, {commits} taken over, up to {}", self.branch, to.short()))
            }
            Intake::Parted(parted) => Some(format!("{}: {}", self.sentence(parted), self.pull())),
        })
    }

    /// How the two stood to each other when we last looked, where a person has something to do about it.
    pub fn apart(&self) -> Result<Option<Apart>, GitError> {
        let parted = BareRepo::open(&self.git, &self.ours)?.stands_apart(&self.branch)?;
        let apart = |parted: Parted| Apart {
            waits: parted.theirs > 0,
            says: self.sentence(parted),
            pull: self.pull(),
        };
        Ok(parted.filter(|parted| parted.ours > 0).map(apart))
    }

    fn sentence(&self, Parted { theirs, ours }: Parted) -> String {
        let branch = &self.branch;
        let landed = number(ours, "commit that has", "commits that have");
        if theirs == 0 {
            return format!("your {branch} lacks {landed} landed");
        }
        format!("your {branch} lacks {landed} landed, and {theirs} of yours wait to be joined with them")
    }

    fn pull(&self) -> String {
        format!("git pull --no-rebase '{}' {}", self.ours.display(), self.branch)
    }
}

fn number(n: u64, one: &str, many: &str) -> String {
    counted(usize::try_from(n).unwrap_or(usize::MAX), one, many)
}
