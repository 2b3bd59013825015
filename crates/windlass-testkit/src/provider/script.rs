//! What a scripted provider answers: one step for each request of a conversation.

use std::time::Duration;

use serde_json::{Value, json};

#[derive(Debug, Clone)]
pub enum Step {
    Answer(Answer),
    /// An error in place of an answer.
    Fail(Failure),
    /// Takes the request and never answers.
    Hang,
    /// Closes the connection without an answer.
    Drop,
}

/// What the model says and which tools it calls.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    pub text: Option<String>,
    pub tools: Vec<(String, Value)>,
    /// How many tokens the conversation has, if not as many as it looks like.
    pub context: Option<u64>,
    /// How long the model thinks.
    pub after: Duration,
}

#[derive(Debug, Clone)]
pub struct Failure {
    pub status: u16,
    pub kind: &'static str,
    pub message: String,
    pub headers: Vec<(String, String)>,
}

impl Step {
    pub fn say(text: &str) -> Self {
        Self::Answer(say(text))
    }

    pub fn tool(name: &str, input: Value) -> Self {
        Self::Answer(Answer { tools: vec![(name.to_owned(), input)], ..Answer::default() })
    }

    pub fn bash(command: &str) -> Self {
        Self::tool("Bash", json!({"command": command, "description": "a step of the script"}))
    }

    /// Writes a file with the agent's own tool; the path is absolute or in the workspace.
    pub fn write(path: &str, text: &str) -> Self {
        Self::tool("Write", json!({"file_path": path, "content": text}))
    }

    pub fn fail(status: u16, message: &str) -> Self {
        let kind = match status {
            400 => "invalid_request_error",
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            _ => "api_error",
        };
        Self::Fail(Failure { status, kind, message: message.to_owned(), headers: Vec::new() })
    }

    /// The answer also says something.
    #[must_use]
    pub fn with_words(self, text: &str) -> Self {
        match self {
            Self::Answer(answer) => Self::Answer(Answer { text: Some(text.to_owned()), ..answer }),
            Self::Fail(_) | Self::Hang | Self::Drop => self,
        }
    }

    /// The answer takes so long.
    #[must_use]
    pub fn after(self, time: Duration) -> Self {
        match self {
            Self::Answer(answer) => Self::Answer(Answer { after: time, ..answer }),
            Self::Fail(_) | Self::Hang | Self::Drop => self,
        }
    }

    /// The answer comes with the figures of a conversation of so many tokens.
    #[must_use]
    pub fn with_context(self, tokens: u64) -> Self {
        match self {
            Self::Answer(answer) => Self::Answer(Answer { context: Some(tokens), ..answer }),
            Self::Fail(_) | Self::Hang | Self::Drop => self,
        }
    }
}

pub(super) fn say(text: &str) -> Answer {
    Answer { text: Some(text.to_owned()), ..Answer::default() }
}
