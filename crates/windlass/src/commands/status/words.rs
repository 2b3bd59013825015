//! The status in words.

use std::fmt::Write as _;

use windlass_core::money::usd;
use windlass_core::session::Light;
use windlass_core::text::one_line;
use windlass_core::time::Millis;

use crate::commands::agents;
use crate::out::Style;
use crate::text::{age, counted, fits, fold, from_now, table, table_without};
use crate::view::{InboxItem, Status, TaskLine};

pub fn words(style: Style, view: &Status) -> String {
    let now = view.at.0;
    let mut out = format!("{} · {} · {}\n", style.bold(&view.project), view.branch, daemon(style, view, now));
    needs(&mut out, style, view, now);
    if view.paused {
        let paused = style.yellow("PAUSED");
        let since = view.paused_since.map_or_else(String::new, |at| format!(" for {}", age(now, at.0)));
        let why = why_paused(view);
        writeln!(out, "{paused}{since}{why}: nothing new is started          -> windlass resume")
            .expect("a String takes all");
    }
    // With the factory down they are among what needs a person.
    if view.commands_waiting > 0 && view.daemon.state != "down" {
        let waiting = counted(view.commands_waiting, "command waits", "commands wait");
        writeln!(out, "{waiting} for the factory").expect("a String takes all");
    }
    config(&mut out, style, view);
    working(&mut out, style, view, now);
    if !view.waiting.is_empty() {
        let heading = format!("WAITING {} (hold no slot){}", view.waiting.len(), until_up(view));
        section(&mut out, style, &style.bold(&heading), now, &view.waiting);
    }
    queue_trouble(&mut out, style, view, now);
    if !view.queue.is_empty() {
        section(&mut out, style, &style.bold(&format!("QUEUE {}", view.queue.len())), now, &view.queue);
    }
    ready(&mut out, style, view);
    today(&mut out, style, view);
    fold(style, &out)
}

/// ` (release day)`, if a reason was given.
pub fn why_paused(view: &Status) -> String {
    view.paused_reason.as_ref().map_or_else(String::new, |why| format!(" ({})", one_line(why, 200)))
}

fn ready(out: &mut String, style: Style, view: &Status) {
    let backlog = &view.backlog;
    let mut parts = vec![style.bold(&format!("READY {}", backlog.ready))];
    if let (Some(first), "up") = (backlog.starting.first(), view.daemon.state) {
        parts.push(format!("#{first} starting"));
    }
    if backlog.wait_for_others > 0 {
        parts.push(format!("{} for other issues", counted(backlog.wait_for_others, "waits", "wait")));
    }
    if backlog.held_back > 0 {
        parts.push(format!("{} held back -> windlass plan", backlog.held_back));
    }
    writeln!(out, "{}", parts.join(" · ")).expect("a String takes all");
}

/// While no factory runs, nothing of it happens.
fn until_up(view: &Status) -> &'static str {
    if view.daemon.state == "down" { ", and do so until `windlass up`" } else { "" }
}

fn working(out: &mut String, style: Style, view: &Status, now: Millis) {
    let is_stopped = |task: &&TaskLine| task.light == Some(Light::Stopped);
    let (stopped, working): (Vec<&TaskLine>, Vec<&TaskLine>) =
        view.working.tasks.iter().partition(is_stopped);
    let (n, slots) = (working.len(), view.working.slots);
    if view.daemon.state != "down" {
        section(out, style, &style.bold(&format!("WORKING {n} of {slots} slots")), now, working);
    } else if n > 0 {
        let heading = format!("WORKING {n}, and nobody looks after them          -> windlass up");
        section(out, style, &style.bold(&heading), now, working);
    }
    if !stopped.is_empty() {
        let heading = format!("STOPPED {} with the factory          -> windlass up", stopped.len());
        section(out, style, &style.bold(&heading), now, stopped);
    }
}

/// What has a line of its own further down is only counted here.
fn needs(out: &mut String, style: Style, view: &Status, now: Millis) {
    if view.inbox.is_empty() {
        return;
    }
    let heading = style.red(&format!("NEEDS YOU {}", view.inbox.len()));
    writeln!(out, "{heading}          -> windlass inbox").expect("a String takes all");
    let elsewhere = ["queue", "alarm", "config"];
    let items = view.inbox.iter().filter(|item| !elsewhere.contains(&item.kind));
    let row = |item: &InboxItem| Row {
        head: vec![
            item.issue.map_or_else(String::new, |issue| format!("#{issue}")),
            one_line(&item.title, 40),
            item.since.map_or_else(String::new, |since| age(now, since.0)),
            item.kind.to_owned(),
        ],
        rest: vec![one_line(&item.text, 60), format!("-> {}", item.next)],
    };
    rows(out, style, &items.map(row).collect::<Vec<_>>(), &[2, 1]);
}

