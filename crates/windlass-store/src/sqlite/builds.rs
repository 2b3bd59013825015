//! Rows of `build` and `verdict`: which trees are tested, and what is known of them.

use rusqlite::{Connection, OptionalExtension, Params, params};
use windlass_core::build::{Build, TreeVerdict};
use windlass_core::id::{BuildId, Recipe, Sha, TaskId};

use super::cell::{json, read_json};
use crate::error::{StoreError, fault};

pub(super) fn save(conn: &Connection, build: &Build) -> Result<(), StoreError> {
    conn.prepare_cached(
        "INSERT INTO build (id, tree, recipe, status, data) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (id) DO UPDATE SET tree = ?2, recipe = ?3, status = ?4, data = ?5",
    )
    .and_then(|mut statement| {
        statement.execute(params![
            build.id.as_str(),
            build.tree.as_str(),
            build.recipe.0,
            build.status.word(),
            json(build)
        ])
    })
    .map_err(fault(conn, "save a build"))?;
    Ok(())
}

pub(super) fn save_verdict(conn: &Connection, verdict: &TreeVerdict) -> Result<(), StoreError> {
    conn.prepare_cached(
        "INSERT INTO verdict (tree, recipe, data) VALUES (?1, ?2, ?3)
         ON CONFLICT (tree, recipe) DO UPDATE SET data = ?3",
    )
    .and_then(|mut statement| {
        statement.execute(params![verdict.tree.as_str(), verdict.recipe.0, json(verdict)])
    })
    .map_err(fault(conn, "save a verdict"))?;
    Ok(())
}

pub(super) fn open(conn: &Connection) -> rusqlite::Result<Vec<Build>> {
    list(conn, "WHERE status IN ('waiting', 'running') ORDER BY seq", [])
}

pub(super) fn of_task(conn: &Connection, task: &TaskId) -> rusqlite::Result<Vec<Build>> {
    list(conn, "WHERE data ->> '$.task' = ?1 ORDER BY seq DESC", [task.as_str()])
}

pub(super) fn by_id(conn: &Connection, id: &BuildId) -> rusqlite::Result<Option<Build>> {
    one(conn, "SELECT data FROM build WHERE id = ?1", [id.as_str()])
}

pub(super) fn latest(conn: &Connection, tree: &Sha, recipe: &Recipe) -> rusqlite::Result<Option<Build>> {
    one(
        conn,
        "SELECT data FROM build WHERE tree = ?1 AND recipe = ?2 ORDER BY seq DESC LIMIT 1",
        [tree.as_str(), &recipe.0],
    )
}

pub(super) fn verdict(
    conn: &Connection,
    tree: &Sha,
    recipe: &Recipe,
) -> rusqlite::Result<Option<TreeVerdict>> {
    one(conn, "SELECT data FROM verdict WHERE tree = ?1 AND recipe = ?2", [tree.as_str(), &recipe.0])
}

fn list(conn: &Connection, tail: &str, holes: impl Params) -> rusqlite::Result<Vec<Build>> {
    conn.prepare_cached(&format!("SELECT data FROM build {tail}"))?
        .query_map(holes, |row| read_json(row, 0))?
        .collect()
}

fn one<T: serde::de::DeserializeOwned>(
    conn: &Connection,
    sql: &str,
    holes: impl Params,
) -> rusqlite::Result<Option<T>> {
    conn.prepare_cached(sql)?.query_row(holes, |row| read_json(row, 0)).optional()
}
