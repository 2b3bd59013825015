//! `windlass demo-agent`: reads stream-json messages, works on them by script, answers in stream-json.

use std::io::{self, BufRead};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use super::hands::Hands;
use super::issues::Script;
use super::{critic, dev};

/// What the agent's environment tells it, read once by the command.
#[derive(Debug)]
pub struct Surroundings {
    pub workspace: PathBuf,
    pub session: String,
    pub session_dir: PathBuf,
    pub phase_file: PathBuf,
    pub verdict_file: Option<PathBuf>,
    pub pace: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Dev,
    Review,
}

/// Serves messages until the input ends.
pub fn serve(role: Role, around: &Surroundings) -> io::Result<()> {
    let mut hands =
        Hands::new(around.workspace.clone(), around.phase_file.clone(), around.session.clone(), around.pace);
    for line in io::stdin().lock().lines() {
        let Some(message) = text_of(&line?) else { continue };
        hands.begin(&message)?;
        let done = match role {
            Role::Dev => work(&mut hands, around, &message),
            Role::Review => critic::review(&mut hands, around, &message),
        };
        match done {
            Ok(text) => hands.end(&text, false)?,
            Err(error) => hands.end(&error.to_string(), true)?,
        }
    }
    Ok(())
}

/// The text of a user message line; other lines are not for us.
fn text_of(line: &str) -> Option<String> {
    let value: Value = serde_json::from_str(line).ok()?;
    if value["type"] != "user" {
        return None;
    }
    let content = &value["message"]["content"];
    match content.as_str() {
        Some(text) => Some(text.to_owned()),
        None => {
            let parts = content.as_array()?.iter().filter_map(|part| part["text"].as_str());
            Some(parts.collect::<Vec<_>>().join("\n"))
        }
    }
}

fn work(hands: &mut Hands, around: &Surroundings, message: &str) -> io::Result<String> {
    // A resumed process hears only the newest message; the issue stands in the session's brief.
    let brief = std::fs::read_to_string(around.session_dir.join("brief.md"))?;
    let script = title(message).or_else(|| title(&brief)).and_then(|title| Script::of_title(&title));
    match script {
        Some(script) => dev::act(hands, script, &dev::Moment::of(message)),
        None => {
            hands.say("I only know the issues of the demo.")?;
            hands.signal("PHASE:failed\nReason: refused: too_large")?;
            Ok("refused".into())
        }
    }
}

/// The heading of a brief is `# #7 Title`.
fn title(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with("# #"))?;
    line.split_once(' ')?.1.split_once(' ').map(|(_, title)| title.to_owned())
}
