//! What was lost with a shim, and what was stopped by us.

use windlass_core::activity::{Activity, ContextUse};
use windlass_core::id::{IssueNumber, TaskId};
use windlass_core::session::IdentityStatus;

use super::*;

fn identity(role: Role) -> Identity {
    let task = TaskId::nth(IssueNumber(1), 1);
    let name = match role {
        Role::Dev => SessionId::dev(&task, 1),
        Role::Review => SessionId::review(&task, 1),
    };
    Identity {
        role,
        name,
        task,
        issue: IssueNumber(1),
        session_id: None,
        pid: None,
        tmux_session: None,
        node_id: None,
        bead_id: None,
        worktree_path: String::new(),
        hook_path: String::new(),
        created_at: Millis(0),
        last_seen: Millis(0),
        status: IdentityStatus::Active,
        predecessor_id: None,
        strikes: 0,
        head: Sha::parse(&"a".repeat(40)).ok(),
        phase_mark: None,
        facts_read: 0,
        cost_seen_micro_usd: 0,
        transcript_read: 0,
        hooks_read: 0,
        activity: Activity::default(),
        context: ContextUse::default(),
    }
}

fn delivered(message: &str) -> Fact {
    Fact::Delivered { message: message.into(), at: Millis(1) }
}

fn ended(message: &str) -> Fact {
    Fact::TurnEnded { message: message.into(), at: Millis(2), end: End::Exit(0) }
}

#[test]
fn a_turn_whose_end_was_lost_with_its_shim_is_not_open_for_ever() {
    let crashes = |facts: Vec<Fact>| {
        let look = digest(&Papers { facts, ..Papers::default() }, &identity(Role::Dev), Life::Over);
        look.events.iter().any(|event| matches!(event, Event::AgentCrashed { .. }))
    };
    assert!(crashes(vec![delivered("m1")]));
    assert!(!crashes(vec![delivered("m1"), delivered("m2"), ended("m2")]), "the second turn ended well");
    assert!(crashes(vec![delivered("m1"), ended("m1"), delivered("m2")]));
}

#[test]
fn a_critic_that_was_stopped_with_the_factory_gave_no_bad_answer() {
    let papers = |stopped| Papers {
        facts: vec![delivered("m1")],
        stopped,
        verdict: Some(Ok(String::new())),
        ..Papers::default()
    };
    let seen = |stopped| digest(&papers(stopped), &identity(Role::Review), Life::Over).events;
    assert!(matches!(seen(false)[..], [Event::NoVerdict { .. }]), "{:?}", seen(false));
    let passing = Trouble::Passing;
    assert!(
        matches!(&seen(true)[..], [Event::CriticFailed { trouble, .. }] if *trouble == passing),
        "{:?}",
        seen(true)
    );
}
