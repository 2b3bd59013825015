//! The gate of the simulator: thousands of seeds keep every rule, every situation is reached, every bug is caught.

use windlass_core::id::IssueNumber;
use windlass_core::policy::Limits;
use windlass_core::time::Span;
use windlass_testkit::sim::{
    self, Bug, BuildKind, Deed, Depth, EffectFault, Gate, IssuePlan, Lines, LinkFault, MINUTE, Mishap,
    NoticeFault, Plan, PushKind, ReadFault, Rule, Run, Template, Times, TurnKind,
};

const THREADS: usize = 2;

#[test]
fn two_thousand_seeds_keep_every_rule_and_run_the_same_twice() {
    let gate = Gate { from: 0, seeds: 2_000, threads: THREADS, times: Times::Twice, bug: None, enough: 5 };
    let summary = sim::gate(&gate);
    assert_eq!(summary.broken, [], "replay: cargo run -p windlass-testkit --bin sim -- --seed N --shrink");
    assert_eq!(summary.probes.missed(), Vec::<&str>::new(), "no seed reached this");
    assert_eq!(summary.runs, 4_000);
}

#[test]
fn the_daemon_may_die_at_every_point() {
    let swept = sim::sweep(3, Depth::Single, THREADS);
    assert_eq!(swept.broken, []);
    assert!(swept.points > 200, "{} points", swept.points);
}

/// Each deliberate bug, and the rules of which one must see it.
const TEETH: &[(Bug, &[Rule])] = &[
    (Bug::NoLease, &[Rule::Lease]),
    (Bug::NoFence, &[Rule::Fence, Rule::Lives]),
    (Bug::RecordBeforeEffect, &[Rule::Recorded]),
    (Bug::InfraCountsAsFail, &[Rule::Infra]),
    (Bug::NewestFirst, &[Rule::InTurn]),
    (Bug::StaleVerdict, &[Rule::Approved]),
    (Bug::ErrorReadAsEmpty, &[Rule::IdleSlot, Rule::Ends]),
    (Bug::ForgottenSlot, &[Rule::IdleSlot]),
    (Bug::DoubleDispatch, &[Rule::OneTask, Rule::Lives]),
    (Bug::LostEscalation, &[Rule::Asked]),
    (Bug::NoRecovery, &[Rule::Remembered, Rule::Ends]),
    (Bug::RemovalBeforeStop, &[Rule::Saved]),
    (Bug::RemovalWithoutSaving, &[Rule::Saved]),
    (Bug::NoContainment, &[Rule::Settles, Rule::Ends]),
    (Bug::LandWithoutVerdict, &[Rule::Tested]),
    (Bug::UncountedRounds, &[Rule::Caps]),
    (Bug::PauseIgnored, &[Rule::Paused]),
    (Bug::SilentGiveUp, &[Rule::Told]),
    (Bug::NoSecondLook, &[Rule::Noticed]),
    (Bug::QueuePauseIgnored, &[Rule::QueueStands, Rule::Settles]),
    (Bug::BudgetIgnored, &[Rule::Budget]),
];

#[test]
fn every_deliberate_bug_is_caught() {
    let named: Vec<Bug> = TEETH.iter().map(|(bug, _)| *bug).collect();
    assert_eq!(named, Bug::ALL, "every bug has its teeth");
    for (bug, rules) in TEETH {
        let gate =
            Gate { from: 0, seeds: 5_000, threads: THREADS, times: Times::Once, bug: Some(*bug), enough: 1 };
        let summary = sim::gate(&gate);
        let (seed, broken) = summary.broken.first().unwrap_or_else(|| panic!("nobody sees {bug:?}"));
        assert!(rules.contains(&broken.rule), "{bug:?} is seen as {broken:?} in seed {seed}");
        println!("{bug:?}: {:?} in seed {seed} of {}", broken.rule, summary.seeds);
    }
}

#[test]
fn a_failing_plan_is_shrunk_to_what_matters() {
    let template = Template::new();
    let bug = Some(Bug::LostEscalation);
    let asks = Mishap::Turn { issue: IssueNumber(2), nth: 1, how: TurnKind::Asks };
    let mut plan = plan(3, Vec::new());
    for nth in 1..8 {
        plan.mishaps.push(Mishap::Notice { nth, how: NoticeFault::Twice });
        plan.mishaps.push(Mishap::Effect { nth: 5 * nth, how: EffectFault::Failed });
    }
    plan.mishaps.insert(6, asks.clone());
    let small = sim::shrink(bug, &template, plan, Rule::Asked);
    assert_eq!(small.mishaps, [asks]);
    assert_eq!(small.issues.len(), 1);
    let run = sim::run_with(bug, &template, small, Lines::Kept);
    assert_eq!(run.broken.map(|broken| broken.rule), Some(Rule::Asked));
    assert!(run.lines.iter().any(|line| line.contains("BROKEN Asked")));
}

