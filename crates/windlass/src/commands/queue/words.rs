//! The queue in words: the train, what each entry waits for, the last day, and whether the slots keep up.

use std::fmt::Write as _;

use windlass_core::text::one_line;
use windlass_core::time::{Millis, Span};

use crate::out::Style;
use crate::text::{age, table};
use crate::view::{FlakyTest, Queue, QueueEntry, QueueTest, TaskLine};

/// Cars that fit on a screen.
const MAX_CARS: usize = 8;
const MAX_FLAKY: usize = 5;

pub fn words(style: Style, view: &Queue) -> String {
    let now = view.at.0;
    let mut out = String::new();
    let mut line = |text: &str| {
        writeln!(out, "{text}").expect("a String takes all");
    };
    if let Some(reason) = &view.paused {
        line(&format!(
            "{}: {}          -> windlass queue resume",
            style.red("PAUSED"),
            one_line(reason, 300)
        ));
    }
    line(&train(style, view, now));
    let rows: Vec<Vec<String>> = view.entries.iter().map(|entry| row(view, now, entry)).collect();
    let table = table(style.uncut(), "  ", &rows);
    if !rows.is_empty() {
        line(table.trim_end());
    }
    line(&day(view, now));
    line(&slots(style, view));
    for alarm in &view.alarms {
        let waits = format!("#{} waits for {}", alarm.issue, age(now, alarm.since.0));
        line(&format!("{}: {waits}; when it was said: {}", style.red("ALARM"), one_line(&alarm.held, 200)));
    }
    if !view.flaky.is_empty() {
        line(&flaky(now, &view.flaky));
    }
    out
}

/// `main 3f2a91c <- [#44 TESTING 1m12s of ~2m00s] <- [#43 ready 14m00s] <- (#50 in CI)`
fn train(style: Style, view: &Queue, now: Millis) -> String {
    let main = view.main.get(..10).unwrap_or(&view.main);
    let mut cars = vec![format!("{} {main}", style.bold(&view.branch))];
    let entries =
        view.entries.iter().map(|entry| format!("[#{} {}]", entry.line.issue, car(view, now, entry)));
    let behind = view.behind.iter().map(|task| format!("(#{} {})", task.issue, on_its_way(task)));
    let all: Vec<String> = entries.chain(behind).collect();
    let more = all.len().saturating_sub(MAX_CARS);
    cars.extend(all.into_iter().take(MAX_CARS));
    if more > 0 {
        cars.push(format!("… {more} more"));
    }
    if cars.len() == 1 {
        cars.push("nothing waits to land".into());
    }
    cars.join(" <- ")
}

fn car(view: &Queue, now: Millis, entry: &QueueEntry) -> String {
    let waits = age(now, entry.line.since.0);
    match (entry.status, running(entry)) {
        ("landing", _) => "LANDING".into(),
        ("testing", Some(test)) => format!("TESTING {}", elapsed(view, now, test)),
        // A test is asked for, and no slot was free yet.
        ("testing" | "paused", _) => format!("ready {waits}"),
        ("held", _) => format!("held by {} {waits}", numbers(&entry.held_by)),
        (status, _) => format!("{status} {waits}"),
    }
}

/// The test that runs longest and may land it.
fn running(entry: &QueueEntry) -> Option<&QueueTest> {
    let running = entry.tests.iter().filter(|test| test.started_at.is_some());
    running.min_by_key(|test| (!test.lands, test.started_at.map(|at| at.0)))
}

fn elapsed(view: &Queue, now: Millis, test: &QueueTest) -> String {
    let gone = test.started_at.map_or_else(String::new, |at| age(now, at.0));
    let usual = view.slots.usual_test_ms.map_or_else(String::new, |usual| format!(" of ~{}", Span(usual)));
    format!("{gone}{usual}")
}

fn on_its_way(task: &TaskLine) -> &'static str {
    if task.state == "AWAITING_CI" { "in CI" } else { "in review" }
}

fn row(view: &Queue, now: Millis, entry: &QueueEntry) -> Vec<String> {
    let expected = entry.expected_at.map_or_else(
        || "lands: not known yet".to_owned(),
        |at| if at.0 > now { format!("lands in ~{}", at.0.since(now)) } else { "lands soon".into() },
    );
    let mut reasons = vec![one_line(&entry.held, 120)];
    if let Some(test) = running(entry) {
        reasons[0] = format!("{} ({})", reasons[0], elapsed(view, now, test));
    }
    if entry.expedited {
        reasons.push("put first".into());
    }
    if entry.overtaken > 0 {
        reasons.push(format!("overtaken {} times", entry.overtaken));
    }
    if entry.alarmed_at.is_some() {
        reasons.push("waits too long".into());
    }
    vec![
        format!("{}.", entry.place),
        format!("#{}", entry.line.issue),
        one_line(&entry.line.title, 40),
        format!("waits {}", age(now, entry.line.since.0)),
        expected,
        reasons.join(" · "),
    ]
}

fn day(view: &Queue, now: Millis) -> String {
    let day = &view.day;
    let mut parts = vec![format!("last 24h: {} merged", day.merged)];
    let (conflicts, red) = (day.conflicts, day.red);
    parts.push(format!("{} sent back (conflict {conflicts}, red {red})", conflicts + red));
    if let Some(median) = day.median_wait_ms {
        parts.push(format!("median wait {}", Span(median)));
    }
    let alarm = Span(view.alarm_after_ms);
    parts.push(match view.oldest_since {
        Some(since) => format!("oldest ready {} (alarm {alarm})", age(now, since.0)),
        None => format!("nobody waits (alarm {alarm})"),
    });
    parts.join(" · ")
}

fn slots(style: Style, view: &Queue) -> String {
    let slots = &view.slots;
    let keep_up = match slots.needed {
        Some(needed) if needed > slots.configured => {
            style.yellow(&format!("needs {needed}, has {}", slots.configured))
        }
        Some(needed) => format!("needs {needed}, has {}", slots.configured),
        None => format!("has {}", slots.configured),
    };
    let running = view.tests.iter().filter(|test| test.status == "running").count();
    let usual = slots.usual_test_ms.map_or_else(String::new, |ms| format!(" · a test takes ~{}", Span(ms)));
    let (whole, part) = (slots.bad_per_mille / 10, slots.bad_per_mille % 10);
    format!("slots: {keep_up} · {running} tests run{usual} · {whole}.{part} % of changes fail on main")
}

fn flaky(now: Millis, all: &[FlakyTest]) -> String {
    let name = |test: &FlakyTest| {
        format!("{} ({} times, last {} ago)", one_line(&test.test, 80), test.count, age(now, test.last.0))
    };
    let mut names: Vec<String> = all.iter().take(MAX_FLAKY).map(name).collect();
    if all.len() > MAX_FLAKY {
        names.push(format!("{} more in --json", all.len() - MAX_FLAKY));
    }
    format!("flaky: {}", names.join(" · "))
}

fn numbers(issues: &[u64]) -> String {
    issues.iter().map(|issue| format!("#{issue}")).collect::<Vec<_>>().join(" ")
}
