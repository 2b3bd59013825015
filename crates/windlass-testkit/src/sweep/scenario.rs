//! The scenarios: small ways of an issue through the factory, each with another turn of events.

use std::path::Path;

use windlass_core::command::Command;
use windlass_core::id::IssueNumber;
use windlass_core::policy::Policy;

use super::people::Wish;

#[derive(Debug)]
pub struct Scenario {
    pub name: &'static str,
    /// Titles; issue N is worked on by the Nth script.
    pub issues: &'static [&'static str],
    scripts: &'static [&'static str],
    critic: &'static str,
    /// What a build does in its checkout.
    ci: &'static str,
    /// Further tables of the configuration.
    config: &'static str,
    agent: Agent,
    pub people: &'static [Wish],
    pub policy: fn() -> Policy,
    /// The states that the tasks end in, in the order of the issues.
    pub ends: &'static [&'static str],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Agent {
    Scripts,
    /// The scripted agent inside windlass, which says what it costs.
    Demo,
    /// Driven like Claude Code, so that it can say how full its context is.
    Stream,
}

const READY: &str = "ready";
const APPROVES: &str = "approve";
const GREEN: &str = "true";
/// Red while the file `red` is there, and red if somebody's `bad` meets another one's work.
const STRICT: &str = "others=$(ls | grep -c '^work-')
if [ -e red ]; then echo 'not ok 1 - adds'; echo 1..1; exit 1; fi
if [ -e bad ] && [ $others -gt 1 ]; then echo 'not ok 1 - together'; echo 1..1; exit 1; fi
echo 'ok 1 - adds'; echo 1..1";

const PLAIN: Scenario = Scenario {
    name: "happy",
    issues: &["issue 1"],
    scripts: &[READY],
    critic: APPROVES,
    ci: GREEN,
    config: "",
    agent: Agent::Scripts,
    people: &[],
    policy: Policy::default,
    ends: &["MERGED"],
};

