//! Carries out one operation: one call per arm.

use rusqlite::Connection;

use super::{builds, effects, events, people, sessions, tasks, usage};
use crate::error::StoreError;
use crate::write::Op;

pub(super) fn apply(conn: &Connection, epoch: u64, op: &Op) -> Result<(), StoreError> {
    match op {
        Op::InsertTask { task, wake_at } => tasks::insert(conn, task, *wake_at),
        Op::SaveTask { task, expected, wake_at, at } => tasks::save(conn, task, *expected, *wake_at, *at),
        Op::Log(entry) => events::append(conn, entry),
        Op::Intend { key, owner, effect, not_before, at } => {
            let order =
                effects::Order { key, owner: owner.as_ref(), effect, not_before: *not_before, at: *at };
            effects::intend(conn, epoch, order)
        }
        Op::EffectDone { key, result, at } => effects::done(conn, key, result, *at),
        Op::EffectRetry { key, not_before, error } => effects::retry(conn, key, *not_before, error),
        Op::EffectFailed { key, error, at } => effects::failed(conn, key, error, *at),
        Op::CancelEffects { owner, at } => effects::cancel(conn, owner, *at),
        Op::SaveIdentity(identity) => sessions::save_identity(conn, identity),
        Op::SaveHook(hook) => sessions::save_hook(conn, hook),
        Op::SaveBuild(build) => builds::save(conn, build),
        Op::SaveVerdict(verdict) => builds::save_verdict(conn, verdict),
        Op::AddUsage(row) => usage::add(conn, row),
        Op::AnswerCommand { id, answer, at } => people::answer(conn, *id, answer, *at),
        Op::Decide { issue, text, at } => people::decide(conn, *issue, text, *at),
        Op::SetControl { key, value } => people::set_control(conn, key, value.as_deref()),
    }
}
