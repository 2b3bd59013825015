//! One answer of the model, as the Messages API says it: whole or in events.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::http::{begin_events, end_events, event, json as whole};
use super::script::Answer;
use super::usage::Usage;

const OUTPUT_TOKENS: u64 = 40;

pub(super) fn send(
    to: &mut impl Write,
    request: &Value,
    nth: u64,
    answer: &Answer,
    usage: &Usage,
) -> io::Result<()> {
    let message = message(request, nth, answer, usage);
    if request["stream"].as_bool() == Some(true) {
        stream(to, &message)
    } else {
        whole(to, 200, &[], &message)
    }
}

fn message(request: &Value, nth: u64, answer: &Answer, usage: &Usage) -> Value {
    let mut blocks: Vec<Value> =
        answer.text.iter().map(|text| json!({"type": "text", "text": text})).collect();
    for (at, (name, input)) in answer.tools.iter().enumerate() {
        let id = format!("toolu_{nth:08}{at:04}");
        blocks.push(json!({"type": "tool_use", "id": id, "name": name, "input": input}));
    }
    let stop = if answer.tools.is_empty() { "end_turn" } else { "tool_use" };
    let cache_read = answer.context.unwrap_or(usage.cache_read);
    json!({
        "id": format!("msg_{nth:012}"), "type": "message", "role": "assistant", "model": request["model"],
        "content": blocks, "stop_reason": stop, "stop_sequence": null,
        "usage": {
            "input_tokens": usage.input, "cache_creation_input_tokens": usage.cache_write,
            "cache_read_input_tokens": cache_read, "output_tokens": OUTPUT_TOKENS,
        },
    })
}

fn stream(to: &mut impl Write, message: &Value) -> io::Result<()> {
    begin_events(to)?;
    let mut start = message.clone();
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    start["usage"]["output_tokens"] = json!(1);
    event(to, &json!({"type": "message_start", "message": start}))?;
    for (index, block) in message["content"].as_array().into_iter().flatten().enumerate() {
        let (empty, delta) = parts(block);
        event(to, &json!({"type": "content_block_start", "index": index, "content_block": empty}))?;
        event(to, &json!({"type": "content_block_delta", "index": index, "delta": delta}))?;
        event(to, &json!({"type": "content_block_stop", "index": index}))?;
    }
    let delta = json!({"stop_reason": message["stop_reason"], "stop_sequence": null});
    event(to, &json!({"type": "message_delta", "delta": delta, "usage": message["usage"]}))?;
    event(to, &json!({"type": "message_stop"}))?;
    end_events(to)
}

/// A block as it begins, and all the rest of it.
fn parts(block: &Value) -> (Value, Value) {
    let mut empty = block.clone();
    if block["type"] == "text" {
        empty["text"] = json!("");
        return (empty, json!({"type": "text_delta", "text": block["text"]}));
    }
    empty["input"] = json!({});
    (empty, json!({"type": "input_json_delta", "partial_json": block["input"].to_string()}))
}
