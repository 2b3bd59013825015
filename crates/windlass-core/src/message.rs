//! Every sentence that Windlass says to an agent or writes on a forge.

mod landing;

pub use landing::{merge_commit, merge_several, merge_subject, replayed, squash_commit};

use std::fmt::Write as _;

use crate::id::Sha;
use crate::task::{AbandonReason, Crash, Critic, Feedback, Rejection, State, Task};
use crate::text::{bounded, clean, one_line};
use crate::verdict::{CriticComment, CriticReport, Decision, FindingStatus};

/// What a session is told when it goes on.
pub fn feedback(task: &Task, feedback: &Feedback) -> String {
    match feedback {
        Feedback::CiFailed { head, failing, log } => ci_failed(head, failing, log),
        Feedback::ChangesRequested { round, text } => format!(
            "The critic asks for changes (round {round}). Address every finding, commit, then signal \
             `PHASE:awaiting_ci` again.\n\n{text}"
        ),
        Feedback::Conflict { files, commits } => conflict(task, files, commits),
        Feedback::GateFailed { failing, log } => format!(
            "Your change passed alone but fails when it is merged with current main. Fetch main \
             (`git fetch origin`), merge it into `{}`, fix the failure, commit, then signal \
             `PHASE:awaiting_ci` again.\n\n{}{}",
            task.branch,
            failing_tests(failing),
            log_block(log)
        ),
        Feedback::Answer { by, text } => {
            format!("Answer from {by}:\n\n{}\n\nGo on with the issue.", clean(text))
        }
        Feedback::Told { by, text } => told(by, text),
        Feedback::LimitOver => "The provider's limit is over. Go on where you stopped.".into(),
        Feedback::Retry { reason } => another_try(reason),
    }
}

/// What the session of another try is told about the one before.
pub fn another_try(reason: &str) -> String {
    format!("An earlier try was stopped: {}", one_line(reason, 1_000))
}

fn ci_failed(head: &str, failing: &[String], log: &str) -> String {
    format!(
        "CI failed on {head}. Fix the cause, commit, then signal `PHASE:awaiting_ci` again. Tests that pass \
         need no change.\n\n{}{}",
        failing_tests(failing),
        log_block(log)
    )
}

fn conflict(task: &Task, files: &[String], commits: &[String]) -> String {
    let mut text = format!(
        "Main has moved and your change conflicts with it. Fetch main (`git fetch origin`), merge it into \
         `{}`, resolve the conflicts, commit, then signal `PHASE:awaiting_ci` again.\n\nConflicting files:\n",
        task.branch
    );
    text.push_str(&list(files));
    if !commits.is_empty() {
        text.push_str("\nThey were changed on main by:\n");
        text.push_str(&list(commits));
    }
    text
}

fn failing_tests(failing: &[String]) -> String {
    if failing.is_empty() {
        return String::new();
    }
    format!("Failing tests:\n{}\n", list(failing))
}

fn log_block(log: &str) -> String {
    format!("Log:\n```\n{}\n```\n", clean(log).trim_end())
}

fn list(items: &[String]) -> String {
    let mut text = String::new();
    for item in items.iter().take(50) {
        writeln!(text, "- {}", one_line(item, 200)).expect("writing to a String cannot fail");
    }
    if items.len() > 50 {
        writeln!(text, "- and {} more", items.len() - 50).expect("writing to a String cannot fail");
    }
    text
}

pub fn nudge(task: &Task) -> String {
    format!(
        "You stopped without a signal. If the work is ready, commit it on `{}` and write \
         `PHASE:awaiting_ci` to the file in $WINDLASS_PHASE_FILE. If you need a person, write \
         `PHASE:escalate` and your question on the second line. If it cannot be done, write `PHASE:failed` \
         and the reason on the second line. Otherwise go on.",
        task.branch
    )
}

pub fn phase_unknown(excerpt: &str) -> String {
    format!(
        "Your phase file says `{excerpt}`, which is not a signal. Write one line: PHASE:awaiting_ci, \
         PHASE:awaiting_review, PHASE:escalate, PHASE:done or PHASE:failed."
    )
}

pub fn work_rejected(task: &Task, why: &Rejection) -> String {
    format!("Not merged yet: {}.", rejection(task, why))
}

