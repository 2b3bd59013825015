//! The files that have an issue's words, in the order in which they were begun.

use std::path::PathBuf;
use std::str::FromStr;

use windlass_adapters::shim::{LOG, TRANSCRIPT};
use windlass_core::id::SessionId;
use windlass_core::task::Task;
use windlass_store::Store;

use super::Args;
use super::render::Format;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::Project;

/// Something that grows line by line.
#[derive(Debug, Clone)]
pub struct Place {
    pub name: String,
    pub format: Format,
    pub path: PathBuf,
}

/// Where a reader was: behind this byte of a source, or of the newest one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Since {
    pub source: Option<String>,
    pub seq: u64,
}

impl FromStr for Since {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (source, seq) = match text.rsplit_once(':') {
            Some((source, seq)) => (Some(source.to_owned()), seq),
            None => (None, text),
        };
        let seq = seq.parse().map_err(|_| "it is `SOURCE:SEQ` of a line of --json, or its `SEQ` alone")?;
        Ok(Self { source, seq })
    }
}

impl Since {
    /// The place that is meant.
    pub fn find(&self, mut places: Vec<Place>) -> Result<Option<Place>, CliError> {
        let Some(source) = &self.source else { return Ok(places.pop()) };
        let found = places.iter().position(|place| place.name == *source);
        match found {
            Some(at) => Ok(Some(places.swap_remove(at))),
            None => Err(self.is_nowhere("there is no such source now")),
        }
    }

    pub fn is_nowhere(&self, why: &str) -> CliError {
        let source = self.source.as_ref().map_or_else(String::new, |source| format!("{source}:"));
        CliError::new("not-found", Exit::NotFound, format!("nothing was said at {source}{}", self.seq))
            .why(why)
            .next("leave --since out, or say --since 0 for all of the newest source")
    }
}

pub fn of_daemon(project: &Project) -> Place {
    Place { name: "daemon".into(), format: Format::Plain, path: project.layout.log_file() }
}

pub fn of_session(project: &Project, session: &SessionId) -> Place {
    let path = project.layout.session(session).join(TRANSCRIPT);
    Place { name: session.to_string(), format: Format::Transcript, path }
}

/// The newest is the last.
pub fn of_task(
    project: &Project,
    store: &dyn Store,
    args: &Args,
    task: &Task,
) -> Result<Vec<Place>, CliError> {
    if args.ci {
        let builds = store.builds_of(&task.id)?;
        let folder = project.layout.builds();
        let place =
            |id: &str| Place { name: id.to_owned(), format: Format::Plain, path: folder.join(id).join(LOG) };
        return Ok(builds.iter().rev().map(|build| place(build.id.as_str())).collect());
    }
    if args.critic {
        let reviews = (1..=task.reviews).map(|nth| SessionId::review(&task.id, nth));
        return Ok(reviews.map(|session| of_session(project, &session)).collect());
    }
    let sessions = (1..=task.sessions).map(|nth| SessionId::dev(&task.id, nth));
    Ok(sessions.map(|session| of_session(project, &session)).collect())
}

/// What was begun after this one. One that is not known any more is left for the newest.
pub fn after(name: &str, places: Vec<Place>) -> Option<Place> {
    match places.iter().position(|place| place.name == name) {
        Some(at) => places.into_iter().nth(at + 1),
        None => places.into_iter().next_back(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_number_or_a_source_with_one() {
        let since = |source: Option<&str>, seq| Since { source: source.map(str::to_owned), seq };
        for (text, expected) in [
            ("0", Some(since(None, 0))),
            ("dev-1.1-2:512", Some(since(Some("dev-1.1-2"), 512))),
            ("daemon:7", Some(since(Some("daemon"), 7))),
            ("1h", None),
            ("-1", None),
            ("dev-1.1-2", None),
            ("dev-1.1-2:", None),
        ] {
            assert_eq!(text.parse().ok(), expected, "{text}");
        }
    }

    #[test]
    fn what_comes_after_is_the_next_and_never_the_same() {
        let place = |name: &str| Place { name: name.into(), format: Format::Plain, path: name.into() };
        let places = || ["a", "b", "c"].map(place).to_vec();
        let names = |name| after(name, places()).map(|place| place.name);
        assert_eq!([names("a"), names("c"), names("gone")], [Some("b".into()), None, Some("c".into())]);
    }
}
