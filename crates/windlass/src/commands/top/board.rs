//! What the screen shows, as it was read last.

use windlass_adapters::forge::{IssueFilter, IssueQuery};
use windlass_core::text::one_line;
use windlass_core::time::Millis;
use windlass_store::{EventQuery, Store, Which};

use super::app::{App, Pane};
use crate::commands::{agents, issues, logs, queue, status};
use crate::error::CliError;
use crate::out::Style;
use crate::project::Project;
use crate::text::{age, clock, from_now};
use crate::view::{EventLine, InboxItem, QueueEntry, Status, TaskLine};

/// More than fit on any screen.
const EVENTS: usize = 300;
const LOG_LINES: usize = 300;

#[derive(Debug)]
pub struct Board {
    pub at: Millis,
    pub status: Status,
    /// The names of the columns.
    pub heading: Vec<&'static str>,
    pub rows: Vec<Row>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Row {
    pub issue: Option<u64>,
    pub cells: Vec<String>,
    pub tone: Tone,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Plain,
    NeedsYou,
    Faint,
}

impl Board {
    /// Reads what the app's pane shows, and the status for the heading.
    pub fn read(project: &Project, store: &dyn Store, app: &App) -> Result<Self, CliError> {
        let at = windlass_engine::now();
        let status = status::look(project, store, at)?;
        let (heading, rows) = match app.pane {
            Pane::Work => (vec!["ISSUE", "STATE", "AGE", "COST", "TITLE", "WHAT"], work(&status, at)),
            Pane::Agents => of_agents(project, store, at)?,
            Pane::Queue => of_queue(project, store, at)?,
            Pane::Issues => of_issues(project, store)?,
            Pane::Events => of_events(store)?,
            Pane::Log => of_log(project, store, app.log_of)?,
        };
        Ok(Self { at, status, heading, rows })
    }
}

type Rows = (Vec<&'static str>, Vec<Row>);

fn work(status: &Status, now: Millis) -> Vec<Row> {
    let tone = |tone: Tone| move |task: &TaskLine| task_row(task, now, tone);
    let mut rows: Vec<Row> = status.inbox.iter().map(|item| need_row(item, now)).collect();
    rows.extend(status.working.tasks.iter().map(tone(Tone::Plain)));
    rows.extend(status.waiting.iter().map(tone(Tone::Faint)));
    rows.extend(status.queue.iter().map(tone(Tone::Plain)));
    rows
}

fn need_row(item: &InboxItem, now: Millis) -> Row {
    let cells = vec![
        item.issue.map_or_else(|| "-".into(), |issue| format!("#{issue}")),
        item.kind.to_owned(),
        item.since.map_or_else(String::new, |since| age(now, since.0)),
        String::new(),
        one_line(&item.title, 60),
        format!("{} -> {}", one_line(&item.text, 100), item.next),
    ];
    Row { issue: item.issue, cells, tone: Tone::NeedsYou }
}

fn task_row(task: &TaskLine, now: Millis, tone: Tone) -> Row {
    let deadline = task.deadline.as_ref();
    let deadline = deadline.map(|deadline| format!(" · {} {}", deadline.what, from_now(now, deadline.at.0)));
    let says = one_line(&task.says, 100) + &deadline.unwrap_or_default();
    let cost = format!("${}.{:02}", task.cost_micro_usd / 1_000_000, task.cost_micro_usd / 10_000 % 100);
    let cells = vec![
        format!("#{}", task.issue),
        task.state.clone(),
        age(now, task.since.0),
        cost,
        one_line(&task.title, 60),
        says,
    ];
    Row { issue: Some(task.issue), cells, tone }
}

fn of_agents(project: &Project, store: &dyn Store, now: Millis) -> Result<Rows, CliError> {
    let rows = agents::list(project, store, Which::Live, now)?.into_iter().map(|agent| {
        let cells = agents::row(Style::new(false), now, &agent);
        Row { issue: Some(agent.issue), cells, tone: Tone::Plain }
    });
    Ok((agents::HEADING.to_vec(), rows.collect()))
}

fn of_queue(project: &Project, store: &dyn Store, now: Millis) -> Result<Rows, CliError> {
    let row = |entry: &QueueEntry| {
        let expected = entry.expected_at.map_or_else(|| "unknown".into(), |at| from_now(now, at.0));
        let cells = vec![
            format!("#{}", entry.line.issue),
            entry.status.to_owned(),
            age(now, entry.line.since.0),
            expected,
            one_line(&entry.line.title, 60),
            one_line(&entry.held, 200),
        ];
        Row { issue: Some(entry.line.issue), cells, tone: Tone::Plain }
    };
    let rows = queue::look(project, store, now)?.entries.iter().map(row).collect();
    Ok((vec!["ISSUE", "STATUS", "AGE", "LANDS", "TITLE", "HELD BY"], rows))
}

fn of_issues(project: &Project, store: &dyn Store) -> Result<Rows, CliError> {
    let query = IssueQuery { filter: IssueFilter::Open, labels: Vec::new(), updated_since: None };
    let issues = issues::list(project, store, &query)?;
    let cells = issues::rows(Style::new(false), &issues);
    let rows = issues.iter().zip(cells);
    let rows = rows.map(|(issue, cells)| Row { issue: Some(issue.number), cells, tone: Tone::Plain });
    Ok((vec!["ISSUE", "STATE", "TITLE", "LABELS"], rows.collect()))
}

fn of_events(store: &dyn Store) -> Result<Rows, CliError> {
    let query = EventQuery { limit: Some(EVENTS), newest_first: true, ..EventQuery::default() };
    let events = store.events(&query)?;
    let rows = events.iter().map(EventLine::from).map(|event| {
        let cells = vec![
            event.seq.to_string(),
            clock(event.at.0),
            event.issue.map_or_else(|| "-".into(), |issue| format!("#{issue}")),
            event.kind,
            one_line(&event.data.to_string(), 300),
        ];
        Row { issue: event.issue, cells, tone: Tone::Plain }
    });
    Ok((vec!["SEQ", "AT", "ISSUE", "KIND", "DATA"], rows.collect()))
}

/// The newest line first, like the events.
fn of_log(project: &Project, store: &dyn Store, issue: Option<u64>) -> Result<Rows, CliError> {
    let lines = logs::last(project, store, issue, LOG_LINES)?;
    let rows = lines.into_iter().rev().map(|line| Row { issue, cells: vec![line], tone: Tone::Plain });
    Ok((vec!["NEWEST FIRST"], rows.collect()))
}
