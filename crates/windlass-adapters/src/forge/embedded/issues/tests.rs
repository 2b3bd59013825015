//! A page costs what is on it, however many issues there are: read from SQLite's own plan, not from a watch.

use std::path::Path;

use super::*;

fn plan(query: &IssueQuery) -> String {
    let mut connection = Connection::open_in_memory().unwrap();
    migrate::migrate(&mut connection, migrate::STEPS, Path::new("forge.db")).unwrap();
    let (sql, values) = listing(query, Some(Place { updated: 5, number: 5 }));
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let lines = statement.query_map(params_from_iter(values), |row| row.get::<_, String>(3)).unwrap();
    lines.map(Result::unwrap).take_while(|line| !line.contains("SUBQUERY")).collect::<Vec<_>>().join("; ")
}

#[test]
fn every_question_has_an_index_that_is_already_in_order() {
    let open = IssueQuery { filter: IssueFilter::Open, ..IssueQuery::default() };
    let labelled = IssueQuery { labels: vec!["backlog".into()], ..open.clone() };
    let updated = IssueQuery { updated_since: Some(Millis(5)), ..IssueQuery::default() };
    for (query, expected) in [
        (&IssueQuery::default(), "SEARCH i USING INTEGER PRIMARY KEY (rowid>?)"),
        (&open, "SEARCH i USING INDEX forge_issue_open (number>?)"),
        (&labelled, "SEARCH i USING INTEGER PRIMARY KEY (rowid=?)"),
        (&updated, "SEARCH i USING INDEX forge_issue_updated (updated_at>?)"),
    ] {
        assert_eq!(plan(query), expected, "{query:?}");
    }
}
