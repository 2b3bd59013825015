//! Every key of the configuration with its default and its meaning, read from the embedded default file itself.

use std::sync::LazyLock;

use super::DEFAULTS;

/// One documented key.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    /// With its table: `dispatch.parallel`.
    pub name: String,
    /// `None` when the file must set it, or need not.
    pub default: Option<toml::Value>,
    /// What the file shows, to tell of what kind a value is.
    pub sample: toml::Value,
    pub about: String,
}

/// In the order of the file.
pub static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| read(DEFAULTS));

pub fn key(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

/// How deep the tables go that hold keys; what is deeper is a value.
pub fn depth(first: &str) -> usize {
    if first == "agent" { 2 } else { 1 }
}

fn read(text: &str) -> Vec<Key> {
    let mut table = String::new();
    let mut keys: Vec<Key> = Vec::new();
    for line in text.lines() {
        let (optional, line) = match line.strip_prefix("# ") {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            table = format!("{}.", name.0);
        } else if let Some((name, value, about)) = assignment(line) {
            let name = format!("{table}{name}");
            // The two that nobody can guess are shown as examples.
            let example = name == "ci.command" || name.starts_with("agent.");
            let default = (!optional && !example).then(|| value.clone());
            keys.push(Key { name, default, sample: value, about });
        }
    }
    keys
}

/// `key = value   # about`; none for any other line.
fn assignment(line: &str) -> Option<(&str, toml::Value, String)> {
    let (name, rest) = line.split_once(" = ")?;
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if name.is_empty() || !name.chars().all(plain) {
        return None;
    }
    let (value, about) = match rest.split_once(" #") {
        Some((value, about)) => (value, about.trim()),
        None => (rest, ""),
    };
    let value = toml::from_str::<toml::Table>(&format!("v = {value}")).ok()?.remove("v")?;
    Some((name, value, about.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_file_is_read_key_by_key() {
        let parallel = key("dispatch.parallel").unwrap();
        assert_eq!(parallel.default, Some(toml::Value::Integer(3)));
        assert!(parallel.about.starts_with("agents at work at once"));
        assert_eq!(key("ci.command").unwrap().default, None, "an example is no default");
        assert_eq!(key("name").unwrap().default, None);
        assert!(key("agent.critic.kind").is_some() && key("no.such").is_none());
        let said = KEYS.iter().filter(|key| key.about.is_empty()).count();
        assert!(said * 3 < KEYS.len(), "most keys say what they mean");
    }
}