/// So many plain issues, one a minute.
fn plan(issues: u64, mishaps: Vec<Mishap>) -> Plan {
    let issue = |nth: u64| IssuePlan {
        number: IssueNumber(nth),
        at: i64::try_from(nth).expect("few issues") * MINUTE,
        labels: vec!["backlog".into()],
        depends_on: Vec::new(),
        shared: false,
        half: None,
    };
    Plan {
        seed: 7,
        parallel: 2,
        slots: 2,
        issues: (1..=issues).map(issue).collect(),
        mishaps,
        heartbeat: 3 * MINUTE,
        calm: 90 * MINUTE,
    }
}

fn lives(issues: u64, mishaps: Vec<Mishap>) -> Run {
    let run = sim::run(&Template::new(), plan(issues, mishaps), Lines::Kept);
    assert_eq!(run.broken, None, "{}", run.lines.join("\n"));
    run
}

fn said(run: &Run, word: &str) -> usize {
    run.lines.iter().filter(|line| line.contains(word)).count()
}

#[test]
fn regression_a_forge_that_hangs_does_not_keep_the_heart_awake() {
    lives(1, vec![Mishap::Read { nth: 1, how: ReadFault::Hangs(10 * MINUTE) }]);
}

#[test]
fn regression_an_issue_that_comes_after_the_clock_went_back_is_seen() {
    let back = Mishap::Clock { at: 90_000, by: -14 * MINUTE };
    assert_eq!(said(&lives(3, vec![back]), "MERGED"), 3);
}

#[test]
fn regression_a_landing_that_was_given_up_is_ordered_again_when_a_person_says_so() {
    let good = lives(1, Vec::new());
    let landing = good.lines.iter().find(|line| line.contains("land:")).expect("it lands");
    let nth = landing.split("does ").nth(1).and_then(|rest| rest.split(':').next()).expect("it has a number");
    let nth = nth.parse().expect("a number");
    let run = lives(1, vec![Mishap::Effect { nth, how: EffectFault::Refused }]);
    assert_eq!((said(&run, "QueuePaused"), said(&run, "QueueResumed"), said(&run, "MERGED")), (1, 1, 1));
}

#[test]
fn regression_a_session_whose_start_nobody_heard_of_is_looked_at() {
    let lost = (1..60).map(|nth| Mishap::Notice { nth, how: NoticeFault::Lost }).collect();
    assert_eq!(said(&lives(1, lost), "MERGED"), 1);
}

#[test]
fn regression_who_spent_its_money_while_ci_ran_gets_no_other_turn() {
    let issue = IssueNumber(1);
    let run = lives(
        1,
        vec![
            Mishap::Turn { issue, nth: 1, how: TurnKind::Spends },
            Mishap::Build { nth: 1, how: BuildKind::Flakes },
        ],
    );
    assert_eq!(said(&run, "reason: \"budget\""), 1);
}

/// The same main, the same head, a verdict that is known: asked for again and again while main itself was tested.
#[test]
fn regression_a_red_main_does_not_make_the_queue_run_in_circles() {
    let worked = when(&lives(1, Vec::new()), "WorkFetched");
    let run = lives(
        1,
        vec![
            Mishap::Deed { at: worked + 1_000, what: Deed::Push(PushKind::Breaking) },
            // The branch, the candidate, the candidate once more, and then main itself.
            Mishap::Build { nth: 4, how: BuildKind::EndsUnheard(20 * MINUTE) },
        ],
    );
    assert_eq!((said(&run, "QueuePaused"), said(&run, "\"MERGED\"")), (1, 1));
}

/// Each question to a git that fails costs processes and a line in the log: it is asked ever more seldom, and then a person is.
#[test]
fn a_git_that_keeps_failing_is_not_asked_in_circles() {
    let fails =
        |times: u32| (1..=times).map(|nth| Mishap::Link { nth, how: LinkFault::Failed }).collect::<Vec<_>>();
    let merged = |times: u32| when(&lives(1, fails(times)), "\"MERGED\"");
    let late = merged(3) - merged(0);
    assert!(late >= 35_000, "5, 10 and 20 s are waited for, not {late} ms");
    assert_eq!(said(&lives(1, fails(12)), "QueuePaused"), 1);
}

