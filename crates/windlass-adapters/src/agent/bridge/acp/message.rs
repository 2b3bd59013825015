//! The lines of the Agent Client Protocol that we read: JSON-RPC, of which each agent says a little more or less.

use serde_json::{Value, json};
use windlass_core::money::micro_usd;

use crate::agent::Usage;
use crate::agent::bridge::{Tool, failure};
use crate::shim::Failure;

/// One line from the agent.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// To a request of ours.
    Answer {
        id: u64,
        result: Result<Value, Failure>,
    },
    /// A request of the agent's.
    Asks {
        id: Value,
        method: String,
        params: Value,
    },
    Update(Update),
}

/// What the agent tells of its work.
#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    /// A piece of what it says.
    Says(String),
    Uses(Used),
    Plans,
    /// How full the conversation is.
    Fills {
        used: u64,
        size: u64,
        cost_micro_usd: Option<u64>,
    },
}

/// A tool, by what it is for, and what it works on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Used {
    pub kind: Kind,
    pub target: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Read,
    Search,
    Edit,
    Run,
    Fetch,
    Think,
    Other,
}

impl Used {
    pub fn tool(&self) -> Tool<'_> {
        let target = self.target.as_str();
        match self.kind {
            Kind::Read => Tool::Read(target),
            Kind::Search => Tool::Search(target),
            Kind::Edit => Tool::Edit(target),
            Kind::Run => Tool::Run(target),
            Kind::Fetch => Tool::Fetch(target),
            Kind::Think => Tool::Plan,
            Kind::Other => Tool::Other(target),
        }
    }
}

/// What a line says; nothing for one that tells us nothing.
pub fn read(line: &str) -> Option<Message> {
    let value: Value = serde_json::from_str(line).ok()?;
    let Some(method) = value["method"].as_str() else {
        let id = value["id"].as_u64()?;
        let result = match value.get("error") {
            Some(error) => Err(refused(error)),
            None => Ok(value.get("result")?.clone()),
        };
        return Some(Message::Answer { id, result });
    };
    let params = &value["params"];
    match value.get("id") {
        Some(id) => Some(Message::Asks { id: id.clone(), method: method.to_owned(), params: params.clone() }),
        None if method == "session/update" => update(&params["update"]).map(Message::Update),
        None => None,
    }
}

fn update(update: &Value) -> Option<Update> {
    match update["sessionUpdate"].as_str()? {
        "agent_message_chunk" => update["content"]["text"].as_str().map(|text| Update::Says(text.to_owned())),
        "tool_call" => Some(Update::Uses(used(update))),
        "plan" => Some(Update::Plans),
        "usage_update" => {
            let cost = Some(&update["cost"]).filter(|cost| cost["currency"] == "USD");
            Some(Update::Fills {
                used: update["used"].as_u64()?,
                size: update["size"].as_u64()?,
                cost_micro_usd: cost.and_then(|cost| cost["amount"].as_f64()).map(micro_usd),
            })
        }
        _ => None,
    }
}

/// Some agents do not say what a tool is for, but show what it was given.
fn used(call: &Value) -> Used {
    let input = |key: &str| call["rawInput"][key].as_str();
    let command = input("command").or_else(|| input("cmd"));
    let kind = match call["kind"].as_str() {
        Some("read") => Kind::Read,
        Some("search") => Kind::Search,
        Some("edit" | "delete" | "move") => Kind::Edit,
        Some("execute") => Kind::Run,
        Some("fetch") => Kind::Fetch,
        Some("think") => Kind::Think,
        Some(_) | None if command.is_some() => Kind::Run,
        Some(_) | None => Kind::Other,
    };
    let path = call["locations"][0]["path"].as_str();
    let title = call["title"].as_str().unwrap_or_default();
    let target = match kind {
        Kind::Read | Kind::Edit => path.or_else(|| input("path")).or_else(|| input("file_path")),
        Kind::Run => command,
        Kind::Search => input("pattern").or_else(|| input("query")),
        Kind::Fetch => input("url"),
        Kind::Think | Kind::Other => None,
    };
    Used { kind, target: target.unwrap_or(title).to_owned() }
}

/// The answer to a request to work with a tool: the option that is nearest to the wish.
pub fn permit(params: &Value, wish: Permission) -> Value {
    let kinds = match wish {
        Permission::Allow => ["allow_always", "allow_once"],
        Permission::Reject => ["reject_once", "reject_always"],
    };
    let options = params["options"].as_array().map(Vec::as_slice).unwrap_or_default();
    let of_kind = |kind: &&str| options.iter().find(|option| option["kind"] == **kind);
    let chosen = kinds.iter().find_map(of_kind).map(|option| &option["optionId"]);
    match chosen {
        Some(option) => json!({"outcome": {"outcome": "selected", "optionId": option}}),
        None => json!({"outcome": {"outcome": "cancelled"}}),
    }
}

/// What an agent hears when it asks whether it may use a tool. Nobody is there to be asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    #[default]
    Allow,
    Reject,
}

