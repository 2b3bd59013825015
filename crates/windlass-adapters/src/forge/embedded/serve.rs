//! The forge's trait on the tables: each call is one snapshot or one transaction.

use windlass_core::forge::{Change, Comment, Issue, Review, Status, StatusState};
use windlass_core::id::{ChangeNumber, EffectKey, IssueNumber, Sha};
use windlass_core::time::Millis;

use super::{EmbeddedForge, changes, comments, issues, labels, reviews, statuses};
use crate::forge::{
    ChangeFilter, Cursor, Forge, ForgeError, IssueQuery, NewChange, NewIssue, NewReview, Page,
};

const ALWAYS: Millis = Millis(i64::MIN);

impl Forge for EmbeddedForge {
    fn issue(&self, number: IssueNumber) -> Result<Issue, ForgeError> {
        self.read("read the issue", |db| issues::read(db, number))
    }

    fn issues(&self, query: &IssueQuery, from: Option<&Cursor>) -> Result<Page<Issue>, ForgeError> {
        self.read("list the issues", |db| issues::list(db, query, from))
    }

    fn create_issue(&self, new: &NewIssue, now: Millis) -> Result<Issue, ForgeError> {
        self.write("create the issue", |tx| issues::create(tx, new, now))
    }

    fn find_issue(&self, key: &EffectKey) -> Result<Option<Issue>, ForgeError> {
        self.read("look for the issue", |db| issues::find(db, key))
    }

    fn close_issue(&self, number: IssueNumber, now: Millis) -> Result<(), ForgeError> {
        self.write("close the issue", |tx| issues::close(tx, number, now))
    }

    fn reopen_issue(&self, number: IssueNumber, now: Millis) -> Result<(), ForgeError> {
        self.write("reopen the issue", |tx| issues::reopen(tx, number, now))
    }

    fn add_labels(&self, number: IssueNumber, names: &[&str], now: Millis) -> Result<(), ForgeError> {
        self.write("label the issue", |tx| labels::add(tx, number, names, now))
    }

    fn remove_label(&self, number: IssueNumber, name: &str, now: Millis) -> Result<(), ForgeError> {
        self.write("take the label off the issue", |tx| labels::remove(tx, number, name, now))
    }

    fn comment(
        &self,
        number: IssueNumber,
        key: &EffectKey,
        body: &str,
        now: Millis,
    ) -> Result<Comment, ForgeError> {
        let words = comments::Words { key, author: &self.author, body };
        self.write("comment on the issue", |tx| comments::add(tx, number, &words, now))
    }

    fn find_comment(&self, number: IssueNumber, key: &EffectKey) -> Result<Option<Comment>, ForgeError> {
        self.read("look for the comment", |db| comments::find(db, number, key))
    }

    fn comments(&self, number: IssueNumber, from: Option<&Cursor>) -> Result<Page<Comment>, ForgeError> {
        self.comments_since(number, ALWAYS, from)
    }

    fn comments_since(
        &self,
        number: IssueNumber,
        since: Millis,
        from: Option<&Cursor>,
    ) -> Result<Page<Comment>, ForgeError> {
        self.read("list the comments", |db| comments::list(db, number, since, from))
    }

    fn change(&self, number: ChangeNumber) -> Result<Change, ForgeError> {
        self.read("read the change", |db| changes::read(db, number))
    }

    fn changes(&self, filter: ChangeFilter, from: Option<&Cursor>) -> Result<Page<Change>, ForgeError> {
        self.read("list the changes", |db| changes::list(db, filter, from))
    }

    fn open_change(&self, new: &NewChange, now: Millis) -> Result<Change, ForgeError> {
        self.write("open the change", |tx| changes::open(tx, new, now))
    }

    fn find_change(&self, branch: &str) -> Result<Option<Change>, ForgeError> {
        self.read("look for the change", |db| changes::find(db, branch))
    }

    fn update_change_head(&self, number: ChangeNumber, head: &Sha) -> Result<(), ForgeError> {
        self.write("move the change's head", |tx| changes::move_head(tx, number, head))
    }

    fn mark_merged(&self, number: ChangeNumber, commit: &Sha) -> Result<(), ForgeError> {
        self.write("mark the change as merged", |tx| changes::merge(tx, number, commit))
    }

    fn close_change(&self, number: ChangeNumber) -> Result<(), ForgeError> {
        self.write("close the change", |tx| changes::close(tx, number))
    }

    fn post_review(&self, number: ChangeNumber, new: &NewReview, now: Millis) -> Result<Review, ForgeError> {
        self.write("review the change", |tx| reviews::post(tx, number, new, &self.author, now))
    }

    fn find_review(&self, number: ChangeNumber, key: &EffectKey) -> Result<Option<Review>, ForgeError> {
        self.read("look for the review", |db| reviews::find(db, number, key))
    }

    fn reviews(&self, number: ChangeNumber) -> Result<Vec<Review>, ForgeError> {
        self.read("list the reviews", |db| reviews::list(db, number))
    }

    fn set_status(
        &self,
        sha: &Sha,
        context: &str,
        state: StatusState,
        description: &str,
        now: Millis,
    ) -> Result<(), ForgeError> {
        let (context, description) = (context.to_owned(), description.to_owned());
        let status = Status { context, state, description, updated_at: now };
        self.write("set the status", |tx| statuses::set(tx, sha, &status))
    }

    fn statuses(&self, sha: &Sha) -> Result<Vec<Status>, ForgeError> {
        self.read("read the statuses", |db| statuses::list(db, sha))
    }
}
