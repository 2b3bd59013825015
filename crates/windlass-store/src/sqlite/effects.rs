//! Rows of `effect`: what was ordered, and what became of it.

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use windlass_core::id::{EffectKey, TaskId};
use windlass_core::task::{Effect, Lane};
use windlass_core::time::Millis;

use super::cell::{is_taken, json, number, read_json, read_number};
use crate::error::{StoreError, fault};
use crate::rows::{EffectRecord, EffectStatus, PendingEffect};

const COLUMNS: &str =
    "seq, key, owner, args, attempt, not_before, error, epoch, created_at, status, result, ended_at";

/// An order as it is handed in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Order<'a> {
    pub key: &'a EffectKey,
    pub owner: Option<&'a TaskId>,
    pub effect: &'a Effect,
    pub not_before: Millis,
    pub at: Millis,
}

pub(super) fn intend(conn: &Connection, epoch: u64, order: Order<'_>) -> Result<(), StoreError> {
    let done = conn
        .prepare_cached(
            "INSERT INTO effect (key, owner, lane, kind, args, status, attempt, not_before, epoch, created_at)
             VALUES (?1, ?2, ?3, ?4, ?5, 'intent', 0, ?6, ?7, ?8)",
        )
        .and_then(|mut statement| {
            statement.execute(params![
                order.key.as_str(),
                order.owner.map(TaskId::as_str),
                word(order.effect.lane()),
                order.effect.name(),
                json(order.effect),
                order.not_before.0,
                number(epoch),
                order.at.0
            ])
        });
    match done {
        Ok(_) => Ok(()),
        Err(error) if is_taken(&error) => {
            Err(StoreError::Duplicate { what: "effect", key: order.key.to_string() })
        }
        Err(error) => Err(fault(conn, "order an effect")(error)),
    }
}

pub(super) fn done(
    conn: &Connection,
    key: &EffectKey,
    result: &serde_json::Value,
    at: Millis,
) -> Result<(), StoreError> {
    change(
        conn,
        key,
        "UPDATE effect SET status = 'done', result = ?2, ended_at = ?3 WHERE key = ?1 AND status = 'intent'",
        params![key.as_str(), json(result), at.0],
    )
}

pub(super) fn retry(
    conn: &Connection,
    key: &EffectKey,
    not_before: Millis,
    error: &str,
) -> Result<(), StoreError> {
    change(
        conn,
        key,
        "UPDATE effect SET attempt = attempt + 1, not_before = ?2, error = ?3 WHERE key = ?1 AND status = 'intent'",
        params![key.as_str(), not_before.0, error],
    )
}

pub(super) fn failed(conn: &Connection, key: &EffectKey, error: &str, at: Millis) -> Result<(), StoreError> {
    change(
        conn,
        key,
        "UPDATE effect SET status = 'failed', attempt = attempt + 1, error = ?2, ended_at = ?3
         WHERE key = ?1 AND status = 'intent'",
        params![key.as_str(), error, at.0],
    )
}

pub(super) fn cancel(conn: &Connection, owner: &TaskId, at: Millis) -> Result<(), StoreError> {
    let cancel = || {
        let waiting = format!("SELECT {COLUMNS} FROM effect WHERE owner = ?1 AND status = 'intent'");
        let mut waiting = conn.prepare_cached(&waiting)?;
        let waiting: rusqlite::Result<Vec<_>> = waiting.query_map([owner.as_str()], read_order)?.collect();
        let mut void =
            conn.prepare_cached("UPDATE effect SET status = 'cancelled', ended_at = ?2 WHERE key = ?1")?;
        for order in waiting?.iter().filter(|order| order.effect.ends_with_task()) {
            void.execute(params![order.key.as_str(), at.0])?;
        }
        Ok(())
    };
    cancel().map_err(fault(conn, "cancel effects"))
}

fn change(conn: &Connection, key: &EffectKey, sql: &str, holes: impl Params) -> Result<(), StoreError> {
    let rows = conn
        .prepare_cached(sql)
        .and_then(|mut statement| statement.execute(holes))
        .map_err(fault(conn, "record what became of an effect"))?;
    if rows == 0 { Err(StoreError::NotPending { key: key.clone() }) } else { Ok(()) }
}

pub(super) fn pending(conn: &Connection) -> rusqlite::Result<Vec<PendingEffect>> {
    conn.prepare_cached(&format!("SELECT {COLUMNS} FROM effect WHERE status = 'intent' ORDER BY seq"))?
        .query_map([], read_order)?
        .collect()
}

pub(super) fn by_key(conn: &Connection, key: &EffectKey) -> rusqlite::Result<Option<EffectRecord>> {
    conn.prepare_cached(&format!("SELECT {COLUMNS} FROM effect WHERE key = ?1"))?
        .query_row([key.as_str()], |row| {
            Ok(EffectRecord { order: read_order(row)?, status: read_status(row)? })
        })
        .optional()
}

fn read_order(row: &Row<'_>) -> rusqlite::Result<PendingEffect> {
    let effect: Effect = read_json(row, 3)?;
    Ok(PendingEffect {
        seq: row.get(0)?,
        key: EffectKey::new(row.get::<_, String>(1)?),
        owner: row.get::<_, Option<String>>(2)?.map(TaskId::stored),
        lane: effect.lane(),
        effect,
        attempt: row.get(4)?,
        not_before: Millis(row.get(5)?),
        error: row.get(6)?,
        epoch: read_number(row, 7)?,
        created_at: Millis(row.get(8)?),
    })
}

fn read_status(row: &Row<'_>) -> rusqlite::Result<EffectStatus> {
    let ended = || row.get(11).map(Millis);
    match row.get_ref(9)?.as_str()? {
        "intent" => Ok(EffectStatus::Intent),
        "done" => Ok(EffectStatus::Done { result: read_json(row, 10)?, at: ended()? }),
        "failed" => Ok(EffectStatus::Failed { error: row.get(6)?, at: ended()? }),
        "cancelled" => Ok(EffectStatus::Cancelled { at: ended()? }),
        other => {
            let what = format!("`{other}` is not a status of an effect").into();
            Err(rusqlite::Error::FromSqlConversionFailure(9, Type::Text, what))
        }
    }
}

fn word(lane: Lane) -> &'static str {
    match lane {
        Lane::Work => "work",
        Lane::Notes => "notes",
    }
}
