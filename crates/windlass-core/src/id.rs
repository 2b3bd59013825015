//! A type for each name, parsed once where the text comes in.

use serde::{Deserialize, Serialize};

/// A forge's number of an issue.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct IssueNumber(pub u64);

/// A forge's number of a change (pull request).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct ChangeNumber(pub u64);

/// A git object id: 40 or 64 lower-case hex digits.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct Sha(String);

/// The n-th task of an issue: `12.1`. One issue has at most one live task.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct TaskId(String);

/// One agent conversation: `dev-12.1-1`, `review-12.1-2`. Also the identity's name and its folder.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct SessionId(String);

/// One CI run of one commit: `b-<tree prefix>-<attempt>`.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct BuildId(String);

/// The one name of an outward act; doing it again under the same key changes nothing.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct EffectKey(String);

/// What decides a build besides the tree: a hash over command, limits and environment.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct Recipe(pub String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a git object id")]
pub struct BadSha(String);

impl Sha {
    pub fn parse(text: &str) -> Result<Self, BadSha> {
        let hex = text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if hex && (text.len() == 40 || text.len() == 64) {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadSha(text.chars().take(80).collect()))
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first ten digits, for people.
    pub fn short(&self) -> &str {
        &self.0[..10]
    }
}

impl TryFrom<String> for Sha {
    type Error = BadSha;

    fn try_from(text: String) -> Result<Self, BadSha> {
        Self::parse(&text)
    }
}

impl From<Sha> for String {
    fn from(sha: Sha) -> Self {
        sha.0
    }
}

impl TaskId {
    pub fn nth(issue: IssueNumber, nth: u32) -> Self {
        Self(format!("{}.{nth}", issue.0))
    }

    /// For ids that come back from the store.
    pub fn stored(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The issue that the id names.
    pub fn issue(&self) -> Option<IssueNumber> {
        self.parts().map(|(issue, _)| issue)
    }

    /// The issue, and the how-manieth of its tasks this is.
    pub fn parts(&self) -> Option<(IssueNumber, u32)> {
        let (issue, nth) = self.0.split_once('.')?;
        Some((IssueNumber(issue.parse().ok()?), nth.parse().ok()?))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl SessionId {
    pub fn dev(task: &TaskId, nth: u32) -> Self {
        Self(format!("dev-{}-{nth}", task.0))
    }

    pub fn review(task: &TaskId, nth: u32) -> Self {
        Self(format!("review-{}-{nth}", task.0))
    }

    pub fn stored(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl BuildId {
    pub fn nth(tree: &Sha, recipe: &Recipe, nth: u32) -> Self {
        let recipe: String = recipe.0.chars().take(8).collect();
        Self(format!("b-{}-{recipe}-{nth}", tree.short()))
    }

    pub fn stored(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl EffectKey {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

macro_rules! shown_as_text {
    ($($name:ident),*) => {$(
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}
shown_as_text!(Sha, TaskId, SessionId, BuildId, EffectKey, Recipe);

impl std::fmt::Display for IssueNumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "#{}", self.0)
    }
}

impl std::fmt::Display for ChangeNumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "!{}", self.0)
    }
}
