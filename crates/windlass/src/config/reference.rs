//! Variables for programs: `env:NAME` and `file:PATH` say where a value lies, and a secret is never written down.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use super::explain::{Fault, FaultKind};
use super::sense;

type Variables = BTreeMap<String, String>;

/// Where a value lies that is not written down.
enum Lies<'a> {
    Env(&'a str),
    File(&'a str),
}

impl<'a> Lies<'a> {
    fn read(value: &'a str) -> Option<Self> {
        match value.split_once(':')? {
            ("env", name) => Some(Self::Env(name)),
            ("file", path) => Some(Self::File(path)),
            (_, _) => None,
        }
    }
}

/// A file that is committed, shown and backed up is no place for a key.
pub fn check(table: &str, variables: &Variables) -> Result<(), Fault> {
    for (name, value) in variables {
        let key = format!("{table}.env.{name}");
        if name.is_empty() || name.contains(|c: char| c == '=' || c.is_control()) {
            return Err(Fault::new(format!("`{}` cannot be the name of a variable", key.escape_debug())));
        }
        if value.contains('\0') {
            return Err(Fault::new(format!("`{key}` contains a NUL byte")));
        }
        if let Some(Lies::Env("") | Lies::File("")) = Lies::read(value) {
            return Err(sense::wrong(&key, value, "followed by a name: \"env:NAME\" or \"file:PATH\""));
        }
        // The daemon and whoever asks beside it stand in other folders.
        if let Some(Lies::File(path)) = Lies::read(value)
            && !Path::new(path).is_absolute()
        {
            return Err(sense::wrong(&key, value, "\"file:\" and a path that begins with `/`"));
        }
        let last = name.rsplit('_').next().unwrap_or_default().to_uppercase();
        let secret = ["KEY", "TOKEN", "SECRET", "PASSWORD"].contains(&last.as_str());
        if secret && !value.is_empty() && Lies::read(value).is_none() {
            return Err(Fault::new(format!(
                "`{table}.env.{name}` is a secret; write where it lies: \"env:{name}\" or \"file:PATH\""
            )));
        }
    }
    Ok(())
}

/// The values themselves. One that is not where it should lie is an error; one that is empty is left out.
pub fn follow(table: &str, variables: &Variables) -> Result<Variables, Fault> {
    let value = |(name, value): (&String, &String)| {
        let found = match Lies::read(value) {
            None => Ok(value.clone()),
            Some(Lies::Env(variable)) => std::env::var(variable).map_err(|_| "is not there".to_owned()),
            Some(Lies::File(path)) => content(path),
        };
        let missing = |why: String| {
            let what = format!("`{table}.env.{name}` is to come from `{value}`, and that {why}");
            let kind = FaultKind::NoSecret { remedy: remedy(value) };
            Fault { key: Some(format!("{table}.env")), kind, ..Fault::new(what) }
        };
        let found = found.and_then(|value| if value.is_empty() { Err("is empty".into()) } else { Ok(value) });
        Ok((name.clone(), found.map_err(missing)?))
    };
    variables.iter().filter(|(_, value)| !value.is_empty()).map(value).collect()
}

/// What a file says, or what is wrong with the file.
fn content(path: &str) -> Result<String, String> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text.trim().to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err("is not there".into()),
        Err(error) => Err(format!("cannot be read: {error}")),
    }
}

/// The variables of the environment that values lie in.
pub fn named(variables: &Variables) -> impl Iterator<Item = &str> {
    variables.values().filter_map(|value| match Lies::read(value) {
        Some(Lies::Env(name)) => Some(name),
        Some(Lies::File(_)) | None => None,
    })
}

fn remedy(value: &str) -> String {
    match Lies::read(value) {
        Some(Lies::File(path)) => format!("write it into `{path}`, for you alone: chmod 600"),
        Some(Lies::Env(name)) => format!("export {name}=…"),
        None => "windlass config defaults".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str, value: &str) -> Variables {
        BTreeMap::from([(name.to_owned(), value.to_owned())])
    }

    #[test]
    fn secrets_are_named_and_found_where_they_lie() {
        let folder = tempfile::tempdir().unwrap();
        let key = folder.path().join("key");
        std::fs::write(&key, "hush\n").unwrap();
        let file = format!("file:{}", key.display());
        assert_eq!(follow("ci", &one("A_KEY", &file)), Ok(one("A_KEY", "hush")));
        assert_eq!(follow("ci", &one("URL", "http://x:1")), Ok(one("URL", "http://x:1")));
        assert_eq!(follow("ci", &one("EMPTY_KEY", "")), Ok(Variables::new()));
        for value in ["file:/nowhere/at/all", "env:NOT_SET_BY_ANYBODY"] {
            let missing = follow("ci", &one("A_KEY", value)).unwrap_err().what;
            assert!(missing.contains("`ci.env.A_KEY`") && missing.contains(value), "{missing}");
            assert!(missing.ends_with("is not there"), "{missing}");
        }
        let there = format!("file:{}", folder.path().display());
        let unreadable = follow("ci", &one("A_KEY", &there)).unwrap_err().what;
        assert!(unreadable.contains("cannot be read: "), "it is there, and is no file: {unreadable}");
        for (name, value, fine) in [
            ("A_KEY", "sk-1", false),
            ("npm_token", "x", false),
            ("DB_PASSWORD", "x", false),
            ("A_KEY", "env:A_KEY", true),
            ("A_KEY", "", true),
            ("KEYBOARD", "de", true),
            ("A_KEY", "file:/key", true),
            ("A_KEY", "file:key", false),
            ("A_KEY", "file:~/key", false),
            ("PLAIN", "file:./key", false),
        ] {
            assert_eq!(check("ci", &one(name, value)).is_ok(), fine, "{name}={value}");
        }
    }
}
