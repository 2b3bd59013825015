//! The hooks of an agent's program: each leaves a line in the session's folder, and one says the protocol again.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use windlass_core::money::micro_usd;
use windlass_core::text::one_line;
use windlass_core::time::Millis;

use super::Usage;
use crate::files::{self, FileError};
use crate::shim::{client, journal};

/// One line for each hook that fired.
pub const HOOKS: &str = "hooks.jsonl";
/// What the program last said of its conversation.
pub const STATUS: &str = "status.json";
/// What an agent is told again when its conversation was compacted.
pub const PROTOCOL: &str = "protocol.md";

const NAMES: [&str; 8] = [
    "SessionStart",
    "UserPromptSubmit",
    "PostToolUse",
    "Notification",
    "PreCompact",
    "Stop",
    "StopFailure",
    "SessionEnd",
];
const DETAIL_CHARS: usize = 200;
const WAITS: &str = "A message from Windlass waits for the end of this turn. Bring what you are doing to a good point, commit \
                     it, and end the turn; you will be told, and can go on then.";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookNote {
    pub at: Millis,
    pub hook: String,
    pub detail: String,
    /// How long a tool took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<i64>,
}

/// What a hook means to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookMeaning {
    /// The conversation is about to be shortened.
    Compacts,
    /// The model was asked.
    Asks,
    /// A tool was used; its result goes to the model.
    Tool {
        /// Not known for all.
        since: Option<Millis>,
    },
    /// The model has nothing more to say.
    Rests,
    Other,
}

/// What a conversation has come to, as its program says it for the line below its input box.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// Of the whole conversation.
    pub cost_micro_usd: Option<u64>,
    pub window: Option<u64>,
    pub model: Option<String>,
    /// When the windows of a subscription that are used up have begun anew.
    #[serde(default)]
    pub limited_until: Option<Millis>,
    /// Of the last request: input, written to the cache, read from it, output.
    last: [u64; 4],
}

impl Figures {
    fn read(input: &Value) -> Self {
        let window = &input["context_window"];
        let count = |key: &str| window["current_usage"][key].as_u64().unwrap_or(0);
        Self {
            cost_micro_usd: input["cost"]["total_cost_usd"].as_f64().map(micro_usd),
            window: window["context_window_size"].as_u64(),
            model: input["model"]["id"].as_str().map(str::to_owned),
            limited_until: limited_until(&input["rate_limits"]),
            last: ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"]
                .map(count),
        }
    }

    /// Whether they count this message.
    pub fn are_after(&self, message: &Usage) -> bool {
        self.last == [message.input, message.cache_write, message.cache_read, message.output]
    }
}

/// The provider counts each window for itself, and says its end in seconds.
fn limited_until(limits: &Value) -> Option<Millis> {
    let windows = ["five_hour", "seven_day"].map(|name| &limits[name]);
    let spent = windows
        .into_iter()
        .filter(|window| window["used_percentage"].as_f64().is_some_and(|used| used >= 100.0));
    spent.filter_map(|window| window["resets_at"].as_i64()?.checked_mul(1000)).max().map(Millis)
}

impl HookNote {
    pub fn means(&self) -> HookMeaning {
        match self.hook.as_str() {
            "PreCompact" => HookMeaning::Compacts,
            "UserPromptSubmit" => HookMeaning::Asks,
            "PostToolUse" => HookMeaning::Tool { since: self.took_ms.map(|took| Millis(self.at.0 - took)) },
            "Stop" | "StopFailure" => HookMeaning::Rests,
            _ => HookMeaning::Other,
        }
    }
}

/// The settings that have `windlass hook` called; its environment names the folder.
pub fn settings(windlass: &Path) -> String {
    let quoted = windlass.to_string_lossy().replace('\'', "'\\''");
    let command = format!("'{quoted}' hook");
    let call = json!([{"hooks": [{"type": "command", "command": command}]}]);
    let hooks: serde_json::Map<String, Value> =
        NAMES.iter().map(|name| ((*name).to_owned(), call.clone())).collect();
    // Shown only in a terminal; the program gives its figures to whoever writes the line.
    let line = json!({"type": "command", "command": command});
    json!({ "hooks": hooks, "statusLine": line }).to_string()
}

