//! `windlass doctor`: looks at everything the factory needs, says what is wrong and what to do, and repairs what is safe.

mod install;
mod machine;
mod project;
mod state;
mod trial;
mod workspaces;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Style;
use crate::project::{Project, Tolerance};
use crate::text::{counted, fold, table};
use crate::view::{Check, CheckResult, Doctor, Stamp};

/// Check all that the factory needs, and take one made-up issue from end to end
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  windlass doctor                 all checks, the project's own tests, and one made-up issue in a folder of its own
  windlass doctor --quick         what takes no time
  windlass doctor --fix           and repair what is safe to repair
  windlass doctor --quick --json")]
pub struct Args {
    /// Neither run the project's tests nor take an issue from end to end
    #[arg(long)]
    quick: bool,
    /// Repair what is safe: permissions, processes that were left, workspaces that belong to nobody (saved first, and left
    /// where git cannot save all of it); install a missing Claude Code with npm (350 MB)
    #[arg(long)]
    fix: bool,
}

/// Whether what is safe to repair is repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repair {
    No,
    Safe,
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    let repair = if args.fix && !context.globals.dry_run { Repair::Safe } else { Repair::No };
    let view = look(context, args.quick, repair)?;
    context.out.show(&view, |style| fold(style, &words(style, &view)))?;
    Ok(if view.failures == 0 { Exit::Ok } else { Exit::Failed })
}

/// Everything at a glance; `quick` leaves out what runs programs of the project.
pub fn look(context: &mut Context, quick: bool, repair: Repair) -> Result<Doctor, CliError> {
    let mut checks = machine::checks(context);
    match Project::find_with(context, Tolerance::Any) {
        Ok(project) => {
            checks.extend(project::checks(context, &project, quick, repair));
            checks.extend(state::checks(&project, repair));
        }
        // Outside of any project there is still a machine to look at.
        Err(error) if error.exit == Exit::NotFound => {
            checks.push(Check::warn("project", error.sentence(), "windlass init    in a git checkout"));
        }
        Err(error) => {
            checks.push(Check::fail("project", error.sentence(), error.next.join("    ")));
        }
    }
    if !quick {
        context.out.talk("taking one made-up issue from end to end …");
        checks.push(trial::check(context));
    }
    Ok(Doctor::new(Stamp(windlass_engine::now()), checks))
}

fn words(style: Style, view: &Doctor) -> String {
    let row = |check: &Check| {
        let word = match check.result {
            CheckResult::Ok => style.green("ok"),
            CheckResult::Warn => style.yellow("warn"),
            CheckResult::Fail => style.red("FAIL"),
        };
        let mut says = check.says.clone();
        if let Some(fixed) = &check.fixed {
            says = format!("{says}: {fixed}");
        }
        if let Some(remedy) = check.remedy.as_ref().filter(|_| check.fixed.is_none()) {
            says = format!("{says}    -> {remedy}");
        }
        vec![word, check.name.to_owned(), windlass_core::text::one_line(&says, 500)]
    };
    let rows: Vec<Vec<String>> = view.checks.iter().map(row).collect();
    let warnings = counted(view.warnings, "warning", "warnings");
    let sum = format!("{} ok · {warnings} · {}", view.ok, counted(view.failures, "failure", "failures"));
    format!("{}{sum}\n", table(style.uncut(), "", &rows))
}
