//! `windlass report`: a folder with what a bug report needs, without secrets.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use windlass_adapters::files;
use windlass_store::{EventQuery, Store};

use crate::commands::doctor::{self, Repair};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::{Project, Tolerance};
use crate::redact::Redactor;
use crate::view::{EventLine, Reply};

/// The newest so many events, and so much of the end of the daemon's log.
const EVENTS: usize = 2_000;
const LOG: u64 = 1 << 20;

/// Write a folder with what a bug report needs; secrets are taken out
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Versions, the doctor's findings, the configuration without values of `env` and commands, the newest
events and the end of the daemon's log. Titles of issues are in it: read it before you send it.

Examples:
  windlass report
  windlass report ~/windlass-report"
)]
pub struct Args {
    /// Where to write; a new folder here if not given
    folder: Option<PathBuf>,
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    let project = Project::find_with(context, Tolerance::Any)?;
    let name = format!("windlass-report-{}", windlass_engine::now().0);
    let folder = context.around.cwd.join(args.folder.as_deref().unwrap_or(Path::new(&name)));
    if folder.exists() {
        return Err(CliError::new(
            "exists",
            Exit::Failed,
            format!("`{}` is already there", folder.display()),
        )
        .next("choose another name"));
    }
    if let Some(exit) = context.would(format!("write {}", folder.display()), None)? {
        return Ok(exit);
    }
    let findings = doctor::look(context, true, Repair::No)?;
    files::private_dir(&folder)?;
    let redactor = redactor(context, &project);
    let version = json!({"windlass": env!("CARGO_PKG_VERSION"), "os": std::env::consts::OS, "arch": std::env::consts::ARCH});
    let parts = [
        ("version.json", format!("{version:#}")),
        ("doctor.json", serde_json::to_string_pretty(&findings).unwrap_or_default()),
        ("config.json", format!("{:#}", config(&project))),
        ("events.jsonl", events(&project)),
        ("daemon.log", log(&project)),
    ];
    for (name, text) in parts {
        files::write_atomic(&folder.join(name), redactor.clean(&text).as_bytes())?;
    }
    let view = Reply::new(format!("written to {}", folder.display()), None);
    context.out.show(&view, |_| format!("{}\n", view.what))?;
    context.out.talk("read it before you send it: titles of issues are in it");
    Ok(Exit::Ok)
}

/// What is set for agents and builds is never said, wherever it appears.
fn redactor(context: &Context, project: &Project) -> Redactor {
    let values = project.loaded.layered.values.iter().filter(|(key, _)| key.ends_with(".env"));
    let mut known: BTreeSet<String> = values
        .filter_map(|(_, valued)| valued.value.as_table())
        .flat_map(|table| table.values().filter_map(toml::Value::as_str))
        .map(str::to_owned)
        .collect();
    // Also what the references in it lead to, as far as they can be followed from here.
    if let Ok(settings) = project.settings() {
        known.extend(settings.dev.env.into_values().chain(settings.critic.env.into_values()));
    }
    Redactor::new(known, context.around.home.as_ref().map(|home| home.display().to_string()))
}

fn config(project: &Project) -> Value {
    let values = project.loaded.layered.values.iter().map(|(key, valued)| {
        // What a program is given or how it is started may hold a secret, and nobody needs it to find a bug.
        let hidden = key.ends_with(".env") || key.ends_with(".command");
        let value =
            if hidden { "[set]".into() } else { serde_json::to_value(&valued.value).unwrap_or_default() };
        (key.clone(), json!({"value": value, "origin": valued.origin.word()}))
    });
    json!({"values": values.collect::<serde_json::Map<_, _>>(), "note": project.loaded.file.note()})
}

/// What cannot be read is said in its place: a report about a broken state is the one that matters.
fn events(project: &Project) -> String {
    let query = EventQuery { limit: Some(EVENTS), newest_first: true, ..EventQuery::default() };
    let events = project.reader().and_then(|store| Ok(store.events(&query)?));
    match events {
        Ok(events) => {
            let line = |event| serde_json::to_string(&EventLine::from(event)).unwrap_or_default();
            events.iter().rev().map(line).collect::<Vec<_>>().join("\n")
        }
        Err(error) => error.sentence(),
    }
}

fn log(project: &Project) -> String {
    match files::read_tail(&project.layout.log_file(), LOG) {
        Ok(Some(part)) => String::from_utf8_lossy(&part.bytes).into_owned(),
        Ok(None) => "there is no log".into(),
        Err(error) => error.to_string(),
    }
}