/// Writes down what fired; answers what the program is to be told.
pub fn fired(folder: &Path, input: &[u8], at: Millis) -> io::Result<Option<String>> {
    let input: Value = serde_json::from_slice(input)?;
    if input.get("context_window").is_some() {
        files::write_json(&folder.join(STATUS), &Figures::read(&input)).map_err(io::Error::other)?;
        return Ok(None);
    }
    let word = |key: &str| input[key].as_str().unwrap_or_default().to_owned();
    let hook = word("hook_event_name");
    let detail = match hook.as_str() {
        "SessionStart" => word("source"),
        "UserPromptSubmit" => word("prompt"),
        "PostToolUse" => word("tool_name"),
        "Notification" => word("message"),
        "PreCompact" => word("trigger"),
        "StopFailure" => word("error"),
        "SessionEnd" => word("reason"),
        _ => String::new(),
    };
    let answer = match (hook.as_str(), detail.as_str()) {
        ("SessionStart", "compact") => Some(std::fs::read_to_string(folder.join(PROTOCOL))?),
        // The turn is the agent's own; it is only told that somebody waits for its end.
        ("PostToolUse", _) if waits(folder) => Some(WAITS.to_owned()),
        _ => None,
    };
    let said = answer.map(|text| json!({"hookEventName": hook, "additionalContext": text}));
    let took_ms = input["duration_ms"].as_i64();
    let note = HookNote { at, hook, detail: one_line(&detail, DETAIL_CHARS), took_ms };
    let mut line = serde_json::to_vec(&note)?;
    line.push(b'\n');
    let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(folder.join(HOOKS))?;
    // In one write: hooks of one session may fire at the same time.
    file.write_all(&line)?;
    Ok(said.map(|said| json!({ "hookSpecificOutput": said }).to_string()))
}

/// What fired since `offset`, and where to go on reading.
pub fn notes(folder: &Path, offset: u64) -> Result<(Vec<HookNote>, u64), FileError> {
    journal::values(&folder.join(HOOKS), offset)
}

/// Whether something was said to the session that it can hear only when its turn has ended.
fn waits(folder: &Path) -> bool {
    client::unheard(folder).is_ok_and(|messages| !messages.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fired_is_kept_and_a_compacted_conversation_hears_the_protocol() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(PROTOCOL), "how to work").unwrap();
        let fire = |input: Value| fired(folder.path(), input.to_string().as_bytes(), Millis(1)).unwrap();
        assert_eq!(fire(json!({"hook_event_name": "PreCompact", "trigger": "auto"})), None);
        assert_eq!(fire(json!({"hook_event_name": "SessionStart", "source": "startup"})), None);
        let said = fire(json!({"hook_event_name": "SessionStart", "source": "compact"})).unwrap();
        assert!(said.contains("how to work"), "{said}");
        let (notes, _) = notes(folder.path(), 0).unwrap();
        let notes: Vec<_> = notes.iter().map(|note| (note.hook.as_str(), note.detail.as_str())).collect();
        assert_eq!(notes, [("PreCompact", "auto"), ("SessionStart", "startup"), ("SessionStart", "compact")]);
    }

    /// As Claude Code 2.1.325 says it to whoever writes the line.
    #[test]
    fn figures_say_when_the_windows_that_are_used_up_begin_anew() {
        let until = |five_hour: f64, seven_day: f64| {
            let limits = json!({
                "five_hour": {"used_percentage": five_hour, "resets_at": 1_794_816_843},
                "seven_day": {"used_percentage": seven_day, "resets_at": 1_795_000_000},
            });
            Figures::read(&json!({"context_window": {}, "rate_limits": limits})).limited_until
        };
        assert_eq!(until(99.0, 80.0), None);
        assert_eq!(until(100.0, 80.0), Some(Millis(1_794_816_843_000)));
        assert_eq!(until(100.0, 100.0), Some(Millis(1_795_000_000_000)));
        assert_eq!(Figures::read(&json!({"context_window": {}})).limited_until, None);
    }

    #[test]
    fn an_agent_at_work_is_told_that_a_message_waits() {
        let folder = tempfile::tempdir().unwrap();
        let used = json!({"hook_event_name": "PostToolUse", "tool_name": "Bash"}).to_string();
        let fire = || fired(folder.path(), used.as_bytes(), Millis(1)).unwrap();
        assert_eq!(fire(), None);
        client::say(folder.path(), "1", "stop").unwrap();
        assert!(fire().unwrap().contains("waits for the end of this turn"));
        std::fs::write(
            folder.path().join("turns.jsonl"),
            r#"{"fact":"delivered","message":"1","at":1}"#.to_owned() + "\n",
        )
        .unwrap();
        assert_eq!(fire(), None);
    }

    #[test]
    fn the_call_survives_a_path_with_odd_letters() {
        let settings: Value = serde_json::from_str(&settings(Path::new("/it's here/windlass"))).unwrap();
        let call = &settings["hooks"]["PreCompact"][0]["hooks"][0]["command"];
        assert_eq!(call, "'/it'\\''s here/windlass' hook");
    }
}
