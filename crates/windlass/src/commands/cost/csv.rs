//! The rows of `cost` as RFC 4180 has them, for spreadsheets.

use crate::view::{Cost, CostLine};

/// A heading, a line for each row and one for all, as in the table; lines end with CR and LF.
pub fn of(view: &Cost) -> String {
    let heading = [
        view.by,
        "title",
        "turns",
        "input",
        "cache_write",
        "cache_read",
        "output",
        "cache_hit_percent",
        "cost_micro_usd",
        "vs_first_percent",
    ];
    let total = CostLine { key: "all".into(), ..view.total.clone() };
    let rows = view.rows.iter().chain([&total]).map(|line| record(&row(line)));
    [record(&heading.map(str::to_owned))].into_iter().chain(rows).collect()
}

fn row(line: &CostLine) -> [String; 10] {
    let or_empty = |number: Option<String>| number.unwrap_or_default();
    [
        line.key.clone(),
        line.title.clone().unwrap_or_default(),
        line.turns.to_string(),
        line.input.to_string(),
        line.cache_write.to_string(),
        line.cache_read.to_string(),
        line.output.to_string(),
        or_empty(line.cache_hit_percent.map(|percent| percent.to_string())),
        line.cost_micro_usd.to_string(),
        or_empty(line.vs_first_percent.map(|percent| percent.to_string())),
    ]
}

fn record(fields: &[String]) -> String {
    let fields: Vec<String> = fields.iter().map(|field| quoted(field)).collect();
    format!("{}\r\n", fields.join(","))
}

fn quoted(field: &str) -> String {
    if field.contains(['"', ',', '\r', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_break_a_line_is_quoted() {
        let line = |key: &str, title: &str| CostLine {
            key: key.into(),
            title: Some(title.into()),
            cost_micro_usd: 7,
            vs_first_percent: Some(-50),
            ..CostLine::default()
        };
        let rows = vec![line("#1", "plain"), line("#2", "a, \"b\"\r\nc")];
        let text =
            of(&Cost::new("issue", None, rows, CostLine { cost_micro_usd: 14, ..CostLine::default() }));
        let (heading, rest) = text.split_once("\r\n").unwrap();
        assert!(heading.starts_with("issue,title,turns,"), "{heading}");
        assert_eq!(
            rest,
            "#1,plain,0,0,0,0,0,,7,-50\r\n#2,\"a, \"\"b\"\"\r\nc\",0,0,0,0,0,,7,-50\r\nall,,0,0,0,0,0,,14,\r\n"
        );
    }
}
