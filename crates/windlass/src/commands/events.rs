//! `windlass events`: the log of all that happened, for people and as lines of JSON.

use std::ops::ControlFlow;
use std::time::Duration;

use windlass_core::id::IssueNumber;
use windlass_core::text::one_line;
use windlass_store::{EventQuery, LoggedEvent, SqliteStore, Store};

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::out::Out;
use crate::project::Project;
use crate::text::clock;
use crate::view::{EventLine, raw_line};

const PAUSE: Duration = Duration::from_millis(100);

/// Print what happened, oldest first
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  windlass events --limit 20               the newest 20
  windlass events --since 1200 --json      everything after number 1200, a line of JSON each
  windlass events -f --issue 12            and go on as it happens
  windlass events --kind task_moved --kind landed")]
pub struct Args {
    /// Only events after this number
    #[arg(long, value_name = "SEQ")]
    since: Option<i64>,
    /// Only events of this issue
    #[arg(long, value_name = "N")]
    issue: Option<u64>,
    /// Only events of this kind; may be given several times
    #[arg(long = "kind", value_name = "KIND")]
    kinds: Vec<String>,
    /// Go on as it happens
    #[arg(short, long)]
    follow: bool,
    /// At most so many: the newest, or with --since the next ones
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    // Before the first line: whoever has read one may let go.
    let interrupt = args.follow.then(|| Interrupt::listen(context)).transpose()?;
    let store = Project::find(context)?.reader()?;
    let mut query = EventQuery {
        since: args.since.unwrap_or(0),
        issue: args.issue.map(IssueNumber),
        kinds: args.kinds.clone(),
        limit: args.limit,
        ..EventQuery::default()
    };
    let last = store.last_seq()?;
    query.until = Some(last);
    match (args.since, args.limit) {
        (None, Some(_)) => newest(&store, &mut query, &mut context.out)?,
        (_, _) => print(&store, &query, &mut context.out)?,
    }
    if let Some(interrupt) = interrupt {
        query = EventQuery { since: last, until: None, limit: None, newest_first: false, ..query };
        return follow(&store, query, &mut context.out, &interrupt);
    }
    Ok(Exit::Ok)
}

/// Read from the end, shown in order.
fn newest(store: &dyn Store, query: &mut EventQuery, out: &mut Out) -> Result<(), CliError> {
    query.newest_first = true;
    for event in store.events(query)?.iter().rev() {
        show(out, event)?;
    }
    out.flush()
}

fn print(store: &SqliteStore, query: &EventQuery, out: &mut Out) -> Result<(), CliError> {
    let mut shown = Ok(());
    let go_on = |shown: &Result<(), CliError>| match shown {
        Ok(()) => ControlFlow::Continue(()),
        Err(_) => ControlFlow::Break(()),
    };
    if out.is_json() {
        store.for_each_raw_event(query, &mut |event| {
            shown = out.json_line(&raw_line(&event));
            go_on(&shown)
        })?;
    } else {
        store.for_each_event(query, &mut |event| {
            shown = show(out, &event);
            go_on(&shown)
        })?;
    }
    shown.and_then(|()| out.flush())
}

/// Until somebody stops us.
fn follow(
    store: &SqliteStore,
    mut query: EventQuery,
    out: &mut Out,
    interrupt: &Interrupt,
) -> Result<Exit, CliError> {
    loop {
        if let Some(exit) = interrupt.came() {
            return Ok(exit);
        }
        let last = store.last_seq()?;
        if last > query.since {
            query.until = Some(last);
            print(store, &query, out)?;
            query.since = last;
        }
        std::thread::sleep(PAUSE);
    }
}

fn show(out: &mut Out, event: &LoggedEvent) -> Result<(), CliError> {
    let line = EventLine::from(event);
    if out.is_json() {
        return out.record(&line);
    }
    let issue = line.issue.map_or_else(|| "-".into(), |issue| format!("#{issue}"));
    let data = one_line(&line.data.to_string(), 160);
    let data = if data == "{}" { String::new() } else { out.style.faint(&data) };
    let text = format!("{:>6}  {}  {issue:<6} {:<20} {data}", line.seq, clock(line.at.0), line.kind);
    out.line(text.trim_end())
}
