//! What an agent's terminal showed.

use windlass_adapters::agent::bridge::terminal::SCREEN;
use windlass_adapters::files;
use windlass_core::id::IssueNumber;

use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Out;
use crate::project::{self, Project};

/// More than is ever kept.
const MAX_SCREEN: u64 = 64 << 20;

/// The oldest first, as a terminal would draw it.
pub fn show(project: &Project, issue: IssueNumber, out: &mut Out) -> Result<Exit, CliError> {
    let task = project::known_task(project, &project.reader()?, issue)?;
    let folder = project.layout.session(&task.session);
    let mut shown = Vec::new();
    for name in SCREEN.iter().rev() {
        shown.extend(files::read_head(&folder.join(name), MAX_SCREEN)?.unwrap_or_default());
    }
    if shown.is_empty() {
        let title = format!("{} has shown nothing in a terminal", task.session);
        return Err(
            CliError::new("not-found", Exit::NotFound, title).next(format!("windlass logs {}", issue.0))
        );
    }
    out.must_be_whole()?;
    out.text(&drawn(&String::from_utf8_lossy(&shown)))?;
    out.flush()?;
    Ok(Exit::Ok)
}

/// Only what draws: an agent's screen gives no orders to the terminal of whoever looks at it later, such as to fill its clipboard
/// or to answer a question.
fn drawn(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        kept.push_str(&rest[..at]);
        let order = &rest[at + 1..];
        rest = match order.chars().next() {
            // A text to the terminal, up to a bell or the end of a string.
            Some(']' | 'P' | '_' | '^' | 'X') => {
                let end = [order.find('\u{7}').map(|at| at + 1), order.find("\u{1b}\\").map(|at| at + 2)];
                &order[end.into_iter().flatten().min().unwrap_or(order.len())..]
            }
            Some('[') => {
                let end = order
                    .find(|c: char| ('@'..='~').contains(&c) && c != '[')
                    .map_or(order.len(), |at| at + 1);
                // It asks the terminal for something, which would be typed into the shell.
                if !order[..end].ends_with(['c', 'n', 't']) {
                    kept.push('\u{1b}');
                    kept.push_str(&order[..end]);
                }
                &order[end..]
            }
            Some(_) | None => order,
        };
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_that_is_shown_again_gives_no_orders() {
        for (shown, expected) in [
            ("a\u{1b}[1mb\u{1b}[0m", "a\u{1b}[1mb\u{1b}[0m"),
            ("a\u{1b}]52;c;ZXZpbA==\u{7}b", "ab"),
            ("a\u{1b}]0;title\u{1b}\\b", "ab"),
            ("a\u{1b}Pq\u{1b}\\b\u{1b}[c\u{1b}[6n", "ab"),
            ("a\u{1b}]never ends", "a"),
            ("a\u{1b}", "a"),
        ] {
            assert_eq!(drawn(shown), expected, "{shown:?}");
        }
    }
}
