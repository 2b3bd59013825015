//! Reads which issues an issue waits for, and finds circles among them.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::IssueNumber;

/// An issue that names more than this is refused rather than half read.
pub const MAX_DEPENDENCIES: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dependencies {
    On(BTreeSet<IssueNumber>),
    TooMany(usize),
}

/// The issues that `body` depends on: references in the sections `Dependencies`, `Depends on` and `Blocked by`, and
/// inline "depends on #N" and "blocked by #N". Code fences and the section `Related` say nothing.
pub fn parse(body: &str) -> Dependencies {
    let mut found = BTreeSet::new();
    let mut section = Section::Other;
    let mut fence: Option<&str> = None;
    for line in body.lines() {
        let trimmed = line.trim_start();
        if let Some(mark) = fence_mark(trimmed) {
            fence = match fence {
                None => Some(mark),
                Some(open) if open == mark => None,
                Some(open) => Some(open),
            };
            continue;
        }
        if fence.is_some() {
            continue;
        }
        if let Some(heading) = heading(trimmed) {
            section = Section::named(heading);
            continue;
        }
        match section {
            Section::Dependencies => found.extend(references(line)),
            Section::Related => {}
            Section::Other => found.extend(inline(line)),
        }
    }
    if found.len() > MAX_DEPENDENCIES { Dependencies::TooMany(found.len()) } else { Dependencies::On(found) }
}

/// The issues that wait for themselves through others, each circle once, its smallest number first.
pub fn circles(edges: &BTreeMap<IssueNumber, BTreeSet<IssueNumber>>) -> Vec<Vec<IssueNumber>> {
    let mut done = BTreeSet::new();
    let mut circles = Vec::new();
    for start in edges.keys() {
        let mut path = vec![(*start, next_of(edges, *start))];
        let mut on_path = BTreeSet::from([*start]);
        while let Some((node, rest)) = path.last_mut() {
            let node = *node;
            let Some(next) = rest.pop_first() else {
                path.pop();
                on_path.remove(&node);
                done.insert(node);
                continue;
            };
            if on_path.contains(&next) {
                let from = path.iter().position(|(at, _)| *at == next).expect("a node on the path is in it");
                circles.push(turned(path[from..].iter().map(|(at, _)| *at).collect()));
            } else if !done.contains(&next) {
                path.push((next, next_of(edges, next)));
                on_path.insert(next);
            }
        }
    }
    circles
}

fn next_of(edges: &BTreeMap<IssueNumber, BTreeSet<IssueNumber>>, node: IssueNumber) -> BTreeSet<IssueNumber> {
    edges.get(&node).cloned().unwrap_or_default()
}

fn turned(mut circle: Vec<IssueNumber>) -> Vec<IssueNumber> {
    let smallest = (0..circle.len()).min_by_key(|at| circle[*at]).unwrap_or(0);
    circle.rotate_left(smallest);
    circle
}

#[derive(Clone, Copy)]
enum Section {
    Dependencies,
    Related,
    Other,
}

impl Section {
    fn named(heading: &str) -> Self {
        match heading.trim().trim_end_matches(':').to_lowercase().as_str() {
            "dependencies" | "depends on" | "blocked by" => Self::Dependencies,
            "related" | "related issues" | "see also" => Self::Related,
            _ => Self::Other,
        }
    }
}

fn fence_mark(line: &str) -> Option<&'static str> {
    ["```", "~~~"].into_iter().find(|mark| line.starts_with(mark))
}

fn heading(line: &str) -> Option<&str> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    ((1..=6).contains(&level) && text.starts_with(' ')).then_some(text)
}

/// All `#N` of a line, outside of inline code.
fn references(line: &str) -> Vec<IssueNumber> {
    outside_code(line).iter().flat_map(|part| numbers(part)).collect()
}

/// `#N` right behind "depends on" or "blocked by", and the further ones joined by commas or "and".
fn inline(line: &str) -> Vec<IssueNumber> {
    let mut found = Vec::new();
    for part in outside_code(line) {
        let lower = part.to_lowercase();
        for phrase in ["depends on", "blocked by"] {
            for (at, _) in lower.match_indices(phrase) {
                found.extend(enumeration(&lower[at + phrase.len()..]));
            }
        }
    }
    found
}

fn enumeration(text: &str) -> Vec<IssueNumber> {
    let mut found = Vec::new();
    for word in text.split([' ', ',', '\t']).filter(|word| !word.is_empty()) {
        let word = word.trim_start_matches(':');
        match (numbers(word).first(), word) {
            (Some(number), _) if word.starts_with('#') => found.push(*number),
            (_, "" | "and" | "&" | "issue" | "issues") => {}
            _ => break,
        }
    }
    found
}

fn numbers(text: &str) -> Vec<IssueNumber> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices('#') {
        let before = text[..at].chars().next_back();
        let digits: String = text[at + 1..].chars().take_while(char::is_ascii_digit).collect();
        let foreign = before.is_some_and(|c| c.is_alphanumeric() || c == '/' || c == '&');
        match digits.parse() {
            Ok(number) if !foreign && number > 0 => found.push(IssueNumber(number)),
            _ => {}
        }
    }
    found
}

fn outside_code(line: &str) -> Vec<&str> {
    line.split('`').step_by(2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(body: &str) -> Vec<u64> {
        match parse(body) {
            Dependencies::On(set) => set.iter().map(|n| n.0).collect(),
            Dependencies::TooMany(n) => panic!("{n} dependencies"),
        }
    }

    #[test]
    fn sections_and_inline_words_count() {
        assert_eq!(on("## Dependencies\n- #3\n- #1 and #2\n## Notes\n#9"), [1, 2, 3]);
        assert_eq!(on("## Depends on\n#4\n### Blocked by:\n#5"), [4, 5]);
        assert_eq!(on("This depends on #7, #8 and #9 but not #10."), [7, 8, 9]);
        assert_eq!(on("Blocked by: #6. Also Depends On issue #2"), [2, 6]);
    }

    #[test]
    fn code_related_and_foreign_references_do_not() {
        assert_eq!(on("```\ndepends on #1\n```\n~~~\n## Dependencies\n#2\n~~~"), [0u64; 0]);
        assert_eq!(on("## Related\n#3\ndepends on #4"), [0u64; 0]);
        assert_eq!(on("`depends on #1` depends on other/repo#2 depends on #x #0"), [0u64; 0]);
        assert_eq!(on("## Dependencies\nnone, see a/b#5 and &#39;"), [0u64; 0]);
        assert_eq!(on("#Dependencies\n#5"), [0u64; 0]);
    }

    #[test]
    fn ten_thousand_dependencies_are_refused_whole() {
        let body: String = (1..=10_000).map(|n| format!("- #{n}\n")).collect();
        assert_eq!(parse(&format!("## Dependencies\n{body}")), Dependencies::TooMany(10_000));
    }

    #[test]
    fn circles_are_found_once() {
        let edge = |from: u64, to: &[u64]| (IssueNumber(from), to.iter().map(|n| IssueNumber(*n)).collect());
        let edges =
            BTreeMap::from([edge(1, &[2]), edge(2, &[3]), edge(3, &[1]), edge(4, &[1]), edge(5, &[5])]);
        let found: Vec<Vec<u64>> =
            circles(&edges).into_iter().map(|c| c.into_iter().map(|n| n.0).collect()).collect();
        assert_eq!(found, [vec![1, 2, 3], vec![5]]);
        assert!(circles(&BTreeMap::from([edge(1, &[2, 3]), edge(2, &[3])])).is_empty());
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_without_panic(body in "\\PC{0,400}") {
            drop(parse(&body));
        }
    }
}