/// The word was handed over before the agent died; its successor was to remember it, and knew nothing of the conversation.
#[test]
fn regression_what_a_person_said_in_a_conversation_that_is_lost_reaches_who_begins_anew() {
    let issue = IssueNumber(1);
    let begun = when(&lives(1, Vec::new()), "SessionStarted");
    let dies = TurnKind::Dies { code: 1, worked: false };
    let run = lives(
        1,
        vec![
            Mishap::Deed { at: begun + 1_000, what: Deed::Tell(issue) },
            Mishap::Turn { issue, nth: 1, how: TurnKind::Silent },
            Mishap::Turn { issue, nth: 2, how: dies },
            Mishap::Forgotten { issue, nth: 1 },
        ],
    );
    assert_eq!((said(&run, "KnowNothing"), said(&run, "\"MERGED\"")), (1, 1));
    assert_eq!(run.probes.counts().get("a person's word was passed on"), Some(&1));
}

/// AC-1.3, with the times of the defaults, in virtual time: who has shown no sign of life for five minutes is suspect
/// within one heartbeat, and given up at the third heartbeat that finds it so, wherever between two heartbeats it fell
/// silent.
#[test]
fn ac_1_3_a_session_that_is_silent_for_five_minutes_is_suspect_within_one_heartbeat() {
    let Limits { heartbeat, stale_after, stale_strikes, .. } = Limits::default();
    assert_eq!((heartbeat, stale_after, stale_strikes), (Span::secs(60), Span::mins(5), 3));
    let hangs = Mishap::Turn { issue: IssueNumber(1), nth: 1, how: TurnKind::Hangs };
    for shift in [0, 7, 23, 41, 59] {
        let mut plan = plan(1, vec![hangs.clone()]);
        plan.heartbeat = heartbeat.0;
        plan.issues[0].at += shift * 1_000;
        let run = sim::run(&Template::new(), plan, Lines::Kept);
        assert_eq!(run.broken, None, "{}", run.lines.join("\n"));
        let silent = when(&run, "dev-1.1-1 falls silent");
        let suspect = when(&run, "dev-1.1-1 has 1 strikes") - silent;
        let given_up = when(&run, "AgentCrashed") - silent;
        assert!(
            (stale_after.0..=stale_after.0 + heartbeat.0).contains(&suspect),
            "suspect after {suspect} ms"
        );
        assert_eq!(given_up - suspect, 2 * heartbeat.0, "two more looks, then no more");
    }
}

/// Nobody was told that the turn had ended, and then the session was stopped.
#[test]
fn regression_what_a_session_used_before_it_was_stopped_is_counted() {
    for seed in [52, 359, 1_443] {
        let run = sim::run(&Template::new(), sim::plan(seed), Lines::NotKept);
        assert_eq!(run.broken, None, "seed {seed}");
    }
}

/// Found by long runs: a daemon that slept through a take-over tried an effect again (`Doubled`), the slot of a build that
/// could not be ended was given away (`BuildSlots`), a critic that had begun waited for a forge that was down (`Noticed`),
/// a clock that went back put off the whole reading (`IdleSlot`); and what a killed daemon had only read counted as known
/// (`QuietRestart`, in the simulator itself).
#[test]
fn regression_seeds_of_long_runs() {
    for seed in [
        28_292, 33_652, 34_666, 35_316, 45_520, 54_874, 61_108, 61_727, 70_947, 78_173, 80_130, 86_544,
        87_725, 89_883, 90_436, 91_176, 7_029,
    ] {
        let run = sim::run(&Template::new(), sim::plan(seed), Lines::NotKept);
        assert_eq!(run.broken, None, "seed {seed}");
    }
}

/// When a line was written, in milliseconds.
fn when(run: &Run, word: &str) -> i64 {
    let line = run.lines.iter().find(|line| line.contains(word)).expect("it happens");
    let number = |part: &str| part.parse::<i64>().expect("a number");
    let (clock, _) = line.split_once("  ").expect("every line has its time");
    let (seconds, millis) = clock.split_once('.').expect("with milliseconds");
    let seconds = seconds.split(':').fold(0, |sum, part| sum * 60 + number(part));
    seconds * 1_000 + number(millis)
}
