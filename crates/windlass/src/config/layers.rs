//! Puts the layers of the configuration on top of each other, and remembers for each key who said it.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::explain::{self, Fault};
use super::host;
use super::keys::{self, KEYS};
use super::{Config, sense};
use crate::error::CliError;

/// Who said a value; a later one is heard before an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    Default,
    User,
    Project,
    Local,
    Env,
    Flag,
}

/// What one file, variable or flag says.
#[derive(Debug, Clone)]
pub struct Layer {
    pub origin: Origin,
    /// The file, the variable or the flag, as people know it.
    pub place: String,
    values: BTreeMap<String, toml::Value>,
}

/// A value in force.
#[derive(Debug, Clone, PartialEq)]
pub struct Valued {
    pub value: toml::Value,
    pub origin: Origin,
    /// `None` for a built-in default.
    pub place: Option<String>,
    /// What the project wanted, beyond what the host allows.
    pub refused: Option<toml::Value>,
}

/// All layers together.
#[derive(Debug, Clone)]
pub struct Layered {
    pub config: Config,
    pub values: BTreeMap<String, Valued>,
}

/// No sensible file comes near this.
const MAX_BYTES: usize = 1 << 20;

impl Origin {
    pub fn word(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
            Self::Env => "env",
            Self::Flag => "flag",
        }
    }
}

impl Layer {
    /// A whole file. Unknown keys and wrong types are errors with their line.
    pub fn file(origin: Origin, place: String, bytes: &[u8]) -> Result<Self, CliError> {
        let text = readable(bytes).map_err(|fault| fault.at(&place))?;
        if let Err(error) = toml::from_str::<Config>(text) {
            // What is missing here another layer may say.
            if !error.message().starts_with("missing field") {
                return Err(explain::fault(text, &error).at(&place));
            }
        }
        let table =
            toml::from_str::<toml::Table>(text).map_err(|error| explain::fault(text, &error).at(&place))?;
        Ok(Self { origin, place, values: flat(table) })
    }

    /// One key that was given as text.
    pub fn one(origin: Origin, place: String, key: &str, text: &str) -> Result<Self, CliError> {
        let value = typed(key, text).map_err(|fault| fault.at(&place))?;
        let values = BTreeMap::from([(key.to_owned(), value)]);
        if let Err(error) = Config::deserialize(toml::Value::Table(nested(&values)))
            && !error.message().starts_with("missing field")
        {
            return Err(explain::of_value(&error).at(&place));
        }
        let values = values.into_iter().flat_map(|(key, value)| spread(key, value)).collect();
        Ok(Self { origin, place, values })
    }
}

impl Layer {
    /// The value of this key, if nothing else is said.
    pub fn only(&self, key: &str) -> Option<&toml::Value> {
        self.values.get(key).filter(|_| self.values.len() == 1)
    }
}

impl Layered {
    /// The file, the variable or the flag that said it.
    pub fn place(&self, key: &str) -> Option<&str> {
        self.values.get(key)?.place.as_deref()
    }

    /// As one file that says everything.
    pub fn text(&self) -> String {
        let plain = self.values.iter().map(|(key, valued)| (key.clone(), valued.value.clone())).collect();
        nested(&plain).to_string()
    }
}

/// From the lowest to the highest. What is of one origin is one wish: all flags together must make sense, not each alone.
pub fn stack(layers: &[Layer]) -> Result<Layered, CliError> {
    let mut values: BTreeMap<String, Valued> = KEYS.iter().filter_map(built_in).collect();
    let mut config = Config::default();
    for together in layers.chunk_by(|one, other| one.origin == other.origin) {
        for layer in together {
            forget_other_kinds(&mut values, layer);
        }
        for layer in together {
            for (key, value) in &layer.values {
                let (key, value) = within(&values, key, value);
                put(&mut values, layer, key, &value);
            }
        }
        let blame = |fault: Fault| {
            let place = places(together, &fault);
            fault.at(&place)
        };
        let plain = values.iter().map(|(key, valued)| (key.clone(), valued.value.clone())).collect();
        config = Config::deserialize(toml::Value::Table(nested(&plain)))
            .map_err(|error| blame(explain::of_value(&error)))?;
        sense::check(&config).map_err(blame)?;
    }
    Ok(Layered { config, values })
}

/// Who said what the fault is about: whoever set the key that it names, or another key of the same table, or all of them.
fn places(layers: &[Layer], fault: &Fault) -> String {
    let names = |text: String| fault.what.contains(&text);
    let set = |layer: &&Layer| layer.values.keys().any(|key| names(format!("`{key}`")));
    let beside = |layer: &&Layer| {
        let mut tables = layer.values.keys().filter_map(|key| key.rsplit_once('.'));
        tables.any(|(table, _)| names(format!("`{table}.")))
    };
    let mut found: Vec<&Layer> = layers.iter().filter(set).collect();
    if found.is_empty() {
        found = layers.iter().filter(beside).collect();
    }
    if found.is_empty() {
        found = layers.iter().collect();
    }
    found.iter().map(|layer| layer.place.as_str()).collect::<Vec<_>>().join(" with ")
}

