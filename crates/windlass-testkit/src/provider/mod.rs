//! A model provider on loopback that answers by script, for real agent programs: each agent has a URL of its own, and every
//! request is kept for the test to look at.

mod answer;
mod http;
mod responses;
mod script;
mod usage;

use std::collections::BTreeMap;
use std::io::{self, BufReader};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub use script::{Answer, Failure, Step};

use http::Request;
use usage::Caches;

/// Far above what anything needs: it only ends a test that would hang.
const PATIENCE: Duration = Duration::from_secs(120);

/// The server. Its threads end with the test's process.
#[derive(Debug)]
pub struct Provider {
    port: u16,
    shared: Arc<Shared>,
}

/// One request of an agent's conversation.
#[derive(Debug, Clone)]
pub struct Asked {
    pub at: Instant,
    pub body: Value,
}

#[derive(Debug, Default)]
struct Shared {
    desk: Mutex<Desk>,
    news: Condvar,
}

#[derive(Debug, Default)]
struct Desk {
    scripts: BTreeMap<String, std::collections::VecDeque<Step>>,
    asked: BTreeMap<String, Vec<Asked>>,
    caches: BTreeMap<String, Caches>,
    messages: u64,
}

impl Provider {
    pub fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared::default());
        let for_all = Arc::clone(&shared);
        std::thread::Builder::new().name("provider".into()).spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&for_all);
                std::thread::spawn(move || serve(&shared, stream));
            }
        })?;
        Ok(Self { port, shared })
    }

    /// The base URL of one agent.
    pub fn url(&self, name: &str) -> String {
        format!("http://127.0.0.1:{}/s/{name}", self.port)
    }

    /// Adds to what the agent of this name is answered, one step for each of its requests.
    pub fn script(&self, name: &str, steps: impl IntoIterator<Item = Step>) {
        self.shared.desk().scripts.entry(name.to_owned()).or_default().extend(steps);
    }

    /// What the agent of this name has asked so far, without titles and other asides.
    pub fn asked(&self, name: &str) -> Vec<Asked> {
        self.shared.desk().asked.get(name).cloned().unwrap_or_default()
    }

    /// Steps that nobody has asked for yet.
    pub fn left(&self, name: &str) -> usize {
        self.shared.desk().scripts.get(name).map_or(0, std::collections::VecDeque::len)
    }

    /// Waits until the agent has asked so often, and gives its requests.
    pub fn wait_asked(&self, name: &str, times: usize) -> Vec<Asked> {
        let until = Instant::now() + PATIENCE;
        let mut desk = self.shared.desk();
        while desk.asked.get(name).map_or(0, Vec::len) < times {
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "`{name}` has asked {} of {times} times", self.count(&desk, name));
            desk = self.shared.news.wait_timeout(desk, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        desk.asked[name].clone()
    }

    fn count(&self, desk: &Desk, name: &str) -> usize {
        desk.asked.get(name).map_or(0, Vec::len)
    }
}

impl Asked {
    /// The tools that the agent has used by then, in their order.
    pub fn tools(&self) -> Vec<&Value> {
        let messages = self.body["messages"].as_array().into_iter().flatten();
        let parts = messages.filter_map(|message| message["content"].as_array()).flatten();
        parts.filter(|part| part["type"] == "tool_use").collect()
    }

    /// The messages of the conversation, oldest first, each as its role and its texts.
    pub fn messages(&self) -> Vec<(String, String)> {
        let messages =
            ["messages", "input"].into_iter().filter_map(|key| self.body[key].as_array()).flatten();
        messages.map(said).collect()
    }

    /// The agent's own name for the conversation.
    pub fn conversation(&self) -> String {
        if let Some(name) = self.body["prompt_cache_key"].as_str() {
            return name.to_owned();
        }
        let user = self.body["metadata"]["user_id"].as_str().unwrap_or_default();
        let user: Value = serde_json::from_str(user).unwrap_or_default();
        word(&user["session_id"])
    }

