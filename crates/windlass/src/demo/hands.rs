//! What the scripted agent can do, and how it tells about it: the stream-json lines of a headless agent.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

/// The workspace, the signals and the transcript of one session.
#[derive(Debug)]
pub struct Hands {
    workspace: PathBuf,
    phase_file: PathBuf,
    session: String,
    pace: Duration,
    turns: u64,
    tools: u64,
    /// Input tokens of the conversation so far, as a model would count them.
    context: u64,
    cost_usd: f64,
}

impl Hands {
    pub fn new(workspace: PathBuf, phase_file: PathBuf, session: String, pace: Duration) -> Self {
        Self { workspace, phase_file, session, pace, turns: 0, tools: 0, context: 2_000, cost_usd: 0.0 }
    }

    /// Every turn of a headless agent begins with its `init`.
    pub fn begin(&mut self, message: &str) -> io::Result<()> {
        self.turns += 1;
        self.context += message.len() as u64 / 4;
        self.line(&json!({
            "type": "system", "subtype": "init", "session_id": self.session, "cwd": self.workspace,
            "tools": ["Bash", "Write"], "model": "demo-1", "permissionMode": "bypassPermissions",
        }))
    }

    pub fn say(&self, text: &str) -> io::Result<()> {
        self.line(&self.assistant(&json!({"type": "text", "text": text})))
    }

    pub fn write(&mut self, path: &str, text: &str) -> io::Result<()> {
        let id = self.tool("Write", &json!({"file_path": path, "content": text}))?;
        let full = self.workspace.join(path);
        if let Some(folder) = full.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(full, text)?;
        self.tool_result(&id, "written", false)
    }

    /// Runs a command in the workspace; its output is what the model would see.
    pub fn run(&mut self, command: &str) -> io::Result<(bool, String)> {
        let id = self.tool("Bash", &json!({"command": command}))?;
        let done = Command::new("sh").arg("-c").arg(command).current_dir(&self.workspace).output()?;
        let mut text = String::from_utf8_lossy(&done.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&done.stderr));
        self.tool_result(&id, &text, !done.status.success())?;
        Ok((done.status.success(), text))
    }

    /// Commits everything; a second time there is nothing to commit and nothing happens.
    pub fn commit(&mut self, message: &str) -> io::Result<()> {
        let message = message.replace('\'', "");
        let (done, text) = self.run(&format!(
            "git add --all && {{ git diff --cached --quiet || git commit --quiet -m '{message}'; }}"
        ))?;
        if done { Ok(()) } else { Err(io::Error::other(text)) }
    }

    /// Signals, as the last act of a phase.
    pub fn signal(&mut self, phase: &str) -> io::Result<()> {
        let id = self.tool("Bash", &json!({"command": "printf '%s\\n' … > \"$WINDLASS_PHASE_FILE\""}))?;
        std::fs::write(&self.phase_file, format!("{phase}\n"))?;
        self.tool_result(&id, "", false)
    }

    /// Ends the turn. What was read before comes from the cache, as it would with a real provider.
    pub fn end(&mut self, text: &str, is_error: bool) -> io::Result<()> {
        let (fresh, cached) = (600, if self.turns > 1 { self.context } else { 0 });
        let written = if self.turns > 1 { 600 } else { self.context };
        let output = 200 + 40 * self.tools;
        let units = fresh as f64 * 3.0 + written as f64 * 3.75 + cached as f64 * 0.3 + output as f64 * 15.0;
        self.cost_usd += units / 1e6;
        self.context += output;
        self.line(&json!({
            "type": "result", "subtype": "success", "is_error": is_error, "num_turns": self.turns, "result": text,
            "session_id": self.session, "total_cost_usd": self.cost_usd, "stop_reason": "end_turn",
            "usage": {
                "input_tokens": fresh, "cache_creation_input_tokens": written,
                "cache_read_input_tokens": cached, "output_tokens": output,
            },
            "modelUsage": {"demo-1": {"costUSD": self.cost_usd}},
        }))
    }

    fn tool(&mut self, name: &str, input: &Value) -> io::Result<String> {
        std::thread::sleep(self.pace);
        self.tools += 1;
        let id = format!("toolu_{}", self.tools);
        self.line(&self.assistant(&json!({"type": "tool_use", "id": id, "name": name, "input": input})))?;
        Ok(id)
    }

    fn tool_result(&self, id: &str, text: &str, is_error: bool) -> io::Result<()> {
        let result = json!({"tool_use_id": id, "type": "tool_result", "content": text, "is_error": is_error});
        self.line(&json!({"type": "user", "message": {"role": "user", "content": [result]}, "session_id": self.session}))
    }

    fn assistant(&self, block: &Value) -> Value {
        json!({
            "type": "assistant", "session_id": self.session,
            "message": {"id": format!("msg_{}_{}", self.turns, self.tools), "model": "demo-1", "content": [block]},
        })
    }

    fn line(&self, value: &Value) -> io::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(out, "{value}")?;
        out.flush()
    }
}
