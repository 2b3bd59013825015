//! The tables keep what is in them from one version to the next.

use std::path::Path;

use super::*;

const MORE: &str = "ALTER TABLE forge_issue ADD COLUMN weight INTEGER NOT NULL DEFAULT 3;";

fn filled() -> Connection {
    let mut connection = Connection::open_in_memory().unwrap();
    migrate(&mut connection, STEPS, Path::new("forge.db")).unwrap();
    let tx = connection.transaction().unwrap();
    for _ in 0..3 {
        let number = next_number(&tx).unwrap();
        tx.execute(
            "INSERT INTO forge_issue (number, title, author, created_at, updated_at, body)
             VALUES (?1, 'title', 'ann', 1, 1, 'body')",
            [number],
        )
        .unwrap();
    }
    tx.commit().unwrap();
    connection
}

fn count(connection: &Connection, sql: &str) -> i64 {
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn a_new_step_runs_once_and_keeps_the_rows() {
    let mut connection = filled();
    let steps: Vec<&str> = STEPS.iter().copied().chain([MORE]).collect();
    for _ in 0..2 {
        migrate(&mut connection, &steps, Path::new("forge.db")).unwrap();
    }
    assert_eq!(count(&connection, "SELECT SUM(weight) FROM forge_issue"), 9);
    assert_eq!(version(&connection).unwrap(), Some(i64::try_from(steps.len()).unwrap()));
    let tx = connection.transaction().unwrap();
    assert_eq!(next_number(&tx).unwrap(), 4);
}

#[test]
fn a_step_that_fails_half_way_leaves_everything_as_it_was() {
    let mut connection = filled();
    let steps: Vec<&str> = STEPS.iter().copied().chain([MORE, "ALTER TABLE nowhere ADD COLUMN x"]).collect();
    let failed = migrate(&mut connection, &steps, Path::new("forge.db"));
    assert!(matches!(failed, Err(OpenError::Migrate { version: 3, .. })), "{failed:?}");
    assert_eq!(version(&connection).unwrap(), Some(1));
    let columns = "SELECT COUNT(*) FROM pragma_table_info('forge_issue') WHERE name = 'weight'";
    assert_eq!(count(&connection, columns), 0);
    assert_eq!(count(&connection, "SELECT COUNT(*) FROM forge_issue"), 3);
}

#[test]
fn tables_of_a_newer_program_are_refused_untouched() {
    let mut connection = filled();
    connection.execute("UPDATE forge_meta SET version = 99", []).unwrap();
    let refused = migrate(&mut connection, STEPS, Path::new("forge.db")).unwrap_err();
    assert!(matches!(refused, OpenError::TooNew { found: 99, known: 1, .. }), "{refused:?}");
    assert_eq!(
        refused.to_string(),
        "the forge in `forge.db` has version 99, and this program knows versions up to 1"
    );
    assert_eq!(version(&connection).unwrap(), Some(99));
}