    /// All that was said in the conversation.
    pub fn text(&self) -> String {
        self.messages().into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("\n")
    }
}

impl Shared {
    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A message with its role; of the Responses API also the call of a tool and its output.
fn said(message: &Value) -> (String, String) {
    match message["type"].as_str() {
        Some("function_call") => ("assistant".to_owned(), word(&message["arguments"])),
        Some("function_call_output") => ("tool".to_owned(), text(&message["output"])),
        Some(_) | None => (word(&message["role"]), text(&message["content"])),
    }
}

fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().map(|part| match &part["text"] {
                Value::String(text) => text.clone(),
                _ => text(&part["content"]),
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

/// One connection, for as many requests as come over it.
fn serve(shared: &Shared, stream: TcpStream) {
    let Ok(reading) = stream.try_clone() else { return };
    let (mut reader, mut writer) = (BufReader::new(reading), stream);
    // A client that goes away in the middle is what some tests are about.
    while let Ok(Some(request)) = Request::read(&mut reader) {
        if respond(shared, &request, &mut reader, &mut writer).is_err() {
            return;
        }
    }
}

fn respond(
    shared: &Shared,
    request: &Request,
    reader: &mut BufReader<TcpStream>,
    writer: &mut TcpStream,
) -> io::Result<()> {
    let (name, path) = route(&request.path);
    let Some(api) = Api::of(&request.method, path) else {
        let tokens = request.body.len() / 4;
        return http::json(writer, 200, &[], &json!({"input_tokens": tokens}));
    };
    let body: Value = serde_json::from_slice(&request.body)?;
    // Titles and other asides offer no tools and are no part of the conversation.
    if api == Api::Messages && body["tools"].as_array().is_none_or(Vec::is_empty) {
        return answer::send(writer, &body, 0, &script::say("an aside"), &usage::Usage::default());
    }
    let (step, usage, nth) = take(shared, name, &body);
    match step {
        Step::Answer(answer) => {
            std::thread::sleep(answer.after);
            match api {
                Api::Messages => answer::send(writer, &body, nth, &answer, &usage),
                Api::Responses => responses::send(writer, nth, &answer, &usage),
            }
        }
        Step::Fail(Failure { status, kind, message, headers }) => {
            let error = json!({"type": "error", "error": {"type": kind, "message": message}});
            http::json(writer, status, &headers, &error)
        }
        Step::Hang => http::wait_for_end(reader),
        Step::Drop => Err(io::ErrorKind::ConnectionAborted.into()),
    }
}

/// In which words the agent asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Api {
    Messages,
    Responses,
}

impl Api {
    fn of(method: &str, path: &str) -> Option<Self> {
        match (method, path.rsplit('/').next()) {
            ("POST", Some("messages")) => Some(Self::Messages),
            ("POST", Some("responses")) => Some(Self::Responses),
            _ => None,
        }
    }
}

/// Writes the request down and takes its step.
fn take(shared: &Shared, name: &str, body: &Value) -> (Step, usage::Usage, u64) {
    let mut desk = shared.desk();
    desk.messages += 1;
    let nth = desk.messages;
    desk.asked.entry(name.to_owned()).or_default().push(Asked { at: Instant::now(), body: body.clone() });
    let step = desk.scripts.get_mut(name).and_then(std::collections::VecDeque::pop_front);
    let usage = desk.caches.entry(name.to_owned()).or_default().usage(body);
    shared.news.notify_all();
    (step.unwrap_or_else(|| Step::say("the script is at its end")), usage, nth)
}

/// `/s/NAME/rest?query` is `rest` for the agent NAME.
fn route(path: &str) -> (&str, &str) {
    let path = path.split('?').next().unwrap_or_default();
    path.strip_prefix("/s/").and_then(|rest| rest.split_once('/')).unwrap_or(("", path))
}

#[cfg(test)]
mod tests;
