//! The one thread that writes. Everything that waits when it gets the lock goes to the disk in one commit.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use rusqlite::{Connection, OptionalExtension};
use windlass_core::bugs::{self, Bug};
use windlass_core::command::Command;
use windlass_core::crash;
use windlass_core::time::Millis;

use super::{LEASE, apply, cell, events, people};
use crate::error::{StoreError, fault};
use crate::write::Write;

/// So that a stream of writers cannot keep the first one waiting for ever.
const GROUP: usize = 256;

#[derive(Debug)]
pub(super) struct Writer {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
pub(super) enum Work {
    /// Answered with the newest event's number.
    Commit(Write),
    /// Answered with the command's number.
    Post { command: Command, by: String, at: Millis },
}

#[derive(Debug)]
struct Job {
    work: Work,
    answer: Sender<Result<i64, StoreError>>,
}

impl Writer {
    pub(super) fn start(conn: Connection, epoch: u64) -> Result<Self, StoreError> {
        let path = conn.path().unwrap_or_default().into();
        let (jobs, inbox) = channel();
        let thread = std::thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || serve(&conn, epoch, &inbox))
            .map_err(|source| StoreError::Io {
                tried: "start the writer of",
                path,
                source: Arc::new(source),
            })?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Returns when the work is on the disk, or refused.
    pub(super) fn submit(&self, work: Work) -> Result<i64, StoreError> {
        let (answer, answered) = channel();
        let jobs = self.jobs.as_ref().ok_or(StoreError::Stopped)?;
        jobs.send(Job { work, answer }).map_err(|_| StoreError::Stopped)?;
        answered.recv().map_err(|_| StoreError::Stopped)?
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            // A writer that panicked has told so to everyone who waited.
            drop(thread.join());
        }
    }
}

/// For a connection that has no thread of its own.
pub(super) fn write_now(conn: &Connection, epoch: Option<u64>, work: Work) -> Result<i64, StoreError> {
    let (answer, answered) = channel();
    write_group(conn, epoch, Job { work, answer }, std::iter::empty());
    answered.recv().map_err(|_| StoreError::Stopped)?
}

fn serve(conn: &Connection, epoch: u64, inbox: &Receiver<Job>) {
    while let Ok(first) = inbox.recv() {
        write_group(conn, Some(epoch), first, inbox.try_iter());
    }
}

// Who comes while we wait for the lock still joins the group.
fn write_group(conn: &Connection, epoch: Option<u64>, first: Job, others: impl Iterator<Item = Job>) {
    // What a panic may have left open belongs to nobody.
    roll_back(conn);
    if let Err(error) = begin(conn, epoch) {
        roll_back(conn);
        return answer_all(vec![first], &error);
    }
    let jobs: Vec<Job> = std::iter::once(first).chain(others.take(GROUP - 1)).collect();
    let mut answers = Vec::with_capacity(jobs.len());
    for job in &jobs {
        let answer = apart(conn, epoch, &job.work);
        // A full disk takes the whole transaction with it, and so the work of those who went before.
        if let (true, Err(error)) = (conn.is_autocommit(), &answer) {
            return answer_all(jobs, &error.clone());
        }
        answers.push(answer);
    }
    crash::before_commit(|| marks::of(&jobs));
    if let Err(error) = word(conn, "COMMIT") {
        let error = fault(conn, "commit")(error);
        roll_back(conn);
        return answer_all(jobs, &error);
    }
    crash::after_commit(|| marks::of(&jobs));
    for (job, answer) in jobs.into_iter().zip(answers) {
        tell(job, answer);
    }
}

/// A word without holes, parsed once for all transactions.
fn word(conn: &Connection, sql: &str) -> rusqlite::Result<()> {
    conn.prepare_cached(sql)?.execute([]).map(|_| ())
}

fn begin(conn: &Connection, epoch: Option<u64>) -> Result<(), StoreError> {
    word(conn, "BEGIN IMMEDIATE").map_err(fault(conn, "begin to write"))?;
    must_lead(conn, epoch)
}

/// Whether nobody else has taken over since.
pub(super) fn must_lead(conn: &Connection, epoch: Option<u64>) -> Result<(), StoreError> {
    let Some(ours) = epoch else { return Ok(()) };
    let found = conn
        .prepare_cached("SELECT epoch FROM lease WHERE name = ?1")
        .and_then(|mut statement| statement.query_row([LEASE], |row| cell::read_number(row, 0)).optional())
        .map_err(fault(conn, "read the lease"))?
        .unwrap_or(0);
    if found == ours || bugs::is(Bug::NoFence) { Ok(()) } else { Err(StoreError::Fenced { ours, found }) }
}

/// In a savepoint: a refused work leaves the others of its group alone.
fn apart(conn: &Connection, epoch: Option<u64>, work: &Work) -> Result<i64, StoreError> {
    word(conn, "SAVEPOINT job").map_err(fault(conn, "begin to write"))?;
    let done = carry_out(conn, epoch, work);
    if conn.is_autocommit() {
        return done;
    }
    let undone = if done.is_ok() { Ok(()) } else { word(conn, "ROLLBACK TO job") };
    let ended = undone.and_then(|()| word(conn, "RELEASE job")).map_err(fault(conn, "end a write"));
    done.and_then(|answer| ended.map(|()| answer))
}

fn carry_out(conn: &Connection, epoch: Option<u64>, work: &Work) -> Result<i64, StoreError> {
    match work {
        Work::Commit(write) => {
            for op in write.ops.iter() {
                apply::apply(conn, epoch.unwrap_or(0), op)?;
            }
            events::last_seq(conn).map_err(fault(conn, "read the last event's number"))
        }
        Work::Post { command, by, at } => people::post(conn, command, by, *at),
    }
}

fn roll_back(conn: &Connection) {
    if !conn.is_autocommit() {
        // What cannot be rolled back now is rolled back by SQLite when it next opens the file.
        drop(conn.execute_batch("ROLLBACK"));
    }
}

fn answer_all(jobs: Vec<Job>, error: &StoreError) {
    for job in jobs {
        tell(job, Err(error.clone()));
    }
}

fn tell(job: Job, answer: Result<i64, StoreError>) {
    // Whoever asked waits for it; if not, nobody is left to tell.
    drop(job.answer.send(answer));
}

mod marks;
#[cfg(test)]
mod tests;