fn built_in(key: &keys::Key) -> Option<(String, Valued)> {
    let value = key.default.clone()?;
    Some((key.name.clone(), Valued { value, origin: Origin::Default, place: None, refused: None }))
}

/// An agent of another kind begins anew: what was said for the old one means nothing to it.
fn forget_other_kinds(values: &mut BTreeMap<String, Valued>, layer: &Layer) {
    for agent in ["agent.dev.", "agent.critic."] {
        let key = format!("{agent}kind");
        let (old, new) = (values.get(&key).map(|valued| &valued.value), layer.values.get(&key));
        if new.is_some() && old != new {
            values.retain(|key, _| !key.starts_with(agent));
        }
    }
}

/// One entry of a value that is a table, such as `agent.dev.env.NAME`, joins what is there.
fn within<'a>(
    values: &BTreeMap<String, Valued>,
    key: &'a str,
    value: &toml::Value,
) -> (&'a str, toml::Value) {
    let Some((owner, rest)) = owner(key) else { return (key, value.clone()) };
    let there = values.get(owner).and_then(|valued| valued.value.as_table());
    let mut table = there.cloned().unwrap_or_default();
    insert(&mut table, rest, value);
    (owner, toml::Value::Table(table))
}

/// The key whose value holds this one, and the name in there.
fn owner(key: &str) -> Option<(&str, &str)> {
    let first = key.split('.').next().unwrap_or(key);
    let (at, _) = key.match_indices('.').nth(keys::depth(first))?;
    Some((&key[..at], &key[at + 1..]))
}

/// What a repository says may tighten what the host says, and never loosen it.
fn put(values: &mut BTreeMap<String, Valued>, layer: &Layer, key: &str, value: &toml::Value) {
    if layer.origin == Origin::Project
        && let Some(found) = values.get_mut(key)
        && found.origin == Origin::User
        && host::loosens(key, &found.value, value)
    {
        found.refused = Some(value.clone());
        return;
    }
    let place = Some(layer.place.clone());
    values
        .insert(key.to_owned(), Valued { value: value.clone(), origin: layer.origin, place, refused: None });
}

fn readable(bytes: &[u8]) -> Result<&str, Fault> {
    if bytes.len() > MAX_BYTES {
        return Err(Fault::new("it is larger than 1 MB, which no configuration needs"));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| Fault::new("it is not text in UTF-8"))?;
    match text.find('\0') {
        Some(at) => {
            let line = Some(text[..at].matches('\n').count() + 1);
            Err(Fault { line, ..Fault::new("it contains a NUL byte") })
        }
        None => Ok(text),
    }
}

/// A text where the key wants one; else as TOML writes it.
fn typed(key: &str, text: &str) -> Result<toml::Value, Fault> {
    let wants_text = keys::key(key).is_some_and(|key| key.sample.is_str());
    if wants_text {
        return Ok(toml::Value::String(text.to_owned()));
    }
    let read = toml::from_str::<toml::Table>(&format!("v = {text}")).ok();
    match read.and_then(|mut table| table.remove("v")) {
        Some(value) => Ok(value),
        None if text.len() > 1 && text.bytes().all(|byte| byte.is_ascii_digit()) => {
            Err(Fault::new(format!("`{key}` must be a smaller number; it is {text}")))
        }
        None if text.contains(['\n', '\0']) => Err(Fault::new(format!("`{key}` must be one line"))),
        None => Ok(toml::Value::String(text.to_owned())),
    }
}

/// Every key with its table in front.
fn flat(table: toml::Table) -> BTreeMap<String, toml::Value> {
    table.into_iter().flat_map(|(name, value)| spread(name, value)).collect()
}

/// The keys of a table that was given whole; a value that is no such table stays as it is.
fn spread(key: String, value: toml::Value) -> BTreeMap<String, toml::Value> {
    let first = key.split('.').next().unwrap_or(&key);
    let depth = keys::depth(first).saturating_sub(key.matches('.').count());
    match value {
        toml::Value::Table(inner) if depth > 0 => {
            let mut values = BTreeMap::new();
            gather(&mut values, &key, inner, depth);
            values
        }
        value => BTreeMap::from([(key, value)]),
    }
}

fn gather(values: &mut BTreeMap<String, toml::Value>, prefix: &str, table: toml::Table, depth: usize) {
    for (name, value) in table {
        let name = format!("{prefix}.{name}");
        match value {
            toml::Value::Table(inner) if depth > 1 => gather(values, &name, inner, depth - 1),
            value => drop(values.insert(name, value)),
        }
    }
}

fn nested(values: &BTreeMap<String, toml::Value>) -> toml::Table {
    let mut root = toml::Table::new();
    for (key, value) in values {
        insert(&mut root, key, value);
    }
    root
}

/// Into the tables that the key names; they are made where they are missing.
pub fn insert(table: &mut toml::Table, key: &str, value: &toml::Value) {
    let Some((part, rest)) = key.split_once('.') else {
        table.insert(key.to_owned(), value.clone());
        return;
    };
    let inner = table.entry(part).or_insert_with(|| toml::Value::Table(toml::Table::new()));
    if let toml::Value::Table(inner) = inner {
        insert(inner, rest, value);
    }
}
