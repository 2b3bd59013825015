//! Says what is wrong with a configuration: the place, the line, the key, and what may have been meant.

use serde::Deserialize;

use super::Config;
use crate::error::CliError;
use crate::exit::Exit;

/// What is wrong, before it is known in which file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub line: Option<usize>,
    pub what: String,
    pub meant: Option<String>,
    /// Whose value it is about, where that tells who is to blame.
    pub key: Option<String>,
    pub kind: FaultKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultKind {
    /// The configuration itself.
    Wrong,
    /// It is good, but a secret that it names is not where it should lie; this is how it gets there.
    NoSecret { remedy: String },
}

impl Fault {
    pub fn new(what: impl Into<String>) -> Self {
        Self { line: None, what: what.into(), meant: None, key: None, kind: FaultKind::Wrong }
    }

    /// The file, the variable or the flag.
    pub fn at(self, place: &str) -> CliError {
        if let FaultKind::NoSecret { remedy } = self.kind {
            return CliError::new(
                "no-secret",
                Exit::Authentication,
                format!("a secret of {place} is missing"),
            )
            .why(self.what)
            .next(remedy);
        }
        let line = self.line.map_or_else(String::new, |line| format!(", line {line}"));
        let error = CliError::new("config", Exit::Config, format!("{place}{line} is not valid"));
        let error = error.why(self.what);
        match self.meant {
            Some(meant) => error.next(format!("did you mean `{meant}`?")),
            None => error.next("windlass config defaults    shows every key with its default"),
        }
    }
}

pub fn fault(text: &str, error: &toml::de::Error) -> Fault {
    let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    // Read as values it is the same mistake, and only then the parser knows in which key.
    let again = toml::from_str::<toml::Table>(text).ok().and_then(|table| Config::deserialize(table).err());
    let same = again.as_ref().filter(|again| again.message() == error.message());
    Fault { line, ..of_value(same.unwrap_or(error)) }
}

/// As `fault`, where there is no text with lines.
pub fn of_value(error: &toml::de::Error) -> Fault {
    let said = error.message();
    let Some((unknown, known)) = unknown_key(said) else { return Fault::new(plain(said.trim())) };
    let what = if said.starts_with(UNKNOWN_WORD) {
        let key = key_of(error).map_or_else(|| "it".to_owned(), |key| format!("`{key}`"));
        format!("{key} must be one of {}; it is `{unknown}`", known.join(", "))
    } else {
        format!("there is no key `{unknown}` here; known are {}", known.join(", "))
    };
    let meant = nearest(unknown, &known).map(str::to_owned);
    Fault { meant, ..Fault::new(what) }
}

/// The parser tells it only as a line of its whole message.
fn key_of(error: &toml::de::Error) -> Option<String> {
    let said = error.to_string();
    let last = said.trim_end().lines().last()?;
    Some(last.strip_prefix("in `")?.strip_suffix('`')?.to_owned())
}

/// The parser names types of a programming language; people know numbers and texts.
fn plain(said: &str) -> String {
    if let Some((found, _)) = said.split_once(", expected struct ") {
        let found = found.split_once(": ").map_or(found, |(_, found)| found);
        return format!("a table is wanted, not {found}");
    }
    let words = [
        ("expected u32", "a whole number from 0 to 4294967295 is wanted"),
        ("expected u64", "a whole number from 0 on is wanted"),
        ("expected f64", "a number such as 5.00 is wanted"),
        ("expected a string", "a text in quotes is wanted"),
        ("expected a sequence", "a list is wanted"),
        ("expected a map", "a table is wanted"),
    ];
    let Some((type_name, want)) = words.iter().find(|(type_name, _)| said.ends_with(type_name)) else {
        return said.to_owned();
    };
    let found = said.trim_end_matches(type_name).trim_end_matches([',', ' ']);
    let found = found.split_once(": ").map_or(found, |(_, found)| found);
    // How the parser held a number that is too large.
    let found = found.trim_end_matches(" as i128").trim_end_matches(" as u128");
    format!("{want}, not {found}")
}

const UNKNOWN_WORD: &str = "unknown variant `";

/// The key or word that is not known, and those that are, from the parser's sentence about it.
pub fn unknown_key(said: &str) -> Option<(&str, Vec<&str>)> {
    let rest = said.strip_prefix("unknown field `").or_else(|| said.strip_prefix(UNKNOWN_WORD))?;
    let (unknown, rest) = rest.split_once('`')?;
    let known = rest.split('`').skip(1).step_by(2).collect();
    Some((unknown, known))
}

/// The known name with the fewest differences, if there are few enough to think of a slip.
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let allowed = name.chars().count() / 3 + 1;
    known
        .iter()
        .map(|known| (distance(name, known), *known))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, known)| known)
}

/// How many letters have to be added, taken away or replaced to come from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (line, a) in from.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], line + 1);
        for (column, b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_another_word_is_not() {
        let known = ["parallel", "poll", "max_open_changes", "branch_prefix"];
        for (typed, meant) in [
            ("paralel", Some("parallel")),
            ("parallell", Some("parallel")),
            ("pol", Some("poll")),
            ("max_changes", None),
            ("colour", None),
        ] {
            assert_eq!(nearest(typed, &known), meant, "{typed}");
        }
        assert_eq!((distance("", "abc"), distance("kitten", "sitting"), distance("a", "a")), (3, 3, 0));
    }
}
