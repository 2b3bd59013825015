//! `windlass schedule`: what the factory does by the clock, when it did it last, and how that went.

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::house::{self, Job, Known, Last, Ledger};
use crate::out::Style;
use crate::project::Project;
use crate::text::{age, from_now, table};
use crate::view::{Reply, SCHEDULE_SCHEMA, Schedule, ScheduleJob, ScheduleLast, Stamp};

/// Show what is done by the clock, or do it now
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "A running factory does what is due by itself, and so does `windlass tick`. The times are set in
[schedule] of the configuration: a line of cron, `every 6h`, or `off`.

Examples:
  windlass schedule
  windlass schedule list --json
  windlass schedule run backup     now, whenever it is due
  windlass schedule run --due      whatever is due, for those who have a timer of their own"
)]
pub struct Args {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Clone, Copy, clap::Subcommand)]
enum What {
    /// Show the jobs, their times, and how the last run of each went
    #[command(after_long_help = "Examples:\n  windlass schedule list --json")]
    List,
    /// Do a job now
    #[command(
        after_long_help = "Examples:\n  windlass schedule run gc\n  windlass schedule run --dry-run gc"
    )]
    Run {
        /// Which one
        #[arg(required_unless_present = "due")]
        job: Option<Job>,
        /// Those whose time has come
        #[arg(long, conflicts_with = "job")]
        due: bool,
    },
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    let project = Project::find(context)?;
    // Only to say so if there is no state at all.
    drop(project.reader()?);
    match args.what {
        None | Some(What::List) => list(context, &project),
        Some(What::Run { job: Some(job), .. }) => run_one(context, &project, job),
        Some(What::Run { job: None, .. }) => run_due(context, &project),
    }
}

fn list(context: &mut Context, project: &Project) -> Result<Exit, CliError> {
    let now = windlass_engine::now();
    let schedule = &project.config.schedule;
    let mut jobs = Vec::new();
    for job in Job::ALL {
        let known = Ledger::of(&project.layout, job).read()?;
        jobs.push(ScheduleJob {
            name: job.name(),
            what: job.what(),
            when: job.text(schedule).to_owned(),
            next_at: job.next(schedule, known.as_ref(), now).map(Stamp),
            last: known.and_then(|Known { last, .. }| last).map(view_of),
        });
    }
    let view =
        Schedule { schema: SCHEDULE_SCHEMA, at: Stamp(now), timezone: schedule.timezone.clone(), jobs };
    context.out.show(&view, |style| words(style, &view))?;
    Ok(Exit::Ok)
}

fn run_one(context: &mut Context, project: &Project, job: Job) -> Result<Exit, CliError> {
    if let Some(exit) = context.would(format!("run `{}`, which {}", job.name(), job.what()), None)? {
        return Ok(exit);
    }
    let last = job.run(project, project.user())?;
    said(context, &[(job, last)])
}

fn run_due(context: &mut Context, project: &Project) -> Result<Exit, CliError> {
    if context.globals.dry_run {
        let due = house::due(project, windlass_engine::now())?;
        let names: Vec<&str> = due.into_iter().map(Job::name).collect();
        let what = if names.is_empty() { "run nothing".into() } else { format!("run {}", names.join(", ")) };
        return Ok(context.would(what, None)?.unwrap_or(Exit::Ok));
    }
    let ran = house::run_due(project)?;
    said(context, &ran)
}

fn said(context: &mut Context, ran: &[(Job, Last)]) -> Result<Exit, CliError> {
    let lines: Vec<String> = ran.iter().map(|(job, last)| format!("{}: {}", job.name(), last.says)).collect();
    let what = if lines.is_empty() { "nothing is due".into() } else { lines.join("\n") };
    let view = Reply::new(what, None);
    context.out.show(&view, |_| format!("{}\n", view.what))?;
    Ok(Exit::Ok)
}

fn view_of(last: Last) -> ScheduleLast {
    let Last { at, took_ms, by, failed, says } = last;
    ScheduleLast { at: Stamp(at), took_ms, by, failed, says }
}

fn words(style: Style, view: &Schedule) -> String {
    let now = view.at.0;
    let heading = ["JOB", "WHEN", "NEXT", "LAST", "SAID"].map(|word| style.faint(word)).to_vec();
    let row = |job: &ScheduleJob| {
        let next = job.next_at.map_or_else(|| "never".into(), |at| from_now(now, at.0));
        let (last, says) = match &job.last {
            None => ("not yet".to_owned(), job.what.to_owned()),
            Some(last) if last.failed => {
                (style.red(&format!("FAILED {} ago", age(now, last.at.0))), last.says.clone())
            }
            Some(last) => (format!("{} ago, by {}", age(now, last.at.0), last.by), last.says.clone()),
        };
        vec![job.name.to_owned(), job.when.clone(), next, last, says]
    };
    let rows: Vec<Vec<String>> = std::iter::once(heading).chain(view.jobs.iter().map(row)).collect();
    table(style, "", &rows)
}
