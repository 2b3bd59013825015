//! A factory whose agents are shell scripts: one for each issue, and a critic.

use serde_json::Value;

use crate::works::{Log, Works};

/// Approves whatever it sees.
pub const APPROVES: &str = "approve";
/// The usual agent: does its work and says so.
pub const READY: &str = "ready";

/// A configuration with the usual agents; `ci` is the build's command, `more` are further tables.
pub fn config(ci: &str, more: &str) -> String {
    format!(
        "[dispatch]\nparallel = 12\nmax_open_changes = 99\n{more}\n[ci]\nslots = 6\ncommand = {ci:?}\n\
         [agent.dev]\nkind = \"command\"\ncommand = [\"sh\", \"@dev.sh\"]\n\
         [agent.critic]\nkind = \"command\"\ncommand = [\"sh\", \"@critic.sh\"]\n"
    )
}

/// Issue N is worked on by the Nth script. The factory is not up yet.
pub fn crew(config: &str, critic: &str, scripts: &[&str]) -> Works {
    let works = Works::new(config, &[("README", "begin\n")]);
    let here = works.machine.path("").to_string_lossy().into_owned();
    let tools = TOOLS.replace('@', &here);
    works.script("dev.sh", &format!("{tools}{DEV}"));
    works.script("critic.sh", &format!("{tools}{CRITIC}{critic}\n"));
    for (nth, script) in (1..).zip(scripts) {
        works.script(&format!("{nth}.sh"), script);
        assert_eq!(works.new_issue(&format!("issue {nth}"), "do it"), nth);
    }
    works
}

const TOOLS: &str = r#"
here=@
session=${WINDLASS_SESSION:?}
n=${session#*-}; n=${n%%.*}
message=$(cat)
printf '%s\n' "$message" >> "$here/${session%%-*}-heard-$n"
work() { echo "$session $WINDLASS_TURN" > "work-$n"; git add --all && git commit -q -m "work on $n"; }
signal() { printf 'PHASE:%s\n%s\n' "$1" "$2" > "$WINDLASS_PHASE_FILE"; }
ready() { work; signal awaiting_ci; }
verdict() { printf '%s' "$1" > "$WINDLASS_VERDICT_FILE"; }
approve() { verdict "{\"head\":\"$(git rev-parse HEAD)\",\"verdict\":\"APPROVE\"}"; }
"#;

/// An issue without a script has the usual agent.
const DEV: &str = "if [ -e \"$here/$n.sh\" ]; then . \"$here/$n.sh\"; else ready; fi\n";
/// The how-manieth review of the issue this is.
const CRITIC: &str = "nth=${session##*-}\n";

impl Works {
    /// Everything that the agents of an issue were told.
    pub fn heard(&self, issue: u64) -> String {
        self.note(&format!("dev-heard-{issue}"))
    }

    /// What a script wrote down beside the checkout.
    pub fn note(&self, name: &str) -> String {
        std::fs::read_to_string(self.machine.path(name)).unwrap_or_default()
    }

    pub fn show(&self, issue: u64) -> Value {
        self.machine.json(&["show", &issue.to_string()])
    }

    pub fn labels(&self, issue: u64) -> Vec<String> {
        let shown = self.show(issue);
        shown["labels"].as_array().unwrap().iter().map(|label| label.as_str().unwrap().to_owned()).collect()
    }

    /// The texts of the comments that begin like this.
    pub fn comments(&self, issue: u64, begin: &str) -> Vec<String> {
        let shown = self.show(issue);
        let all = shown["comments"].as_array().unwrap().iter();
        let bodies = all.map(|comment| comment["body"].as_str().unwrap().to_owned());
        bodies.filter(|body| body.starts_with(begin)).collect()
    }

    /// Main holds exactly one merge of the issue, alone or below others that landed with it.
    pub fn is_on_main(&self, issue: u64) -> bool {
        let subjects = self.git(&["log", "--format=%s", "main"]);
        subjects.lines().filter(|line| line.starts_with(&format!("Merge #{issue}: "))).count() == 1
    }

    /// The process that wrote its number into this note has ended.
    pub fn is_gone(&self, note: &str) -> bool {
        has_ended(self.note(note).trim())
    }
}

/// Whether no process has this number; one that only waits to be reaped has ended.
pub fn has_ended(pid: &str) -> bool {
    assert!(pid.parse::<u32>().is_ok(), "`{pid}` is no number of a process");
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_none_or(|(_, rest)| rest.trim_start().starts_with('Z'))
}

impl Log {
    /// Waits until the issue is merged, closed and cleared away, however it stood before.
    pub fn wait_merged(&mut self, issue: u64) {
        self.wait_state(issue, "MERGED");
        self.wait_effect(issue, "close_issue");
        self.wait_effect(issue, "remove_workspace");
    }

    fn wait_effect(&mut self, issue: u64, effect: &str) {
        self.wait(&format!("{effect} of #{issue}"), |event| {
            event["kind"] == "effect_done" && event["issue"] == issue && event["data"]["effect"] == effect
        });
    }

    /// Waits until the session's processes have ended for good.
    pub fn wait_terminated(&mut self, session: &str) {
        self.wait(session, |event| {
            event["kind"] == "agent_terminated" && event["data"]["session"] == session
        });
    }

    /// Waits until the labels and the comment of the issue's last move are where people see them.
    pub fn wait_commented(&mut self, issue: u64) {
        let moves = self.seen.iter().filter(|event| event["kind"] == "task_moved" && event["issue"] == issue);
        let last = moves.filter_map(|event| event["seq"].as_u64()).max();
        self.wait(&format!("the comment on #{issue}"), |event| {
            event["issue"] == issue && event["data"]["effect"] == "comment" && event["seq"].as_u64() > last
        });
    }

    pub fn count(&self, kind: &str, issue: u64) -> usize {
        self.seen.iter().filter(|event| event["kind"] == kind && event["issue"] == issue).count()
    }
}

/// How a task ended that was abandoned.
pub fn abandoned(reason: &str) -> (String, String) {
    ("ABANDONED".to_owned(), reason.to_owned())
}
