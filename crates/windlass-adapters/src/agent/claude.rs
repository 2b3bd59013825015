//! Claude Code: one long-lived process that takes messages and answers in stream-json, or the same in a terminal.

use std::path::{Path, PathBuf};

use super::bridge::terminal::Tmux;
use super::bridge::{Bridge, Terminal};
use super::hooks;
use super::{Conversation, Driver, SessionContext};
use crate::shim::{Framing, Launch};

/// As long as the provider keeps a conversation in its cache; after that a waiting process saves nothing.
pub(super) const KEEP_WARM_MS: i64 = 5 * 60 * 1000;

/// No word to anybody but the model's provider.
const QUIET: [&str; 6] = [
    "DISABLE_TELEMETRY",
    "DISABLE_AUTOUPDATER",
    "DISABLE_ERROR_REPORTING",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL",
    "CLAUDE_CODE_DISABLE_FEEDBACK_SURVEY",
];

/// With these and with tasks in the background it wakes itself between two messages. It then takes the next message into a
/// turn that it began by itself, or ends that turn after it was told the message: nobody can know what was answered.
const WAKES_ITSELF: &str = "CronCreate,Monitor,ScheduleWakeup,Workflow";

#[derive(Debug, Clone)]
pub struct ClaudeCode {
    options: ClaudeOptions,
    /// The program that its hooks call.
    windlass: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaudeOptions {
    /// A path, or a name that is looked for where programs are.
    pub binary: String,
    pub model: Option<String>,
    pub permission_mode: String,
    pub max_turns: Option<u32>,
    pub keep_warm_ms: i64,
    pub screen: Screen,
}

/// Where a person can see it at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Screen {
    /// Nowhere; what it says is in its transcript.
    None,
    Tmux,
}

impl Default for ClaudeOptions {
    fn default() -> Self {
        Self {
            binary: "claude".to_owned(),
            model: None,
            permission_mode: "bypassPermissions".to_owned(),
            max_turns: None,
            keep_warm_ms: KEEP_WARM_MS,
            screen: Screen::None,
        }
    }
}

impl ClaudeCode {
    pub fn new(options: ClaudeOptions, windlass: PathBuf) -> Self {
        Self { options, windlass }
    }

    fn argv(&self, context: &SessionContext, conversation: &Conversation) -> Vec<String> {
        match self.options.screen {
            Screen::None => {
                let mut argv = vec!["-p", "--verbose"];
                argv.extend(["--input-format", "stream-json", "--output-format", "stream-json"]);
                let mut argv = self.common(&argv);
                argv.extend(match conversation {
                    Conversation::New(id) => ["--session-id".to_owned(), id.clone()],
                    Conversation::Resumed(id) => ["--resume".to_owned(), id.clone()],
                });
                argv
            }
            Screen::Tmux => {
                let terminal = Terminal {
                    argv: self.common(&[]),
                    conversation: conversation.clone(),
                    folder: context.folder.clone(),
                    home: context.home.clone(),
                    workspace: context.workspace.clone(),
                };
                Bridge::Terminal(terminal).argv(&self.windlass)
            }
        }
    }

    fn common(&self, first: &[&str]) -> Vec<String> {
        let options = &self.options;
        let mut argv = vec![options.binary.as_str()];
        argv.extend(first);
        argv.extend(["--permission-mode", &options.permission_mode]);
        argv.extend(["--disallowedTools", WAKES_ITSELF]);
        argv.extend(options.model.iter().flat_map(|model| ["--model", model]));
        let turns = options.max_turns.map(|turns| turns.to_string());
        argv.extend(turns.iter().flat_map(|turns| ["--max-turns", turns]));
        let settings = hooks::settings(&self.windlass);
        argv.extend(["--settings", &settings]);
        argv.into_iter().map(str::to_owned).collect()
    }
}

impl Driver for ClaudeCode {
    fn launch(&self, context: &SessionContext) -> Launch {
        let first = self.argv(context, &context.conversation);
        let mut launch = context.launch(first, Framing::StreamJson);
        let resumed = Conversation::Resumed(context.conversation.id().to_owned());
        launch.again = Some(self.argv(context, &resumed));
        launch.keep_warm_ms = self.options.keep_warm_ms;
        let mut set = |key: &str, value: &str| drop(launch.env.insert(key.to_owned(), value.to_owned()));
        QUIET.iter().for_each(|key| set(key, "1"));
        set("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1");
        // Otherwise what has left the screen is lost to one who looks.
        set("CLAUDE_CODE_DISABLE_ALTERNATE_SCREEN", "1");
        set("CLAUDE_CODE_TMPDIR", &context.temp.to_string_lossy());
        // As root it refuses to work without asking, unless it is told that nothing is at stake: the session has a
        // clone, a home and an environment of its own, and nothing of the person who started us.
        if rustix::process::getuid().is_root() {
            set("IS_SANDBOX", "1");
        }
        launch
    }

    fn resumes(&self) -> bool {
        true
    }

    fn terminal(&self, folder: &Path) -> Option<PathBuf> {
        match self.options.screen {
            Screen::None => None,
            Screen::Tmux => Some(Tmux::new(folder).socket()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(conversation: Conversation, options: ClaudeOptions) -> Launch {
        let context = SessionContext::sample(conversation);
        ClaudeCode::new(options, "/bin/windlass".into()).launch(&context)
    }

    fn without_settings(argv: &[String]) -> String {
        let at = argv.iter().position(|word| word == "--settings").unwrap();
        [&argv[..at], &argv[at + 2..]].concat().join(" ")
    }

    #[test]
    fn the_first_life_names_the_conversation_and_every_other_resumes_it() {
        let first = launch(Conversation::New("c".into()), ClaudeOptions::default());
        insta::assert_snapshot!(without_settings(&first.argv), @"claude -p --verbose --input-format stream-json --output-format stream-json --permission-mode bypassPermissions --disallowedTools CronCreate,Monitor,ScheduleWakeup,Workflow --session-id c");
        insta::assert_snapshot!(without_settings(&first.again.unwrap()), @"claude -p --verbose --input-format stream-json --output-format stream-json --permission-mode bypassPermissions --disallowedTools CronCreate,Monitor,ScheduleWakeup,Workflow --resume c");
        let successor = launch(Conversation::Resumed("c".into()), ClaudeOptions::default());
        assert_eq!(Some(successor.argv), successor.again);
        assert_eq!(successor.env["DISABLE_TELEMETRY"], "1");
    }

    #[test]
    fn options_become_arguments() {
        let options =
            ClaudeOptions { model: Some("m".into()), max_turns: Some(7), ..ClaudeOptions::default() };
        let argv = launch(Conversation::New("c".into()), options).argv.join(" ");
        assert!(argv.contains("--model m --max-turns 7"), "{argv}");
    }
}
