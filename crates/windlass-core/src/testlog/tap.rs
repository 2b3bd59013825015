//! The Test Anything Protocol, with subtests by indentation as node, tap and prove write them.

use std::collections::BTreeSet;

use super::{Found, Runner};

pub(super) fn read(lines: &[&str]) -> Option<Found> {
    let mut tree = Tree::default();
    let mut is_tap = false;
    let mut yaml = None;
    for line in lines {
        let text = line.trim_start();
        let depth = line.len() - text.len();
        match yaml {
            // A diagnostic may quote another log; it ends with its mark or where the indentation does.
            Some(start) if depth >= start && text != "..." => continue,
            Some(_) => yaml = None,
            None if text == "---" && depth > 0 => yaml = Some(depth),
            None => {}
        }
        is_tap |= depth == 0 && (text.starts_with("TAP version ") || is_plan(text));
        if let Some(point) = Point::parse(text) {
            tree.add(depth, &point);
        }
    }
    is_tap.then(|| tree.finish())
}

fn is_plan(text: &str) -> bool {
    let count = text.strip_prefix("1..").and_then(|rest| rest.split(' ').next());
    count.is_some_and(|count| count.parse::<u64>().is_ok())
}

struct Point {
    name: String,
    failed: bool,
    ran: bool,
}

impl Point {
    /// `not ok 3 - name # TODO why`
    fn parse(text: &str) -> Option<Self> {
        let (ok, rest) = match text.strip_prefix("not ok") {
            Some(rest) => (false, rest),
            None => (true, text.strip_prefix("ok")?),
        };
        let rest = rest.strip_prefix(' ')?;
        let (rest, directive) = rest.split_once(" # ").unwrap_or((rest, ""));
        let (number, name) = rest.split_once(' ').unwrap_or((rest, ""));
        number.parse::<u64>().ok()?;
        let directive = directive.to_ascii_lowercase();
        let name = name.trim_start_matches("- ").replace("\\#", "#");
        let name = if name.is_empty() { format!("test {number}") } else { name };
        let ran = !directive.starts_with("skip");
        Some(Self { name, failed: !ok && ran && !directive.starts_with("todo"), ran })
    }
}

/// Subtests come before the point that sums them up, so each depth waits for its parent.
#[derive(Default)]
struct Tree {
    ran: u64,
    waiting: Vec<Level>,
}

struct Level {
    depth: usize,
    failed: Vec<String>,
}

impl Tree {
    fn add(&mut self, depth: usize, point: &Point) {
        let (mut children, mut is_parent) = (Vec::new(), false);
        while let Some(level) = self.waiting.pop_if(|level| level.depth > depth) {
            is_parent = true;
            children.extend(level.failed.into_iter().map(|name| format!("{} > {name}", point.name)));
        }
        self.ran += u64::from(!is_parent && point.ran);
        if children.is_empty() && point.failed {
            children.push(point.name.clone());
        }
        match self.waiting.last_mut().filter(|level| level.depth == depth) {
            Some(level) => level.failed.append(&mut children),
            None => self.waiting.push(Level { depth, failed: children }),
        }
    }

    fn finish(self) -> Found {
        let failed: BTreeSet<String> = self.waiting.into_iter().flat_map(|level| level.failed).collect();
        Found { runner: Runner::Tap, ran: Some(self.ran), failed }
    }
}
