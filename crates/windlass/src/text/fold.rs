//! Breaks lines that are wider than the screen, between words where there are any.

use super::seen;
use crate::out::{Style, Tables};

/// What a broken line goes on with, besides what it began with.
const HANG: &str = "  ";

/// Whether no line is wider than the screen.
pub fn fits(style: Style, text: &str) -> bool {
    limit(style).is_none_or(|limit| text.lines().all(|line| seen(line) <= limit))
}

/// The same text, with no line wider than the screen.
pub fn fold(style: Style, text: &str) -> String {
    let Some(limit) = limit(style) else { return text.to_owned() };
    let mut out = String::new();
    for line in text.lines() {
        if seen(line) <= limit {
            out.push_str(line);
            out.push('\n');
        } else {
            fold_line(&mut out, line, limit);
        }
    }
    out
}

fn limit(style: Style) -> Option<usize> {
    match style.tables() {
        Tables::Within(limit) => Some(limit),
        Tables::Wide | Tables::Tabs => None,
    }
}

fn fold_line(out: &mut String, line: &str, limit: usize) {
    let begin = &line[..line.len() - line.trim_start().len()];
    // On a very narrow screen the text needs the place more.
    let hang = if begin.len() + HANG.len() < limit / 2 { format!("{begin}{HANG}") } else { String::new() };
    let mut current = if begin.len() < limit / 2 { begin.to_owned() } else { String::new() };
    let mut is_new = true;
    // What is between two words stays, where they stay on one line.
    for piece in line.trim_start().split_inclusive(' ') {
        let word = piece.trim_end_matches(' ');
        if !is_new && seen(&current) + seen(word) > limit {
            end(out, &mut current, &hang);
        }
        for c in word.chars() {
            if seen(&current) >= limit && c != '\u{1b}' && !in_color(&current) {
                end(out, &mut current, &hang);
            }
            current.push(c);
        }
        current.push_str(&piece[word.len()..]);
        is_new = false;
    }
    end(out, &mut current, "");
}

fn end(out: &mut String, current: &mut String, next: &str) {
    out.push_str(current.trim_end());
    out.push('\n');
    next.clone_into(current);
}

/// Whether the text ends within the letters that set a colour.
fn in_color(text: &str) -> bool {
    text.rfind('\u{1b}').is_some_and(|at| !text[at..].contains('m'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(columns: usize, text: &str) -> String {
        fold(Style::new(true).fitting(Some(columns)), text)
    }

    #[test]
    fn lines_break_between_words_and_long_words_anywhere() {
        assert_eq!(folded(10, "one two three\n"), "one two\n  three\n");
        assert_eq!(folded(12, "  one two three four"), "  one two\n    three\n    four\n");
        assert_eq!(folded(8, "/a/very/long/path"), "/a/very/\n  long/p\n  ath\n");
        assert_eq!(folded(20, "short          -> go"), "short          -> go\n");
        assert_eq!(folded(4, "      deep"), "deep\n");
        assert_eq!(fold(Style::plain(), "one two three"), "one two three");
    }

    #[test]
    fn colours_take_no_place() {
        let red = Style::new(true).red("one two");
        assert_eq!(folded(9, &format!("{red} three")), "\u{1b}[31mone two\u{1b}[0m\n  three\n");
        assert!(folded(3, &red).lines().all(|line| seen(line) <= 3), "{:?}", folded(3, &red));
    }
}
