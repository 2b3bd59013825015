//! `windlass new`: writes an issue.

use std::io::Read;
use std::path::{Path, PathBuf};

use windlass_adapters::forge::{Forge, NewIssue};

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::Project;
use crate::view::NewReply;

/// More than any forge takes; what is longer is not even read.
const MAX_BODY: u64 = 4 << 20;

/// Write an issue
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  windlass new \"retry on 502\" --body \"The client gives up at once. Depends on #3.\"
  windlass new \"split the loader\" --body-file notes.md --label priority
  git log -1 --format=%B | windlass new \"follow-up\" --body-file - --no-backlog")]
pub struct Args {
    /// What is wanted, in one line
    title: String,
    /// The whole text
    #[arg(long, value_name = "TEXT", conflicts_with = "body_file", allow_hyphen_values = true)]
    body: Option<String>,
    /// A file with the text, or - for stdin
    #[arg(long, value_name = "FILE")]
    body_file: Option<PathBuf>,
    /// A label besides `backlog`; may be given several times
    #[arg(long = "label", value_name = "LABEL")]
    labels: Vec<String>,
    /// Do not mark it as work yet
    #[arg(long)]
    no_backlog: bool,
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    let project = Project::find(context)?;
    let body = match (&args.body, &args.body_file) {
        (Some(text), _) => text.clone(),
        (None, Some(file)) => read(context, file)?,
        (None, None) => String::new(),
    };
    let mut labels = args.labels.clone();
    let backlog = &project.config.labels.backlog;
    if !args.no_backlog && !labels.contains(backlog) {
        labels.push(backlog.clone());
    }
    let what = format!("write the issue `{}`, labelled {}", args.title, labels.join(", "));
    if let Some(exit) = context.would(what, None)? {
        return Ok(exit);
    }
    let new =
        NewIssue { title: args.title.clone(), body, labels, author: project.user().to_owned(), key: None };
    let issue = project.forge()?.create_issue(&new, windlass_engine::now())?;
    project.knock()?;
    let view = NewReply {
        schema: crate::view::NEW_SCHEMA,
        number: issue.number.0,
        title: issue.title,
        labels: issue.labels,
    };
    context.out.show(&view, |_| format!("#{}\n", view.number))?;
    Ok(Exit::Ok)
}

fn read(context: &Context, file: &Path) -> Result<String, CliError> {
    let mut text = String::new();
    let done = if file == Path::new("-") {
        std::io::stdin().lock().take(MAX_BODY).read_to_string(&mut text)
    } else {
        let path = context.around.cwd.join(file);
        std::fs::File::open(path).and_then(|opened| opened.take(MAX_BODY).read_to_string(&mut text))
    };
    match done {
        Ok(_) => Ok(text),
        Err(source) if source.kind() == std::io::ErrorKind::InvalidData => {
            Err(CliError::new("invalid", Exit::Usage, "the text is not valid UTF-8")
                .next("iconv -t UTF-8    makes it so"))
        }
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => {
            Err(CliError::new("not-found", Exit::NotFound, format!("there is no file `{}`", file.display()))
                .next("name another one, or give the text with --body"))
        }
        Err(source) => Err(CliError::io("read", file, source)),
    }
}