fn today(out: &mut String, style: Style, view: &Status) {
    let today = &view.today;
    let hit = today.cache_hit_percent.map_or_else(String::new, |hit| format!(" · cache hit {hit}%"));
    writeln!(
        out,
        "{} {} merged · {} abandoned · {} closed · ${:.2} of ${:.2} (estimated){hit} · idle spend ${:.2}",
        style.bold("TODAY"),
        today.merged,
        today.abandoned,
        today.closed,
        usd(today.cost_micro_usd),
        usd(today.cap_micro_usd),
        usd(today.idle_micro_usd)
    )
    .expect("a String takes all");
    let host = &view.host;
    let free = |mb: Option<u64>| mb.map_or_else(|| "unknown".into(), |mb| format!("{mb} MB free"));
    writeln!(
        out,
        "{}  memory {} (guard {}) · disk {} (guard {})",
        style.bold("HOST"),
        free(host.free_memory_mb),
        host.min_free_memory_mb,
        free(host.free_disk_mb),
        host.min_free_disk_mb
    )
    .expect("a String takes all");
}

fn config(out: &mut String, style: Style, view: &Status) {
    let config = &view.config;
    if let Some(why) = &config.refused {
        let word = style.red("CONFIG");
        writeln!(out, "{word}: the last good one holds, the new one is not valid: {}", one_line(why, 300))
            .expect("a String takes all");
    }
    if !config.waiting.is_empty() {
        let keys = config.waiting.join(", ");
        writeln!(out, "{}: {keys} hold after `windlass down && windlass up`", style.yellow("CONFIG"))
            .expect("a String takes all");
    }
    if let Some(note) = &config.note {
        writeln!(out, "{}: {note}", style.yellow("CONFIG")).expect("a String takes all");
    }
}

fn queue_trouble(out: &mut String, style: Style, view: &Status, now: Millis) {
    if let Some(pause) = &view.queue_paused {
        let by = pause.by.as_ref().map_or_else(String::new, |by| format!(" by {}", one_line(by, 60)));
        let reason = one_line(&pause.reason, 200);
        let paused = style.red(&format!("QUEUE PAUSED{by}"));
        writeln!(out, "{paused}: {reason}          -> windlass queue resume").expect("a String takes all");
    }
    for alarm in &view.alarms {
        let waits = age(now, alarm.since.0);
        let word = style.red("ALARM");
        writeln!(
            out,
            "{word}: #{} waits in the queue for {waits}          -> windlass why {}",
            alarm.issue, alarm.issue
        )
        .expect("a String takes all");
    }
}

fn daemon(style: Style, view: &Status, now: Millis) -> String {
    let daemon = &view.daemon;
    let last = match daemon.last_event_at {
        Some(at) => format!("last event {} ago", age(now, at.0)),
        None => "no event yet".into(),
    };
    match (daemon.state, &daemon.started_at) {
        ("up", started) => {
            let since = started.map_or_else(|| "unknown".into(), |at| age(now, at.0));
            let pid = daemon.pid.map_or_else(String::new, |pid| format!(" (pid {pid})"));
            let ours = env!("CARGO_PKG_VERSION");
            let other = daemon.version.as_ref().filter(|version| *version != ours).map_or_else(
                String::new,
                |theirs| {
                    style.yellow(&format!(
                        " · it is version {theirs}, this is {ours}: windlass down && windlass up"
                    ))
                },
            );
            format!("{} {since}{pid} · {last}{other}", style.green("up"))
        }
        ("down", _) => {
            let by = daemon.stopped_by.as_ref().map_or_else(String::new, |by| format!(", stopped by {by}"));
            format!("{}{by} · {last} · windlass up starts it", style.red("down"))
        }
        (_, _) => format!("{}: the database is being opened · {last}", style.yellow("unknown")),
    }
}

fn section<'a>(
    out: &mut String,
    style: Style,
    heading: &str,
    now: Millis,
    tasks: impl IntoIterator<Item = &'a TaskLine>,
) {
    writeln!(out, "{heading}").expect("a String takes all");
    let row = |task: &TaskLine| {
        let deadline = task.deadline.as_ref().map_or_else(String::new, |deadline| {
            format!("{} {}", deadline.what, from_now(now, deadline.at.0))
        });
        let head = vec![
            task.light.map_or_else(|| " ".into(), |light| agents::sign(style, light)),
            format!("#{}", task.issue),
            one_line(&task.title, 40),
            task.session.clone(),
            age(now, task.since.0),
            task.state.clone(),
        ];
        Row { head, rest: vec![one_line(&task.says, 60), deadline] }
    };
    rows(out, style, &tasks.into_iter().map(row).collect::<Vec<_>>(), &[3, 4, 2]);
}

/// What stands in columns, and what is said of it.
struct Row {
    head: Vec<String>,
    rest: Vec<String>,
}

/// A line for each where the screen is wide enough; else what is said of it stands below, and of the columns the first
/// ones of `spare` give way.
fn rows(out: &mut String, style: Style, rows: &[Row], spare: &[usize]) {
    let whole: Vec<Vec<String>> = rows.iter().map(|row| [&row.head[..], &row.rest].concat()).collect();
    if fits(style, &table(style.fitting(Some(usize::MAX)), "  ", &whole)) {
        out.push_str(&table(style, "  ", &whole));
        return;
    }
    let heads: Vec<Vec<String>> = rows.iter().map(|row| row.head.clone()).collect();
    for (head, row) in table_without(style, "  ", &heads, spare).lines().zip(rows) {
        writeln!(out, "{head}").expect("a String takes all");
        for said in row.rest.iter().filter(|said| !said.is_empty()) {
            writeln!(out, "      {said}").expect("a String takes all");
        }
    }
}
