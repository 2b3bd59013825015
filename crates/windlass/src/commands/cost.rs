//! `windlass cost`: where the money went, as the agents' programs count it.

mod csv;
mod sums;

pub use sums::{is_for_a_task, total};

use windlass_core::money::usd;
use windlass_core::time::{Millis, Span};
use windlass_store::{Store, UsageQuery};

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Style;
use crate::project::Project;
use crate::text::table;
use crate::view::{Cost, CostLine, Stamp};

/// Show where the money went
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  windlass cost                           by issue, all that is known
  windlass cost --by role --since 7d
  windlass cost --by iteration            developers' later turns beside the first ones
  windlass cost --by day --json
  windlass cost --csv > cost.csv          for a spreadsheet; money in millionths of a dollar")]
pub struct Args {
    /// What is added up
    #[arg(long, value_enum, default_value_t = By::Issue)]
    by: By,
    /// Only the last so much time, such as 7d
    #[arg(long, value_name = "TIME", value_parser = span)]
    since: Option<Span>,
    /// Print the rows as comma-separated values, as RFC 4180 has them; tokens and money are whole numbers
    #[arg(long)]
    csv: bool,
}

/// What the rows are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum By {
    Issue,
    Role,
    Day,
    Iteration,
    Model,
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    if args.csv && (context.globals.for_programs() || context.globals.plain) {
        return Err(CliError::new("usage", Exit::Usage, "--csv is a form of its own")
            .next("leave out --csv, or else --json, --jq or --plain"));
    }
    let project = Project::find(context)?;
    let store = project.reader()?;
    let since = args.since.map(|span| Millis(windlass_engine::now().0.saturating_sub(span.0)));
    // Which turn of its session a turn is shows only from the beginning.
    let from = if args.by == By::Iteration { None } else { since };
    let usage = store.usage(&UsageQuery { issue: None, since: from })?;
    let mut rows = sums::of(args.by, &usage, since);
    if args.by == By::Issue {
        for row in &mut rows {
            let task = row.issue.map(windlass_core::id::IssueNumber);
            let task = task.map_or(Ok(None), |issue| store.newest_task_of(issue))?;
            row.title = task.map(|task| task.value.title);
        }
    }
    let total = sums::together(&rows);
    let view = Cost::new(args.by.word(), since.map(Stamp), rows, total);
    context.out.show(&view, |style| if args.csv { csv::of(&view) } else { words(style, &view) })?;
    if view.rows.is_empty() {
        context.out.talk("nothing was spent");
    }
    Ok(Exit::Ok)
}

fn span(text: &str) -> Result<Span, String> {
    Span::parse(text).map_err(|error| error.to_string())
}

impl By {
    fn word(self) -> &'static str {
        match self {
            Self::Issue => "issue",
            Self::Role => "role",
            Self::Day => "day",
            Self::Iteration => "iteration",
            Self::Model => "model",
        }
    }
}

fn words(style: Style, view: &Cost) -> String {
    if view.rows.is_empty() {
        return String::new();
    }
    let heading = [view.by, "TURNS", "IN(new)", "CACHE W", "CACHE R", "OUT", "HIT", "EST.$", "vs first"];
    let compared = view.rows.iter().any(|row| row.vs_first_percent.is_some());
    let heading = &heading[..if compared { 9 } else { 8 }];
    let mut rows = vec![heading.iter().map(|word| style.faint(&word.to_uppercase())).collect()];
    rows.extend(view.rows.iter().map(row));
    let total = CostLine { key: "all".into(), ..view.total.clone() };
    rows.push(row(&total));
    table(style, "", &rows)
}

fn row(line: &CostLine) -> Vec<String> {
    let title = line.title.as_ref().map_or_else(String::new, |title| format!(" {title}"));
    vec![
        windlass_core::text::one_line(&format!("{}{title}", line.key), 40),
        line.turns.to_string(),
        tokens(line.input),
        tokens(line.cache_write),
        tokens(line.cache_read),
        tokens(line.output),
        line.cache_hit_percent.map_or_else(|| "-".into(), |percent| format!("{percent}%")),
        format!("{:.2}", usd(line.cost_micro_usd)),
        line.vs_first_percent.map_or_else(String::new, |percent| format!("{percent:+}%")),
    ]
}

/// `412k`, `3.1M`.
fn tokens(n: u64) -> String {
    match n {
        0..1_000 => n.to_string(),
        1_000..1_000_000 => format!("{}k", n / 1_000),
        1_000_000.. => format!("{}.{}M", n / 1_000_000, n / 100_000 % 10),
    }
}
