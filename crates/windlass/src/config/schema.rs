//! The JSON Schema of `windlass.toml` for editors, in the subset that they understand. Written from the keys themselves.

use serde_json::{Map, Value, json};

use super::Config;
use super::explain::unknown_key;
use super::keys::{KEYS, Key};

/// The whole file.
pub fn file() -> Value {
    let mut root = table();
    for key in KEYS.iter() {
        let parts: Vec<&str> = key.name.split('.').collect();
        let (name, path) = parts.split_last().expect("a name has at least one part");
        let mut place = &mut root;
        for part in path {
            place = properties(place).entry(*part).or_insert_with(table);
        }
        properties(place).insert((*name).to_owned(), one(key));
    }
    let head = root.as_object_mut().expect("a table is an object");
    head.insert("$schema".into(), "http://json-schema.org/draft-07/schema#".into());
    head.insert("title".into(), "windlass.toml".into());
    root
}

fn table() -> Value {
    json!({ "type": "object", "additionalProperties": false, "properties": {} })
}

fn properties(table: &mut Value) -> &mut Map<String, Value> {
    table["properties"].as_object_mut().expect("every table has its properties")
}

fn one(key: &Key) -> Value {
    let mut schema = kind(key);
    let fields = schema.as_object_mut().expect("a kind is an object");
    if !key.about.is_empty() {
        fields.insert("description".into(), key.about.clone().into());
    }
    if let Some(default) = key.default.as_ref().and_then(|value| serde_json::to_value(value).ok()) {
        fields.insert("default".into(), default);
    }
    schema
}

fn kind(key: &Key) -> Value {
    // A line for the shell, or a program with its arguments.
    if key.name.starts_with("agent.") && key.name.ends_with(".command") {
        return json!({ "type": ["string", "array"], "items": { "type": "string" } });
    }
    match &key.sample {
        toml::Value::String(text) => {
            let words = words(key);
            if !words.is_empty() {
                json!({ "type": "string", "enum": words })
            } else if is_time(key, text) {
                json!({ "type": "string", "pattern": "^[0-9]+(ms|s|m|h|d)$" })
            } else {
                json!({ "type": "string" })
            }
        }
        toml::Value::Integer(_) => json!({ "type": "integer", "minimum": 0 }),
        toml::Value::Float(_) => json!({ "type": "number", "minimum": 0 }),
        toml::Value::Boolean(_) => json!({ "type": "boolean" }),
        toml::Value::Array(_) => json!({ "type": "array", "items": { "type": "string" } }),
        toml::Value::Table(_) => json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        toml::Value::Datetime(_) => json!({}),
    }
}

/// The words that the parser takes, if it takes only some.
fn words(key: &Key) -> Vec<String> {
    let error = refused(key, "no-such-word");
    let known = error.as_deref().and_then(unknown_key).map(|(_, known)| known);
    known.unwrap_or_default().into_iter().map(str::to_owned).collect()
}

fn is_time(key: &Key, text: &str) -> bool {
    let refused = refused(key, "no-such-word").is_some_and(|said| said.contains("is not a duration"));
    refused && windlass_core::time::Span::parse(text).is_ok()
}

/// What the parser says about a word in the place of this key.
fn refused(key: &Key, word: &str) -> Option<String> {
    let (table, name) = key.name.rsplit_once('.').unwrap_or(("", &key.name));
    let head = if table.is_empty() { String::new() } else { format!("[{table}]\n") };
    let text = format!("{head}{name} = \"{word}\"\n");
    toml::from_str::<Config>(&text).err().map(|error| error.message().to_owned())
}
