//! `windlass report`: one file with what a bug report needs, without secrets.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use windlass_adapters::files::{self, FileError};
use windlass_core::time::Millis;
use windlass_store::{EventQuery, Store};

use crate::commands::doctor::{self, Repair};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::{Project, Tolerance};
use crate::redact::Redactor;
use crate::view::{EventLine, REPORT_SCHEMA, Report};

/// The newest so many events, and so much of the end of the daemon's log.
const EVENTS: usize = 2_000;
const LOG: u64 = 1 << 20;

/// All parts lie in a folder of this name, so that unpacking strews nothing about.
const FOLDER: &str = "windlass-report";

/// Write one file with what a bug report needs; secrets are taken out
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Versions, the doctor's findings, the configuration without values of `env` and commands, the newest
events and the end of the daemon's log. Titles of issues are in it: read it before you send it.

Examples:
  windlass report
  windlass report ~/bug.tar.gz"
)]
pub struct Args {
    /// Where to write the .tar.gz; a new file here if not given
    file: Option<PathBuf>,
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    let project = Project::find_with(context, Tolerance::Any)?;
    let now = windlass_engine::now();
    let name = format!("{FOLDER}-{}.tar.gz", now.0);
    let file = context.around.cwd.join(args.file.as_deref().unwrap_or(Path::new(&name)));
    if file.symlink_metadata().is_ok() {
        return Err(already_there(&file));
    }
    if let Some(exit) = context.would(format!("write {}", file.display()), None)? {
        return Ok(exit);
    }
    let findings = doctor::look(context, true, Repair::No)?;
    let version = json!({"windlass": env!("CARGO_PKG_VERSION"), "os": std::env::consts::OS, "arch": std::env::consts::ARCH});
    let redactor = redactor(context, &project);
    let parts = [
        ("version.json", format!("{version:#}")),
        ("doctor.json", serde_json::to_string_pretty(&findings).unwrap_or_default()),
        ("config.json", format!("{:#}", config(&project))),
        ("events.jsonl", events(&project)),
        ("daemon.log", log(&project)),
    ]
    .map(|(name, text)| (name, redactor.clean(&text)));
    let packed = pack(&parts, now)
        .map_err(|source| CliError::new("io", Exit::Failed, "cannot pack the report").because(source))?;
    write(&file, &packed)?;
    let view = Report {
        schema: REPORT_SCHEMA,
        path: file.display().to_string(),
        bytes: packed.len(),
        files: parts.iter().map(|(name, _)| format!("{FOLDER}/{name}")).collect(),
    };
    context.out.show(&view, |_| format!("written to {}\n", view.path))?;
    context.out.talk("read it before you send it: titles of issues are in it");
    Ok(Exit::Ok)
}

/// In the order given; only the time differs between two reports on the same.
fn pack(parts: &[(&str, String)], now: Millis) -> io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    for (name, text) in parts {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o600);
        header.set_mtime(u64::try_from(now.0 / 1_000).unwrap_or(0));
        header.set_size(text.len() as u64);
        archive.append_data(&mut header, format!("{FOLDER}/{name}"), text.as_bytes())?;
    }
    archive.into_inner()?.finish()
}

/// Also one that somebody else has written under this name meanwhile stays.
fn write(file: &Path, bytes: &[u8]) -> Result<(), CliError> {
    files::create_atomic(file, bytes).map_err(|error| match &error {
        FileError::Write { source, .. } if source.kind() == io::ErrorKind::AlreadyExists => {
            already_there(file)
        }
        FileError::Write { .. }
        | FileError::Read { .. }
        | FileError::Remove { .. }
        | FileError::Encode { .. }
        | FileError::Kind { .. } => error.into(),
    })
}

fn already_there(file: &Path) -> CliError {
    CliError::new("exists", Exit::Failed, format!("`{}` is already there", file.display()))
        .next("choose another name")
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
        let all = [settings.dev.env, settings.critic.env, settings.ci.env];
        known.extend(all.into_iter().flat_map(BTreeMap::into_values));
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
