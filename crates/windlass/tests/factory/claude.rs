//! The real Claude Code in the factory, against a provider on loopback that answers by script.

mod context;
mod idle;
mod kills;
mod phases;
mod rounds;
mod terminal;
mod troubles;
mod wakes;

use windlass_testkit::provider::{Asked, Provider, Step};
use windlass_testkit::real;

use crate::secrets::KEY as KEY_ITSELF;
use crate::works::Works;

/// A critic that costs nothing, for tests about the worker.
pub const APPROVES: &str = "cat > /dev/null; printf '{\"head\":\"%s\",\"verdict\":\"APPROVE\"}' $(git rev-parse HEAD) > $WINDLASS_VERDICT_FILE";

/// The key that gives an agent a terminal.
pub const TMUX: &str = "terminal = \"tmux\"";
const KEY: &str = "ANTHROPIC_API_KEY";

/// A factory whose worker is Claude Code, and the provider that it talks to.
pub struct Lab {
    pub works: Works,
    pub provider: Provider,
}

/// What a test wants to be different.
#[derive(Clone, Copy)]
pub struct Wish<'a> {
    pub ci: &'a str,
    /// The variable by which the worker gets its key.
    pub key: &'a str,
    /// Further keys of `[agent.dev]`.
    pub keys: &'a str,
    /// Further variables, each `, NAME = "value"`.
    pub env: &'a str,
    /// The table of the critic, and further tables.
    pub critic: &'a str,
    pub tables: &'a str,
}

impl Default for Wish<'_> {
    fn default() -> Self {
        let critic = "[agent.critic]\nkind = \"command\"\ncommand = [\"sh\", \"@critic.sh\"]\n";
        Self { ci: "true", key: KEY, keys: "", env: "", critic, tables: "" }
    }
}

/// The lab, or nothing where Claude Code is not installed.
pub fn lab(test: &str, wish: &Wish<'_>) -> Option<Lab> {
    let binary = real::CLAUDE.binary(test)?;
    if wish.keys.contains(TMUX) && !real::has_tmux(test) {
        return None;
    }
    let provider = Provider::start().unwrap();
    let config = format!(
        "[ci]\ncommand = {:?}\n[agent.dev]\nkind = \"claude-code\"\nbinary = \"@claude\"\n{}\nenv = {}\n{}{}",
        wish.ci,
        wish.keys,
        env(&provider, "dev", wish.key, wish.env),
        wish.critic,
        wish.tables
    );
    let works = Works::new(
        &config.replace("CRITIC_ENV", &env(&provider, "critic", KEY, "")),
        &[("README", "begin\n")],
    );
    std::os::unix::fs::symlink(binary, works.machine.path("claude")).unwrap();
    works.script("critic.sh", APPROVES);
    works.script("key", &format!("{KEY_ITSELF}\n"));
    Some(Lab { works, provider })
}

fn env(provider: &Provider, name: &str, key: &str, more: &str) -> String {
    let url = provider.url(name);
    format!(
        "{{ {key} = \"file:@key\", ANTHROPIC_BASE_URL = {url:?}, CLAUDE_CODE_MAX_RETRIES = \"0\"{more} }}"
    )
}

/// A step that commits a file and signals that the work is ready.
pub fn ready(file: &str, text: &str) -> Step {
    Step::bash(&format!(
        "echo '{text}' > {file} && git add --all && git commit -q -m '{file}' && echo PHASE:awaiting_ci > $WINDLASS_PHASE_FILE"
    ))
}

/// Each request holds all that was said before, and all are of one conversation, whose name is the answer.
pub fn one_conversation(asked: &[Asked]) -> String {
    for (one, next) in asked.iter().zip(&asked[1..]) {
        let (before, after) = (said(one), said(next));
        assert!(after.len() > before.len(), "{before:#?}\n{after:#?}");
        // What comes next may be added to the last message of before.
        let last = before.len() - 1;
        assert_eq!(after[..last], before[..last]);
        assert!(after[last].1.starts_with(&before[last].1), "{:?}\n{:?}", before[last], after[last]);
    }
    let name = asked[0].conversation();
    assert!(!name.is_empty() && asked.iter().all(|asked| asked.conversation() == name));
    name
}

/// The words of people, tools and model. What the program adds for itself differs from life to life.
fn said(asked: &Asked) -> Vec<(String, String)> {
    let all = asked.messages().into_iter().filter(|(role, _)| role != "system");
    all.map(|(role, text)| (role, text.trim_end().to_owned())).collect()
}
