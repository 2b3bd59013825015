//! How times, ages and tables look to people.

use windlass_core::time::Millis;

use crate::view::Stamp;

/// `18m04s`, counted from `at` to `now`.
pub fn age(now: Millis, at: Millis) -> String {
    now.since(at).to_string()
}

/// `in 5m00s` or `12s ago`.
pub fn from_now(now: Millis, at: Millis) -> String {
    if at > now { format!("in {}", at.since(now)) } else { format!("{} ago", now.since(at)) }
}

/// `2026-11-15 20:26:05Z`.
pub fn clock(at: Millis) -> String {
    let text = Stamp(at).to_string();
    let (day, rest) = text.split_once('T').unwrap_or((text.as_str(), ""));
    format!("{day} {}Z", rest.get(..8).unwrap_or(rest))
}

#[expect(clippy::cast_precision_loss, reason = "shown with two digits")]
pub fn dollars(micro_usd: u64) -> f64 {
    micro_usd as f64 / 1e6
}

/// Rows with their columns in line, two spaces apart. The last column is as long as it is.
pub fn table(indent: &str, rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| seen(cell)).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::from(indent);
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', width + 2 - seen(cell)));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Characters that take a place on the screen: a colour takes none.
fn seen(cell: &str) -> usize {
    let mut count = 0;
    let mut in_color = false;
    for c in cell.chars() {
        match c {
            '\u{1b}' => in_color = true,
            'm' if in_color => in_color = false,
            _ if in_color => {}
            _ => count += 1,
        }
    }
    count
}

/// A page of the repository equals what is written from the code; with UPDATE_DOCS=1 it is made so.
#[cfg(test)]
pub fn same_page(name: &str, text: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == text, "{name} is old; write it anew with UPDATE_DOCS=1");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::out::Style;

    #[test]
    fn columns_stand_in_line_with_and_without_colours() {
        let red = Style::new(true).red("b");
        let rows = [vec!["a".into(), red, "x".into()], vec!["long".into(), "bb".into(), "y".into()]];
        let plain: Vec<String> = table(" ", &rows)
            .lines()
            .map(|line| line.replace("\u{1b}[31m", "").replace("\u{1b}[0m", ""))
            .collect();
        assert_eq!(plain, [" a     b   x", " long  bb  y"]);
    }

    #[test]
    fn times_are_said_from_where_we_stand() {
        assert_eq!(from_now(Millis(10_000), Millis(70_000)), "in 1m00s");
        assert_eq!(from_now(Millis(70_000), Millis(10_000)), "1m00s ago");
        assert_eq!(clock(Millis(1_700_000_000_123)), "2023-11-14 22:13:20Z");
    }
}