/// How the turn of an answered prompt ended, if not well.
pub fn stopped(answer: &Value) -> Option<Failure> {
    let reason = answer["stopReason"].as_str().unwrap_or_default();
    let kind = match reason {
        "end_turn" => return None,
        "max_turn_requests" => "max_turns",
        other => other,
    };
    Some(Failure { status: None, kind: kind.to_owned(), text: format!("the agent stopped: {reason}") })
}

/// What the turn used, as far as the agent says it.
pub fn usage(answer: &Value) -> Usage {
    let count = |key: &str| answer["usage"][key].as_u64().unwrap_or(0);
    Usage {
        input: count("inputTokens"),
        cache_write: count("cachedWriteTokens"),
        cache_read: count("cachedReadTokens"),
        output: count("outputTokens"),
        ..Usage::default()
    }
}

/// Codes of the protocol: a login is missing, and there is no such session.
const LOGIN: i64 = -32_000;
const NOT_FOUND: i64 = -32_002;

fn refused(error: &Value) -> Failure {
    let data = error["data"].as_str().map(str::to_owned).or_else(|| word(&error["data"]["details"]));
    let words = word(&error["message"]).into_iter().chain(data).collect::<Vec<_>>().join(": ");
    let kind = match error["code"].as_i64() {
        Some(LOGIN) => "authentication_failed",
        Some(NOT_FOUND) => NO_SESSION,
        Some(_) | None => return failure::by_words(&words),
    };
    Failure { status: None, kind: kind.to_owned(), text: words }
}

/// The kind of the failure to find something.
pub const NO_SESSION: &str = "not_found";

fn word(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(kind: Kind, target: &str) -> Option<Message> {
        Some(Message::Update(Update::Uses(Used { kind, target: target.into() })))
    }

    /// From goose 1.34.0 and, with a `kind`, as the protocol has it.
    #[test]
    fn recorded_lines_are_read() {
        let goose = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"20261116_1","update":{"sessionUpdate":"tool_call","toolCallId":"toolu_1","title":"developer: shell · cat g","rawInput":{"command":"cat g"},"_meta":{}}}}"#;
        assert_eq!(read(goose), uses(Kind::Run, "cat g"));
        let edit = r#"{"method":"session/update","params":{"update":{"sessionUpdate":"tool_call","title":"Edit a.rs","kind":"edit","locations":[{"path":"/w/a.rs"}]}}}"#;
        assert_eq!(read(edit), uses(Kind::Edit, "/w/a.rs"));
        let other = r#"{"method":"session/update","params":{"update":{"sessionUpdate":"tool_call","title":"a tool","kind":"new"}}}"#;
        assert_eq!(read(other), uses(Kind::Other, "a tool"));
        let says = r#"{"method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I run it"}}}}"#;
        assert_eq!(read(says), Some(Message::Update(Update::Says("I run it".into()))));
        let fills = r#"{"method":"session/update","params":{"update":{"sessionUpdate":"usage_update","used":185,"size":200000,"cost":{"amount":0.25,"currency":"USD"}}}}"#;
        let full = Update::Fills { used: 185, size: 200_000, cost_micro_usd: Some(250_000) };
        assert_eq!(read(fills), Some(Message::Update(full)));
        for nothing in [
            "banner",
            r#"{"method":"session/update","params":{"update":{"sessionUpdate":"agent_thought_chunk","content":{"text":"hm"}}}}"#,
            r#"{"method":"session/update","params":{"update":{"sessionUpdate":"session_info_update","title":"t"}}}"#,
        ] {
            assert_eq!(read(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn answers_say_how_a_turn_ended() {
        let line = r#"{"jsonrpc":"2.0","result":{"stopReason":"end_turn","usage":{"totalTokens":185,"inputTokens":165,"outputTokens":20}},"id":3}"#;
        let Some(Message::Answer { id: 3, result: Ok(answer) }) = read(line) else { panic!("{line}") };
        assert_eq!(stopped(&answer), None);
        assert_eq!((usage(&answer).input, usage(&answer).output), (165, 20));
        let kind = |reason: &str| stopped(&json!({"stopReason": reason})).map(|failure| failure.kind);
        assert_eq!(kind("max_turn_requests").as_deref(), Some("max_turns"));
        assert_eq!(kind("refusal").as_deref(), Some("refusal"));
        let line = r#"{"jsonrpc":"2.0","error":{"code":-32002,"message":"Resource not found","data":"Session not found: x"},"id":2}"#;
        let Some(Message::Answer { id: 2, result: Err(failure) }) = read(line) else { panic!("{line}") };
        assert_eq!(
            (failure.kind.as_str(), failure.text.as_str()),
            (NO_SESSION, "Resource not found: Session not found: x")
        );
    }

    #[test]
    fn a_request_for_permission_is_answered_by_the_wish() {
        let params = json!({"options": [
            {"optionId": "r", "kind": "reject_once"}, {"optionId": "o", "kind": "allow_once"}]});
        let chosen = |wish| permit(&params, wish)["outcome"]["optionId"].as_str().map(str::to_owned);
        assert_eq!(chosen(Permission::Allow).as_deref(), Some("o"));
        assert_eq!(chosen(Permission::Reject).as_deref(), Some("r"));
        assert_eq!(permit(&json!({}), Permission::Allow)["outcome"]["outcome"], "cancelled");
    }
}
