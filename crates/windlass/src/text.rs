//! How times, ages and tables look to people.

mod fold;

use windlass_core::time::Millis;

use crate::out::{Style, Tables};
use crate::view::Stamp;

pub use fold::{fits, fold};

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

/// `1 branch`, `2 branches`.
pub fn counted(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// A column is not made narrower than this; what does not fit then is cut off at the end of the line.
const NARROWEST: usize = 6;

/// A table that lets go of columns where the screen is too narrow for all: first of the first one in `spare`.
pub fn table_without(style: Style, indent: &str, rows: &[Vec<String>], spare: &[usize]) -> String {
    let mut rows = rows.to_vec();
    let Tables::Within(limit) = style.tables() else { return table(style, indent, &rows) };
    let mut gone: Vec<usize> = Vec::new();
    for &column in spare {
        let widths = widths(&rows);
        let least: usize = widths.iter().map(|width| (*width).min(NARROWEST)).sum();
        if indent.len() + least + 2 * widths.len().saturating_sub(1) <= limit {
            break;
        }
        let at = column - gone.iter().filter(|other| **other < column).count();
        for row in rows.iter_mut().filter(|row| at < row.len()) {
            row.remove(at);
        }
        gone.push(column);
    }
    table(style, indent, &rows)
}

fn widths(rows: &[Vec<String>]) -> Vec<usize> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| seen(cell)).max();
    (0..columns).map(|column| width(column).unwrap_or(0)).collect()
}

/// Rows with their columns in line, two spaces apart, or as the style wants them.
pub fn table(style: Style, indent: &str, rows: &[Vec<String>]) -> String {
    let mut widths = widths(rows);
    let limit = match style.tables() {
        Tables::Tabs => return rows.iter().map(|row| plain(row)).collect(),
        Tables::Wide => usize::MAX,
        Tables::Within(limit) => limit,
    };
    narrow(&mut widths, limit.saturating_sub(indent.len()));
    let mut text = String::new();
    for row in rows {
        let mut line = String::from(indent);
        for (cell, width) in row.iter().zip(&widths) {
            let cell = cut(cell, *width);
            line.push_str(&cell);
            line.extend(std::iter::repeat_n(' ', width + 2 - seen(&cell)));
        }
        text.push_str(&cut(line.trim_end(), limit));
        text.push('\n');
    }
    text
}

/// One line, whatever its cells hold.
fn plain(row: &[String]) -> String {
    let cells: Vec<String> = row.iter().map(|cell| cell.replace(['\t', '\n'], " ")).collect();
    cells.join("\t") + "\n"
}

/// Takes from the widest until all fit, or none is left that could give.
fn narrow(widths: &mut [usize], limit: usize) {
    let gaps = 2 * widths.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > limit {
        let Some(widest) = widths.iter_mut().max().filter(|width| **width > NARROWEST) else { return };
        *widest -= 1;
    }
}

/// The beginning that fits, with a sign that there was more. Colours stay, and end.
fn cut(cell: &str, width: usize) -> String {
    if seen(cell) <= width {
        return cell.to_owned();
    }
    let (mut text, mut count, mut in_color, mut colored) = (String::new(), 0, false, false);
    for c in cell.chars() {
        let visible = !in_color && c != '\u{1b}';
        if visible && count + 1 >= width {
            break;
        }
        count += usize::from(visible);
        colored |= c == '\u{1b}';
        in_color = c == '\u{1b}' || (in_color && c != 'm');
        text.push(c);
    }
    if width > 0 {
        text.push('…');
    }
    if colored {
        text.push_str("\u{1b}[0m");
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

    #[test]
    fn columns_stand_in_line_with_and_without_colours() {
        let red = Style::new(true).red("b");
        let rows = [vec!["a".into(), red, "x".into()], vec!["long".into(), "bb".into(), "y".into()]];
        let plain: Vec<String> = table(Style::new(true), " ", &rows)
            .lines()
            .map(|line| line.replace("\u{1b}[31m", "").replace("\u{1b}[0m", ""))
            .collect();
        assert_eq!(plain, [" a     b   x", " long  bb  y"]);
    }

    #[test]
    fn a_table_fits_the_screen_and_the_widest_gives_way_first() {
        let red = Style::new(true).red("a rather long cell");
        let rows = [vec!["#1".into(), red, "ok".into()], vec!["#12".into(), "short".into(), "fails".into()]];
        let shown = |columns| table(Style::new(true).fitting(Some(columns)), "", &rows);
        assert_eq!(shown(80), table(Style::new(true), "", &rows));
        assert_eq!(shown(20).lines().map(seen).max(), Some(20));
        assert!(shown(20).starts_with("#1   \u{1b}[31ma rathe…\u{1b}[0m  ok\n"), "{}", shown(20));
        assert!(shown(5).lines().all(|line| seen(line) <= 5), "{}", shown(5));
        assert_eq!(table(Style::plain(), "  ", &rows[1..]), "#12\tshort\tfails\n");
    }

    #[test]
    fn the_least_useful_columns_go_first() {
        let rows = [vec!["#1".into(), "a longer title".into(), "12m".into(), "RUNNING".into()]];
        let shown = |columns| table_without(Style::new(false).fitting(Some(columns)), "", &rows, &[2, 1]);
        assert_eq!(shown(32), "#1  a longer title  12m  RUNNING\n");
        assert_eq!(shown(20), "#1  a long…  RUNNING\n");
        assert_eq!(shown(12), "#1  RUNNING\n");
    }

    #[test]
    fn times_are_said_from_where_we_stand() {
        assert_eq!(from_now(Millis(10_000), Millis(70_000)), "in 1m00s");
        assert_eq!(from_now(Millis(70_000), Millis(10_000)), "1m00s ago");
        assert_eq!(clock(Millis(1_700_000_000_123)), "2023-11-14 22:13:20Z");
    }
}
