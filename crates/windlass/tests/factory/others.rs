//! Real agents of other makers in the factory, each behind its bridge, against the scripted provider.

mod codex;
mod goose;
mod opencode;

use std::process::Command;

use windlass_testkit::provider::{Asked, Provider, Step};
use windlass_testkit::real::Program;

use crate::claude::APPROVES;
use crate::works::Works;

/// A factory with one of them as its worker, and the provider that it talks to.
pub struct Lab {
    pub works: Works,
    pub provider: Provider,
}

/// A critic that costs nothing, for tests about the worker.
const SCRIPT: &str = "kind = \"command\"\ncommand = [\"sh\", \"@critic.sh\"]";

/// How one of them is set up and spoken for.
#[derive(Clone, Copy)]
pub struct Maker {
    pub program: Program,
    /// The table `[agent.dev]`; `<url>` is its provider.
    pub table: &'static str,
    /// Further keys of it.
    pub keys: &'static str,
    pub critic: &'static str,
    /// A step that runs a command with its own tool.
    pub run: fn(&str) -> Step,
}

/// The lab, or nothing where the program is not installed.
pub fn lab(test: &str, maker: Maker, ci: &str) -> Option<Lab> {
    let binary = maker.program.binary(test)?;
    let provider = Provider::start().unwrap();
    let table = maker.table.replace("<url>", &provider.url("dev"));
    let critic = maker.critic.replace("<url>", &provider.url("critic"));
    let config =
        format!("[ci]\ncommand = {ci:?}\n[agent.dev]\n{table}\n{}\n[agent.critic]\n{critic}\n", maker.keys);
    let works = Works::new(&config, &[("README", "begin\n")]);
    std::os::unix::fs::symlink(binary, works.machine.path("agent")).unwrap();
    works.script("critic.sh", APPROVES);
    works.script("key", "test-key\n");
    Some(Lab { works, provider })
}

impl Maker {
    /// A step that commits a file and signals that the work is ready.
    fn ready(&self, file: &str, text: &str) -> Step {
        (self.run)(&format!(
            "echo '{text}' > {file} && git add --all && git commit -q -m '{file}' && echo PHASE:awaiting_ci > $WINDLASS_PHASE_FILE"
        ))
    }
}

/// Each request holds all that people and model said before.
fn one_conversation(asked: &[Asked]) {
    for (one, next) in asked.iter().zip(&asked[1..]) {
        let (before, after) = (said(one), said(next));
        let grows = after.len() > before.len() || next.messages().len() > one.messages().len();
        assert!(grows, "{before:#?}\n{after:#?}");
        assert!(after.starts_with(&before), "{before:#?}\n{after:#?}");
        assert_eq!(one.conversation(), next.conversation());
    }
}

/// The words of people and model. What tools answered is left out: goose orders by the second what it loads, and where the
/// second changes between a tool's call and its answer, it takes the answer for a stray one and drops it.
fn said(asked: &Asked) -> Vec<String> {
    let all = asked.messages().into_iter().filter(|(role, _)| role == "user" || role == "assistant");
    let words = all.map(|(_, text)| without_asides(&text).trim().to_owned());
    words.filter(|text| !text.is_empty() && text != "(no output)").collect()
}

/// Without what goose adds to the last message and takes away again.
fn without_asides(text: &str) -> String {
    let mut left = text.to_owned();
    while let (Some(from), Some(to)) = (left.find("<info-msg>"), left.find("</info-msg>")) {
        left.replace_range(from..to + "</info-msg>".len(), "");
    }
    left
}

/// What was asked for, by the script of two rounds. Who signals that the work is ready has only to say so, and a merge that is
/// faster ends the session before that.
fn until_merged(provider: &Provider) -> Vec<Asked> {
    let asked = provider.asked("dev");
    assert!(asked.len() >= 3, "{asked:#?}");
    assert_eq!(asked.len() + provider.left("dev"), 4, "{asked:#?}");
    asked
}