pub fn rejection(task: &Task, why: &Rejection) -> String {
    let branch = &task.branch;
    match why {
        Rejection::NothingCommitted => {
            format!("nothing is committed on `{branch}`; commit your work there, then signal again")
        }
        Rejection::NothingNew { head } => {
            format!("`{branch}` is still at {}, which is known already; commit something new", head.short())
        }
        Rejection::OtherBranch { branch: other } => {
            format!("your commits are on `{}`, not on `{branch}`; move them there", one_line(other, 100))
        }
        Rejection::HistoryRewritten => {
            format!("`{branch}` no longer descends from main; put your commits on top of `origin/main` again")
        }
        Rejection::WorkspaceGone => "the workspace is gone".into(),
        Rejection::Unreadable { detail } => {
            format!("your repository cannot be read: {}", one_line(detail, 300))
        }
    }
}

pub fn told(by: &str, text: &str) -> String {
    format!("{FROM_A_PERSON}{by}:\n\n{}", clean(text))
}

/// Whether this is the word of a person. Our own words hold for one session; a person's hold for its successor too.
pub fn is_told(text: &str) -> bool {
    text.starts_with(FROM_A_PERSON)
}

const FROM_A_PERSON: &str = "Message from ";

pub fn checkpoint_now() -> String {
    "Your context is filling up. Commit what you have now and write down what is left to do.".into()
}

pub fn hand_off() -> String {
    "Save your work and exit cleanly: commit everything, then stop. A successor goes on from your commits."
        .into()
}

pub fn crash(how: &Crash) -> String {
    match how {
        Crash::Exited { code } => format!("the agent ended with exit code {code}"),
        Crash::Killed { signal } => format!("the agent was ended by signal {signal}"),
        Crash::Vanished => "the agent vanished".into(),
        Crash::Stopped => "the factory was taken down".into(),
        Crash::Silent => "the agent showed no sign of work".into(),
        Crash::ConversationLost => "the conversation could not be resumed".into(),
        Crash::ContextFull => "the conversation is too long for the model".into(),
        Crash::Provider { what } => format!("the provider failed: {}", one_line(what, 200)),
    }
}

/// Reasons that pass by themselves: the issue goes back to the backlog.
pub fn is_transient(reason: &str) -> bool {
    reason.starts_with("api_error") || reason.starts_with("transient")
}

pub fn escalation(reason: &str) -> String {
    if reason.is_empty() {
        "The agent needs a person but gave no reason.".into()
    } else {
        one_line(reason, 1_000)
    }
}

pub fn provider_refuses(what: &str) -> String {
    format!(
        "The provider does not work for us: {}. Mend the key, the rights or the bill, then answer; the session goes on.",
        one_line(what, 300)
    )
}

pub fn provider_is_down(times: u32, what: &str) -> String {
    format!(
        "The provider failed {times} times in a row, last with: {}. Answer to try again.",
        one_line(what, 300)
    )
}

pub fn effect_failed(effect: &str, why: &str) -> String {
    format!("`{effect}` failed for good: {}", one_line(why, 500))
}

pub fn ci_timeout(head: &Sha) -> String {
    format!("CI gave no result for {} in time.", head.short())
}

pub fn ci_broke(head: &Sha, why: &str) -> String {
    format!(
        "CI could not run on {}: {}. Nothing is known about the change.",
        head.short(),
        one_line(why, 300)
    )
}

pub fn critic_timeout(head: &Sha) -> String {
    format!("The critic gave no verdict on {} in time.", head.short())
}

pub fn no_verdict(head: &Sha, why: &str) -> String {
    format!("The critic gave no usable verdict on {}, twice: {}.", head.short(), one_line(why, 300))
}

pub fn conflicts_again(files: &[String]) -> String {
    format!("The change conflicts with main again and again:\n{}", list(files))
}

pub fn withdrawn(by: &str) -> String {
    format!(
        "{} took the change out of the merge queue. `windlass tell` sends its session on, `windlass abandon` ends it.",
        one_line(by, 100)
    )
}

/// The comment that asks a person.
pub fn question(task: &Task, question: &str) -> String {
    format!(
        "**Needs you.** {}\n\nAnswer with `windlass tell {} \"…\"`. The session waits and goes on with your answer.",
        bounded(&clean(question), 4_000),
        task.issue.0
    )
}

pub fn change_body(task: &Task) -> String {
    format!("Closes {}.\n\nMade by {} on `{}`.", task.issue, task.session, task.branch)
}

pub fn merged(task: &Task, commit: &Sha) -> String {
    format!("Merged as {} by {}.", commit.short(), task.session)
}

pub fn already_on_main(task: &Task, head: &Sha) -> String {
    format!("Main already holds {} of {}; there is nothing left to land.", head.short(), task.session)
}

pub fn closed_by_person(task: &Task) -> String {
    format!(
        "The issue was closed; {} has stopped. Unmerged work is kept under `refs/windlass/rescue/`.",
        task.session
    )
}

