//! Labels of issues: ids inside, names outside.

use rusqlite::Transaction;
use windlass_core::id::IssueNumber;
use windlass_core::time::Millis;

use super::fault::Fault;
use super::{cell, issues, text};

pub(super) fn add(
    tx: &Transaction<'_>,
    issue: IssueNumber,
    names: &[&str],
    now: Millis,
) -> Result<(), Fault> {
    issues::must_exist(tx, issue)?;
    if attach(tx, issue, names)? > 0 {
        issues::touch(tx, issue, now)?;
    }
    Ok(())
}

pub(super) fn remove(tx: &Transaction<'_>, issue: IssueNumber, name: &str, now: Millis) -> Result<(), Fault> {
    issues::must_exist(tx, issue)?;
    let removed = tx.execute(
        "DELETE FROM forge_issue_label
         WHERE issue = ?1 AND label = (SELECT id FROM forge_label WHERE name = ?2)",
        (cell::number(issue.0), name),
    )?;
    if removed > 0 {
        issues::touch(tx, issue, now)?;
    }
    Ok(())
}

/// How many of the names the issue did not have yet.
pub(super) fn attach(tx: &Transaction<'_>, issue: IssueNumber, names: &[&str]) -> Result<usize, Fault> {
    let mut added = 0;
    for name in names {
        let name = text::label(name)?;
        tx.execute("INSERT INTO forge_label (name) VALUES (?1) ON CONFLICT DO NOTHING", [name])?;
        added += tx.execute(
            "INSERT INTO forge_issue_label (issue, label)
             SELECT ?1, id FROM forge_label WHERE name = ?2 ON CONFLICT DO NOTHING",
            (cell::number(issue.0), name),
        )?;
    }
    Ok(added)
}
