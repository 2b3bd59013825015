//! Puts a query's conditions together, each value in a numbered hole.

use rusqlite::types::Value;

#[derive(Debug)]
pub(super) struct Filter {
    pub sql: String,
    pub holes: Vec<Value>,
}

impl Filter {
    /// Starts from a statement that has no condition yet.
    pub(super) fn new(select: &str) -> Self {
        Self { sql: format!("{select} WHERE 1"), holes: Vec::new() }
    }

    /// `clause` ends where the value comes, such as `AND seq >`.
    pub(super) fn with(mut self, clause: &str, value: impl Into<Value>) -> Self {
        self.holes.push(value.into());
        self.sql.push_str(&format!(" {clause} ?{}", self.holes.len()));
        self
    }

    pub(super) fn with_some(self, clause: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(clause, value),
            None => self,
        }
    }

    /// `column` is one of `values`; any will do if there are none.
    pub(super) fn with_any(mut self, column: &str, values: &[String]) -> Self {
        let [first, rest @ ..] = values else { return self };
        if rest.is_empty() {
            return self.with(&format!("AND {column} ="), first.clone());
        }
        let from = self.holes.len() + 1;
        self.holes.extend(values.iter().cloned().map(Value::from));
        let holes: Vec<String> = (from..=self.holes.len()).map(|n| format!("?{n}")).collect();
        // The plus keeps SQLite from an index on the column, which would sort all that matches for every page.
        self.sql.push_str(&format!(" AND +{column} IN ({})", holes.join(", ")));
        self
    }

    pub(super) fn then(mut self, text: &str) -> Self {
        self.sql.push(' ');
        self.sql.push_str(text);
        self
    }
}