/// From issue to main, with a red build on the way: its words come to the same conversation.
fn merges_in_one_conversation(test: &str, maker: Maker, ci: &str) -> Option<Lab> {
    let Lab { mut works, provider } = lab(test, maker, ci)?;
    provider.script("dev", [maker.ready("answer", "41"), Step::say("ready")]);
    provider.script("dev", [maker.ready("answer", "42"), Step::say("mended")]);
    works.new_issue("The answer", "Write the answer down.");
    works.up();
    let mut log = works.log();
    log.wait_merged(1);
    assert_eq!(works.git(&["show", "main:answer"]), "42");
    let asked = until_merged(&provider);
    one_conversation(&asked);
    let last = asked[asked.len() - 1].text();
    assert!(last.contains("Write the answer down.") && last.contains("CI failed on "), "{last}");
    assert_eq!(works.show(1)["task"]["sessions"], 1, "one session did it all");
    works.down();
    Some(Lab { works, provider })
}

/// Shows that the turn is under way, and does not end by itself.
const BUSY: &str = "echo half > half && git add half && git commit -q -m half && echo $PPID > $WINDLASS_SESSION_DIR/pid && \
                    mv $WINDLASS_SESSION_DIR/pid $WINDLASS_SESSION_DIR/busy && \
                    until [ -e $WINDLASS_SESSION_DIR/go ]; do python3 -c 'import time; time.sleep(0.02)'; done";

/// Who is killed.
#[derive(Clone, Copy)]
enum Victim {
    Agent,
    Bridge,
}

/// SIGKILL in the middle of a turn: a successor goes on with what the agent said and heard.
fn goes_on_when_killed(test: &str, maker: Maker, victim: Victim) {
    let Some((Lab { mut works, provider }, agent)) = busy(test, maker) else { return };
    kill(&match victim {
        Victim::Agent => agent,
        Victim::Bridge => parent(&agent),
    });
    let mut log = works.log();
    log.wait_merged(1);
    assert_eq!(works.git(&["show", "main:half", "main:answer"]), "half\n42");
    let asked = until_merged(&provider);
    one_conversation(&asked[..2]);
    one_conversation(&asked[2..]);
    assert_eq!(asked[1].conversation(), asked[2].conversation());
    let text = asked[2].text();
    assert!(text.contains("Your process was lost in the middle of a turn"), "{text}");
    assert!(text.contains("I look around first"), "what it had said is not forgotten: {text}");
    assert_eq!(text.matches("Write the answer down.").count(), 1, "the issue is said once: {text}");
    works.down();
    let (first, second) = (works.agent("dev-1.1-1"), works.agent("dev-1.1-2"));
    assert_eq!(first["session_id"], second["session_id"]);
    assert_eq!(second["predecessor_id"], "dev-1.1-1");
}

/// What the agent remembers is taken away before it is killed: a successor begins a new conversation, from hook and git.
fn begins_anew_when_lost(test: &str, maker: Maker, memory: &str) {
    let Some((Lab { mut works, provider }, agent)) = busy(test, maker) else { return };
    std::fs::remove_dir_all(works.session_file("dev-1.1-1", memory)).unwrap();
    kill(&agent);
    let mut log = works.log();
    log.wait_merged(1);
    let text = provider.asked("dev")[2].text();
    for words in ["Write the answer down.", "Resume from phase: ", "+half"] {
        assert!(text.contains(words), "`{words}` is not in {text}");
    }
    assert!(!text.contains("This is the same conversation"), "{text}");
    assert_eq!(works.show(1)["task"]["restarts"], 1, "a lost conversation is no crash of its own");
    works.down();
}

/// The agent in the middle of its second step, and the number of its process.
fn busy(test: &str, maker: Maker) -> Option<(Lab, String)> {
    let Lab { mut works, provider } = lab(test, maker, "true")?;
    provider.script("dev", [(maker.run)("true").with_words("I look around first"), (maker.run)(BUSY)]);
    provider.script("dev", [maker.ready("answer", "42"), Step::say("ready")]);
    works.new_issue("The answer", "Write the answer down.");
    works.up();
    let busy = works.session_file("dev-1.1-1", "busy");
    works.wait_path(&busy);
    let agent = std::fs::read_to_string(busy).unwrap().trim().to_owned();
    let program = std::fs::read_link(format!("/proc/{agent}/exe")).unwrap();
    assert_eq!(program, works.machine.path("agent").canonicalize().unwrap(), "it is the agent who is killed");
    Some((Lab { works, provider }, agent))
}

fn kill(pid: &str) {
    assert!(Command::new("kill").args(["-KILL", pid]).status().unwrap().success());
}

fn parent(pid: &str) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(')').unwrap().1.split_whitespace().nth(1).unwrap().to_owned()
}