/// The one diagnostic comment of a task that ended without success; the table can be read by a machine.
pub fn abandoned(task: &Task, reason: &AbandonReason) -> String {
    let tally = &task.tally;
    let mut text = format!("**Stopped.** {}\n\n", bounded(&clean(&reason.sentence()), 2_000));
    let rows = [
        ("reason", reason.word()),
        ("state", task.state.name().to_owned()),
        ("session", task.session.to_string()),
        ("branch", task.branch.clone()),
        ("head", task.pushed.as_ref().map_or_else(|| "-".into(), |head| head.to_string())),
        ("active", tally.active.to_string()),
        ("ci_fixes", tally.ci_fixes.to_string()),
        ("critic_rounds", tally.critic_rounds.to_string()),
        ("restarts", tally.restarts.len().to_string()),
        ("cost_micro_usd", tally.cost_micro_usd.to_string()),
    ];
    text.push_str("| what | value |\n|---|---|\n");
    for (what, value) in rows {
        writeln!(text, "| {what} | {value} |").expect("writing to a String cannot fail");
    }
    write!(text, "\nThe workspace is kept. Try again with `windlass retry {}`.", task.issue.0)
        .expect("writing to a String cannot fail");
    text
}

/// The critic's report as the forge shows it.
pub fn review(task: &Task, report: &CriticReport) -> String {
    let word = match report.verdict {
        Decision::Approve => "APPROVE",
        Decision::RequestChanges => "REQUEST_CHANGES",
        Decision::Block => "BLOCK",
    };
    let mut text = format!("**{word}** on {}\n", report.head.short());
    if !report.summary.is_empty() {
        write!(text, "\n{}\n", bounded(&clean(&report.summary), 4_000))
            .expect("writing to a String cannot fail");
    }
    if !report.comments.is_empty() {
        write!(text, "\n{}", findings(task, report)).expect("writing to a String cannot fail");
    }
    text
}

/// The findings verbatim, each with its id in the ledger.
pub fn findings(task: &Task, report: &CriticReport) -> String {
    let mut text = String::new();
    for comment in &report.comments {
        let known = task.findings.iter().find(|finding| {
            comment.finding.as_ref().map_or(
                finding.file == comment.file && finding.message == bounded(&clean(&comment.message), 4_000),
                |id| finding.id == *id,
            )
        });
        let id = known.map_or("F?", |finding| finding.id.as_str());
        let again = known.is_some_and(|finding| finding.status == FindingStatus::Reopened);
        let again = if again { " (again)" } else { "" };
        writeln!(text, "- {id}{again} {}: {}", place(comment), clean(&comment.message))
            .expect("writing to a String cannot fail");
    }
    text
}

fn place(comment: &CriticComment) -> String {
    let severity = format!("{:?}/{:?}", comment.severity, comment.category).to_lowercase();
    match (&comment.file, comment.line) {
        (Some(file), Some(line)) => format!("{severity} {}:{line}", one_line(file, 200)),
        (Some(file), None) => format!("{severity} {}", one_line(file, 200)),
        (None, _) => severity,
    }
}

/// What a person reads about a task's state in one line.
pub fn state_line(task: &Task) -> String {
    match &task.state {
        State::Dispatched => "the workspace is being made".into(),
        State::Running { .. } => "the agent works on the issue".into(),
        State::AwaitingCi { head, .. } => format!("CI runs on {}", head.short()),
        State::AwaitingCritic { head, critic, .. } => match critic {
            Critic::Wanted => format!("{} waits for a critic", head.short()),
            Critic::Reading { .. } => format!("the critic reads {}", head.short()),
            Critic::Down { what, .. } => format!("waits for the critic's provider: {}", one_line(what, 100)),
        },
        State::AwaitingSlot { feedback: Feedback::Retry { .. } } => "another try waits for a slot".into(),
        State::AwaitingSlot { feedback } => {
            format!("feedback is ready ({}), waits for a slot", feedback.word())
        }
        State::Revising { feedback, .. } => format!("the agent works on feedback ({})", feedback.word()),
        State::AwaitingHuman { question, .. } => format!("asks: {}", one_line(question, 200)),
        State::Limited { what, .. } => format!("waits for the provider: {}", one_line(what, 100)),
        State::HandingOff { .. } => "the context is full, a successor takes over".into(),
        State::Queued { head, .. } => format!("{} waits in the merge queue", head.short()),
        State::Merged { commit } => format!("merged as {}", commit.short()),
        State::Closed { how } => match how {
            crate::task::ClosedHow::IssueClosed => "the issue was closed".into(),
            crate::task::ClosedHow::AlreadyOnMain => "main already holds the work".into(),
        },
        State::Abandoned { reason } => format!("{}: {}", reason.word(), one_line(&reason.sentence(), 200)),
    }
}
