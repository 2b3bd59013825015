//! One answer of the model, as the Responses API says it in events.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::http::{begin_events, end_events, event};
use super::script::Answer;
use super::usage::Usage;

const OUTPUT_TOKENS: u64 = 40;

pub(super) fn send(to: &mut impl Write, nth: u64, answer: &Answer, usage: &Usage) -> io::Result<()> {
    let id = format!("resp_{nth:012}");
    begin_events(to)?;
    event(to, &json!({"type": "response.created", "response": {"id": id}}))?;
    for (index, item) in items(nth, answer).into_iter().enumerate() {
        event(to, &json!({"type": "response.output_item.done", "output_index": index, "item": item}))?;
    }
    let cached = answer.context.unwrap_or(usage.cache_read);
    let input = usage.input + usage.cache_write + cached;
    let used = json!({
        "input_tokens": input, "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": OUTPUT_TOKENS, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": input + OUTPUT_TOKENS,
    });
    event(to, &json!({"type": "response.completed", "response": {"id": id, "usage": used}}))?;
    end_events(to)
}

fn items(nth: u64, answer: &Answer) -> Vec<Value> {
    let text = answer.text.iter().map(|text| {
        let content = json!([{"type": "output_text", "text": text}]);
        json!({"type": "message", "id": format!("msg_{nth:012}"), "role": "assistant", "content": content})
    });
    let tools = answer.tools.iter().enumerate().map(|(at, (name, input))| {
        let id = format!("{nth:08}{at:04}");
        json!({
            "type": "function_call", "id": format!("fc_{id}"), "call_id": format!("call_{id}"),
            "name": name, "arguments": input.to_string(),
        })
    });
    text.chain(tools).collect()
}
