//! The stream-json lines that Claude Code prints and others copy.

use serde_json::Value;
use windlass_core::money::micro_usd;

use super::{Seen, Usage, tools};

/// Where a tool's input names what it works on, most telling first.
const TARGETS: [&str; 6] = ["file_path", "path", "notebook_path", "command", "pattern", "url"];
const TARGET_CHARS: usize = 200;

pub(super) fn read(line: &str) -> Vec<Seen> {
    let Ok(value) = serde_json::from_str::<Value>(line) else { return Vec::new() };
    match value["type"].as_str() {
        Some("system") if value["subtype"] == "init" => session(&value).into_iter().collect(),
        Some("assistant") => {
            let blocks = value["message"]["content"].as_array().into_iter().flatten();
            blocks.filter_map(block).chain(context(&value)).collect()
        }
        Some("result") => result(&value),
        Some(_) | None => Vec::new(),
    }
}

fn session(value: &Value) -> Option<Seen> {
    value["session_id"].as_str().map(|id| Seen::ProviderSession(id.to_owned()))
}

/// Every line of a message shows what its request held. A subagent has a context of its own.
fn context(value: &Value) -> Option<Seen> {
    let usage = &value["message"]["usage"];
    let count = |key: &str| usage[key].as_u64().unwrap_or(0);
    let tokens =
        count("input_tokens") + count("cache_creation_input_tokens") + count("cache_read_input_tokens");
    (tokens > 0 && value["parent_tool_use_id"].is_null()).then_some(Seen::Context(tokens))
}

fn block(block: &Value) -> Option<Seen> {
    match block["type"].as_str()? {
        "text" => {
            block["text"].as_str().filter(|text| !text.is_empty()).map(|text| Seen::Said(text.to_owned()))
        }
        "tool_use" => {
            let name = block["name"].as_str()?.to_owned();
            let target = TARGETS.iter().find_map(|key| block["input"][key].as_str());
            let act = tools::act(&name, target);
            let target = target.map(|target| target.chars().take(TARGET_CHARS).collect());
            Some(Seen::Tool { name, target, act })
        }
        _ => None,
    }
}

/// Usage is taken from here only: the other lines repeat it for every block of a message.
fn result(value: &Value) -> Vec<Seen> {
    let mut seen: Vec<Seen> = session(value).into_iter().collect();
    if let Some(usage) = value.get("usage").filter(|usage| usage.is_object()) {
        let count = |key: &str| usage[key].as_u64().unwrap_or(0);
        let model = value["modelUsage"].as_object().and_then(|models| models.keys().next().cloned());
        seen.push(Seen::Usage(Usage {
            input: count("input_tokens"),
            cache_write: count("cache_creation_input_tokens"),
            cache_read: count("cache_read_input_tokens"),
            output: count("output_tokens"),
            model: model.or_else(|| value["model"].as_str().map(str::to_owned)),
            cost_micro_usd: value["total_cost_usd"].as_f64().map(micro_usd),
        }));
    }
    let models = value["modelUsage"].as_object().into_iter().flatten();
    let windows = models.filter_map(|(_, model)| model["contextWindow"].as_u64());
    seen.extend(windows.max().map(Seen::Window));
    // Never by `subtype`: a failed call to the provider says `success` there.
    let is_error = value["is_error"].as_bool().unwrap_or(false);
    seen.push(Seen::TurnResult { is_error, text: value["result"].as_str().unwrap_or_default().to_owned() });
    seen
}

#[cfg(test)]
mod tests {
    use windlass_core::activity::Act;

    use super::*;

    #[test]
    fn a_turn_is_read() {
        let lines = [
            r#"{"type":"system","subtype":"init","session_id":"s-1","tools":[]}"#,
            r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"I look"},{"type":"tool_use","name":"Read","input":{"file_path":"src/a.rs"}}],"usage":{"input_tokens":9}}}"#,
            r#"{"type":"user","message":{"content":[{"type":"tool_result","content":"x"}]}}"#,
            r#"{"type":"result","subtype":"success","is_error":true,"result":"API Error","session_id":"s-1","total_cost_usd":0.0123,"usage":{"input_tokens":5,"cache_creation_input_tokens":6,"cache_read_input_tokens":7,"output_tokens":8},"modelUsage":{"m-1":{"contextWindow":200000}}}"#,
            "not json",
        ];
        let seen: Vec<Seen> = lines.iter().flat_map(|line| read(line)).collect();
        let usage = Usage {
            input: 5,
            cache_write: 6,
            cache_read: 7,
            output: 8,
            model: Some("m-1".into()),
            cost_micro_usd: Some(12_300),
        };
        let expected = [
            Seen::ProviderSession("s-1".into()),
            Seen::Said("I look".into()),
            Seen::Tool { name: "Read".into(), target: Some("src/a.rs".into()), act: Act::Look },
            Seen::Context(9),
            Seen::ProviderSession("s-1".into()),
            Seen::Usage(usage),
            Seen::Window(200_000),
            Seen::TurnResult { is_error: true, text: "API Error".into() },
        ];
        assert_eq!(seen, expected);
    }
}
