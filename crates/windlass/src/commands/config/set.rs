//! `windlass config set`: one value in the file for this machine.

use windlass_adapters::files;

use crate::config::LOCAL_FILE;
use crate::context::Context;
use crate::error::CliError;
use crate::project::{Project, Tolerance};
use crate::view::Reply;

pub fn run(context: &mut Context, key: &str, value: &str) -> Result<(), CliError> {
    let project = Project::find_with(context, Tolerance::Any)?;
    let edited = project.sources.set(key, value)?;
    let what = format!("{key} = {} in {LOCAL_FILE}", edited.value);
    if context.would(format!("write {what}"), None)?.is_some() {
        return Ok(());
    }
    files::write_atomic(&project.root.join(LOCAL_FILE), edited.text.as_bytes())?;
    let view = Reply::new(what, None);
    context.out.show(&view, |_| format!("{}\n", view.what))?;
    if let Some(heard) = edited.loaded.layered.values.get(key).filter(|heard| heard.value != edited.value) {
        let who = heard.place.as_deref().unwrap_or("somebody else");
        context.out.talk(&format!("{who} is heard before it and says {}", heard.value));
    }
    let ignored = std::fs::read_to_string(project.root.join(".gitignore")).unwrap_or_default();
    if !ignored.lines().any(|line| line.trim().trim_start_matches('/') == LOCAL_FILE) {
        context.out.talk(&format!("it is for this machine alone: name {LOCAL_FILE} in .gitignore"));
    }
    Ok(())
}