pub const SCENARIOS: &[Scenario] = &[
    PLAIN,
    Scenario {
        name: "ci_red",
        scripts: &["if [ $WINDLASS_TURN = 1 ]; then echo red > red; else git rm -q -f red; fi; ready"],
        ci: STRICT,
        ..PLAIN
    },
    Scenario {
        name: "critic_twice",
        critic: "case $nth in 1|2) changes \"round $nth\" ;; *) approve ;; esac",
        ..PLAIN
    },
    Scenario {
        name: "conflict",
        issues: &["issue 1", "issue 2"],
        scripts: &[CONFLICTS, CONFLICTS],
        critic: "case $n in 1) wait_for worked-2 ;; *) wait_for merged-1 ;; esac; approve",
        people: &[Wish { when: |stage| stage.is(1, "MERGED"), then: |stage| stage.note("merged-1") }],
        ends: &["MERGED", "MERGED"],
        ..PLAIN
    },
    Scenario {
        name: "flake",
        issues: &["issue 1", "issue 2"],
        scripts: &[READY, "ready; touch $here/worked-2"],
        critic: "case $n in 1) wait_for worked-2 ;; *) wait_for merged-1 ;; esac; approve",
        ci: "if [ -e work-1 ] && [ -e work-2 ] && [ ! -e $here/flaked ]; then
    touch $here/flaked; echo 'not ok 1 - flaky'; echo 1..1; exit 1
fi
echo 'ok 1 - flaky'; echo 1..1",
        people: &[Wish { when: |stage| stage.is(1, "MERGED"), then: |stage| stage.note("merged-1") }],
        ends: &["MERGED", "MERGED"],
        ..PLAIN
    },
    Scenario {
        name: "batch_one_bad",
        issues: &["issue 1", "issue 2", "issue 3"],
        scripts: &[READY, "if [ $WINDLASS_TURN = 1 ]; then echo bad > bad; else git rm -q -f bad; fi; ready", READY],
        critic: "[ $n = 1 ] || [ $nth != 1 ] || wait_for queued-$((n - 1)); approve",
        ci: STRICT,
        people: &[
            Wish { when: |stage| stage.is(1, "AWAITING_CI"), then: |stage| stage.ask(&pause()) },
            Wish { when: |stage| stage.is(1, "QUEUED"), then: |stage| stage.note("queued-1") },
            Wish { when: |stage| stage.is(2, "QUEUED"), then: |stage| stage.note("queued-2") },
            Wish { when: |stage| stage.is(3, "QUEUED"), then: |stage| stage.ask(&Command::QueueResume) },
        ],
        ends: &["MERGED", "MERGED", "MERGED"],
        ..PLAIN
    },
    Scenario {
        name: "direct_push",
        critic: "wait_for pushed; approve",
        people: &[Wish {
            when: |stage| stage.is(1, "AWAITING_CRITIC"),
            then: |stage| {
                stage.push_by_hand("by-hand");
                stage.note("pushed");
            },
        }],
        ..PLAIN
    },
    Scenario {
        name: "abandon",
        scripts: &["work; touch $here/worked; exec sleep 1000"],
        people: &[Wish {
            when: |stage| stage.is(1, "RUNNING") && stage.noted("worked"),
            then: |stage| stage.ask(&Command::Abandon { issue: IssueNumber(1) }),
        }],
        ends: &["ABANDONED"],
        ..PLAIN
    },
    Scenario {
        name: "closed_by_a_person",
        scripts: &["work; echo more > uncommitted; touch $here/worked; exec sleep 1000"],
        people: &[Wish {
            when: |stage| stage.is(1, "RUNNING") && stage.noted("worked"),
            then: |stage| drop(stage.must(&["close", "1"])),
        }],
        ends: &["CLOSED"],
        ..PLAIN
    },
    Scenario {
        name: "agent_killed",
        scripts: &["case $session in
    *-1) echo half > half; git add half; git commit -q -m half; echo $$ > $here/pid.tmp; mv $here/pid.tmp $here/pid
         exec sleep 1000 ;;
    *) ready ;;
esac"],
        people: &[Wish {
            when: |stage| stage.is(1, "RUNNING") && stage.noted("pid"),
            then: |stage| stage.kill_noted("pid"),
        }],
        ..PLAIN
    },
    Scenario {
        name: "budget",
        // The demo's agent cannot do this one without its predecessor: it fails and says what that cost.
        issues: &["Import a list from CSV"],
        config: "[budget]\nper_issue_usd = 0.001\n",
        agent: Agent::Demo,
        policy: || Policy {
            caps: windlass_core::policy::Caps { cost_micro_usd: 1_000, ..Policy::default().caps },
            ..Policy::default()
        },
        ends: &["ABANDONED"],
        ..PLAIN
    },
    Scenario {
        name: "question_answered",
        scripts: &["if [ $WINDLASS_TURN = 1 ]; then signal escalate 'which colour?'; else ready; fi"],
        people: &[Wish {
            when: |stage| stage.is(1, "AWAITING_HUMAN"),
            then: |stage| stage.ask(&Command::Tell { issue: IssueNumber(1), text: "blue".into() }),
        }],
        ..PLAIN
    },
    Scenario {
        name: "question_timed_out",
        scripts: &["signal escalate 'which colour?'"],
        config: "[timeouts]\nescalate = \"600ms\"\nrenotify = \"1h\"\n",
        ends: &["ABANDONED"],
        ..PLAIN
    },
    Scenario {
        name: "context_full",
        scripts: &["case $nth in
    1) echo half > half; tokens=190000 ;;
    *) ready; tokens=1000 ;;
esac"],
        agent: Agent::Stream,
        ..PLAIN
    },
    Scenario { name: "squash", config: "[queue]\nhistory = \"squash\"\n", ..PLAIN },
];

/// Both change the same file; whoever comes second keeps both sides.
const CONFLICTS: &str = "if [ $WINDLASS_TURN = 1 ]; then echo $n > same; ready; touch $here/worked-$n
else git fetch -q origin; git merge -q origin/main > /dev/null 2>&1; echo both > same; ready
fi";

fn pause() -> Command {
    Command::QueuePause { reason: "together".into() }
}

