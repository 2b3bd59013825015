//! What a request costs: whatever an earlier request began with comes from the cache.

use serde_json::{Map, Value};

/// About so many bytes are a token.
const BYTES_PER_TOKEN: u64 = 4;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub input: u64,
    pub cache_write: u64,
    pub cache_read: u64,
}

/// The requests that an agent's cache remembers.
#[derive(Debug, Default)]
pub(super) struct Caches {
    seen: Vec<String>,
}

impl Caches {
    pub fn usage(&mut self, body: &Value) -> Usage {
        let parts = ["tools", "system", "messages", "input"].iter().filter_map(|part| body.get(part));
        let text = parts.map(|part| plain(part).to_string()).collect::<Vec<_>>().join("\n");
        let known = self.seen.iter().map(|earlier| common(earlier, &text)).max().unwrap_or(0);
        let (all, cache_read) = (text.len() as u64 / BYTES_PER_TOKEN, known / BYTES_PER_TOKEN);
        self.seen.push(text);
        Usage { input: 3, cache_write: all.saturating_sub(cache_read), cache_read }
    }
}

fn common(one: &str, other: &str) -> u64 {
    one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count() as u64
}

/// Without the marks of where to cache, which move, and with one form for what may be written in two.
fn plain(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(plain).collect()),
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(key, _)| *key != "cache_control");
            let fields: Map<String, Value> = fields.map(|(key, value)| (key.clone(), plain(value))).collect();
            match (fields.len(), fields.get("type"), fields.get("text")) {
                (2, Some(Value::String(kind)), Some(text)) if kind == "text" => text.clone(),
                _ => Value::Object(fields),
            }
        }
        Value::String(text) => Value::String(text.trim_end().to_owned()),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_sent_before_is_read_from_the_cache() {
        let ask = |messages: Value| json!({"tools": [], "system": "x".repeat(4000), "messages": messages});
        let mark = json!({"type": "ephemeral"});
        let first =
            json!([{"role": "user", "content": [{"type": "text", "text": "a", "cache_control": mark}]}]);
        let mut caches = Caches::default();
        let cold = caches.usage(&ask(first.clone()));
        assert!(cold.cache_read == 0 && cold.cache_write >= 1000, "{cold:?}");
        let mut longer = first.as_array().expect("a list").clone();
        longer.push(json!({"role": "assistant", "content": "b"}));
        let warm = caches.usage(&ask(Value::Array(longer)));
        assert!(warm.cache_read >= 1000 && warm.cache_write < 30, "{warm:?}");
        let other = caches.usage(&json!({"system": "other"}));
        assert!(other.cache_read < 3, "{other:?}");
    }
}
