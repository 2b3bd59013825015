//! What every forge can do: issues, comments, changes, reviews and statuses behind one trait.

mod embedded;
mod error;
mod input;
mod marker;
mod page;

pub use embedded::{Durability, EmbeddedForge, OpenError, label_is_fine};
pub use error::{ForgeError, Subject};
pub use input::{ChangeFilter, IssueFilter, IssueQuery, NewChange, NewIssue, NewReview};
pub use marker::{key_of, marked};
pub use page::{Cursor, Page, every};

use windlass_core::forge::{Change, Comment, Issue, Review, Status, StatusState};
use windlass_core::id::{ChangeNumber, EffectKey, IssueNumber, Sha};
use windlass_core::time::Millis;

/// One project's forge.
///
/// Every write may be repeated after a lost answer: either it sets something absolute, or it carries a key (or a
/// branch) under which a second call finds the first, and a `find_…` probe says whether it happened.
/// `now` is the time to store; a forge with a clock of its own may use that instead.
pub trait Forge: Send + Sync {
    fn issue(&self, number: IssueNumber) -> Result<Issue, ForgeError>;

    /// Oldest first; with `updated_since`, least recently updated first, so that an issue that changes while
    /// the pages are read is seen twice rather than never.
    fn issues(&self, query: &IssueQuery, from: Option<&Cursor>) -> Result<Page<Issue>, ForgeError>;

    /// With a key that was used before: answers the issue that was made then.
    fn create_issue(&self, new: &NewIssue, now: Millis) -> Result<Issue, ForgeError>;

    fn find_issue(&self, key: &EffectKey) -> Result<Option<Issue>, ForgeError>;

    fn close_issue(&self, number: IssueNumber, now: Millis) -> Result<(), ForgeError>;

    fn reopen_issue(&self, number: IssueNumber, now: Millis) -> Result<(), ForgeError>;

    /// Labels that the forge does not know yet are made.
    fn add_labels(&self, number: IssueNumber, names: &[&str], now: Millis) -> Result<(), ForgeError>;

    fn remove_label(&self, number: IssueNumber, name: &str, now: Millis) -> Result<(), ForgeError>;

    /// Ends the body with the key's hidden marker. With a key that was used before on this issue: answers the
    /// comment that was made then, unchanged.
    fn comment(
        &self,
        number: IssueNumber,
        key: &EffectKey,
        body: &str,
        now: Millis,
    ) -> Result<Comment, ForgeError>;

    fn find_comment(&self, number: IssueNumber, key: &EffectKey) -> Result<Option<Comment>, ForgeError>;

    /// Oldest first.
    fn comments(&self, number: IssueNumber, from: Option<&Cursor>) -> Result<Page<Comment>, ForgeError>;

    /// Comments made at `since` or later, oldest first.
    fn comments_since(
        &self,
        number: IssueNumber,
        since: Millis,
        from: Option<&Cursor>,
    ) -> Result<Page<Comment>, ForgeError>;

    fn change(&self, number: ChangeNumber) -> Result<Change, ForgeError>;

    /// Oldest first.
    fn changes(&self, filter: ChangeFilter, from: Option<&Cursor>) -> Result<Page<Change>, ForgeError>;

    /// A branch has one open change at most: a second is a `Conflict`, and `find_change` names the first.
    fn open_change(&self, new: &NewChange, now: Millis) -> Result<Change, ForgeError>;

    /// The branch's newest change in any state; while one is open, that one.
    fn find_change(&self, branch: &str) -> Result<Option<Change>, ForgeError>;

    /// Only an open change has a head that moves; for any other this is a `Conflict`.
    fn update_change_head(&self, number: ChangeNumber, head: &Sha) -> Result<(), ForgeError>;

    /// Records that `commit` brought the change to its base. The caller has proved it.
    fn mark_merged(&self, number: ChangeNumber, commit: &Sha) -> Result<(), ForgeError>;

    /// Closes without a merge; a merged change is a `Conflict`.
    fn close_change(&self, number: ChangeNumber) -> Result<(), ForgeError>;

    /// With a key that was used before on this change: answers the review that was posted then, unchanged.
    fn post_review(&self, number: ChangeNumber, new: &NewReview, now: Millis) -> Result<Review, ForgeError>;

    fn find_review(&self, number: ChangeNumber, key: &EffectKey) -> Result<Option<Review>, ForgeError>;

    /// All reviews of all heads, oldest first; each names the head that it judged.
    fn reviews(&self, number: ChangeNumber) -> Result<Vec<Review>, ForgeError>;

    /// A commit has one status for each context: the last one set.
    fn set_status(
        &self,
        sha: &Sha,
        context: &str,
        state: StatusState,
        description: &str,
        now: Millis,
    ) -> Result<(), ForgeError>;

    /// By context. Empty means that nobody has set any.
    fn statuses(&self, sha: &Sha) -> Result<Vec<Status>, ForgeError>;
}