const TOOLS: &str = r#"here=@
session=${WINDLASS_SESSION:?}
n=${session#*-}; n=${n%%.*}; nth=${session##*-}
message=$(cat)
printf '%s\n' "$message" >> "$here/heard-${session%%-*}-$n"
work() { echo "$session $WINDLASS_TURN" > "work-$n"; git add --all && git commit -q -m "work on $n"; }
signal() { printf 'PHASE:%s\n%s\n' "$1" "$2" > "$WINDLASS_PHASE_FILE"; }
ready() { work; signal awaiting_ci; }
wait_for() { until [ -e "$here/$1" ]; do sleep 0.01; done; }
verdict() { printf '%s' "{\"head\":\"$(git rev-parse HEAD)\",\"verdict\":\"$1\",\"comments\":[$2]}" > "$WINDLASS_VERDICT_FILE"; }
approve() { verdict APPROVE; }
changes() { verdict REQUEST_CHANGES "{\"severity\":\"sev1\",\"category\":\"tests\",\"file\":\"a\",\"message\":\"$1\"}"; }
"#;

/// An agent that is driven like Claude Code: a line for each message, and lines that say what it used.
const STREAM: &str = r#"#!/bin/sh
here=@
session=${WINDLASS_SESSION:?}
n=${session#*-}; n=${n%%.*}; nth=${session##*-}
WINDLASS_TURN=stream
work() { echo "$session $WINDLASS_TURN" > "work-$n"; git add --all && git commit -q -m "work on $n"; }
signal() { printf 'PHASE:%s\n%s\n' "$1" "$2" > "$WINDLASS_PHASE_FILE"; }
ready() { work; signal awaiting_ci; }
while IFS= read -r message; do
    printf '%s\n' "$message" >> "$here/heard-dev-$n"
    . "$here/$n.sh"
    usage="{\"input_tokens\":$tokens,\"output_tokens\":1}"
    printf '{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"I work"}],"usage":%s}}\n' "$usage"
    printf '{"type":"result","is_error":false,"session_id":"c-%s","usage":%s,"modelUsage":{"m":{"contextWindow":200000}},"total_cost_usd":0}\n' "$session" "$usage"
done
"#;

impl Scenario {
    pub fn named(name: &str) -> &'static Self {
        SCENARIOS.iter().find(|scenario| scenario.name == name).expect("a scenario of that name")
    }

    /// Everything that lies beside and in the checkout, by path.
    pub(super) fn files(&self, here: &Path) -> Vec<(String, String)> {
        let here = here.display().to_string();
        let here = here.trim_end_matches('/');
        let tools = TOOLS.replace('@', here);
        let own = "[ -e \"$here/$n.sh\" ] && . \"$here/$n.sh\"\n";
        let mut files = vec![
            ("repo/README".to_owned(), "begin\n".to_owned()),
            ("repo/windlass.toml".to_owned(), self.config(here)),
            ("dev.sh".to_owned(), format!("{tools}{own}")),
            ("stream".to_owned(), STREAM.replace('@', here)),
            ("critic.sh".to_owned(), format!("{tools}{}\n", self.critic)),
            ("ci.sh".to_owned(), format!("here={here}\n{}\n", self.ci)),
        ];
        for (nth, script) in (1..).zip(self.scripts) {
            files.push((format!("{nth}.sh"), format!("{script}\n")));
        }
        files
    }

    fn config(&self, here: &str) -> String {
        let agents = match self.agent {
            Agent::Scripts => format!(
                "[agent.dev]\nkind = \"command\"\ncommand = [\"sh\", \"{here}/dev.sh\"]\n\
                 [agent.critic]\nkind = \"command\"\ncommand = [\"sh\", \"{here}/critic.sh\"]\n"
            ),
            Agent::Stream => format!(
                "[agent.dev]\nkind = \"claude-code\"\nbinary = \"{here}/stream\"\n\
                 [agent.critic]\nkind = \"command\"\ncommand = [\"sh\", \"{here}/critic.sh\"]\n"
            ),
            Agent::Demo => {
                "[agent.dev]\nkind = \"demo\"\nenv = { WINDLASS_DEMO_PACE_MS = \"1\" }\n".to_owned()
            }
        };
        format!(
            "[dispatch]\nparallel = 4\nmax_open_changes = 9\n{}\n[ci]\nslots = 2\ncommand = \"sh {here}/ci.sh\"\n\
             {agents}[guards]\nmin_free_memory_mb = 0\nmin_free_disk_mb = 0\n",
            self.config
        )
    }
}
