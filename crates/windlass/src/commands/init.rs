//! `windlass init`: makes a checkout a project. Writes one file there, and the state folder elsewhere.

mod agents;
mod guess;

use std::fs::OpenOptions;
use std::io::{BufRead, Write};
use std::path::Path;

use windlass_engine::Layout;

use crate::checkout::Checkout;
use crate::config::{AgentChoice, Choices, FILE};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::{self, Project, Tolerance};
use crate::view::{AgentFound, InitReply};

/// Where issues and changes live, as yet for everybody.
const FORGE: &str = "embedded";

/// Make this git checkout a project
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  windlass init
  windlass init --yes --ci \"cargo test\" --agent 'command:my-agent --headless'
  windlass init --branch trunk --agent claude-code
  windlass init --agent 'acp:goose acp'

Without --agent the first of claude, codex, goose, gemini and opencode that is on the PATH does the work.")]
pub struct Args {
    /// Ask nothing; what cannot be guessed is left open in the file
    #[arg(short, long)]
    yes: bool,
    /// The branch that good commits go to
    #[arg(long, value_name = "BRANCH")]
    branch: Option<String>,
    /// How the project is tested, a line for `sh -c`
    #[arg(long, value_name = "COMMAND")]
    ci: Option<String>,
    /// `claude-code`, `codex`, `demo`, or `acp:` or `command:` and the line that starts your agent
    #[arg(long, value_name = "AGENT", value_parser = AgentChoice::parse)]
    agent: Option<AgentChoice>,
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    let from = project::folder(context)?;
    let checkout = Checkout::find(&context.around.search_path, &from)?;
    checkout.must_be_whole()?;
    let file = checkout.root.join(FILE);
    let layout = Layout::new(project::state_folder(context, &checkout.root)?);
    let reply = if file.exists() {
        adopt(context, &checkout, args, &file)?
    } else {
        begin(context, &checkout, args, &file, &layout)?
    };
    if context.globals.dry_run {
        context.out.talk("nothing was written: this is what would be");
    }
    context.out.show(&reply, |_| words(&reply))?;
    Ok(Exit::Ok)
}

/// A fresh project. The file comes last: whatever fails before leaves the checkout as it was.
fn begin(
    context: &Context,
    checkout: &Checkout,
    args: &Args,
    file: &Path,
    layout: &Layout,
) -> Result<InitReply, CliError> {
    let found = agents::found(context);
    let choices = choose(context, checkout, args, &found)?;
    if context.globals.dry_run {
        return of_choices(context, checkout, layout, choices, found);
    }
    project::make_state(&checkout.search_path, &checkout.root, layout, &choices.branch)?;
    let written = OpenOptions::new().write(true).create_new(true).open(file);
    match written.and_then(|mut opened| opened.write_all(choices.file().as_bytes())) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => return Err(exists(file)),
        Err(source) => return Err(CliError::io("write", file, source)),
    }
    of_choices(context, checkout, layout, choices, found)
}

fn of_choices(
    context: &Context,
    checkout: &Checkout,
    layout: &Layout,
    choices: Choices,
    found: Vec<AgentFound>,
) -> Result<InitReply, CliError> {
    let Choices { name, branch, ci, agent } = choices;
    let (agent, key) = agent.map(|agent| agents::words(context, agent)).unzip();
    let known = Known { project: name, branch, ci, agent, agents: found, key: key.flatten() };
    reply(checkout, layout, known)
}

/// Somebody else has written the file already, as in a clone: only the state is missing.
fn adopt(context: &Context, checkout: &Checkout, args: &Args, file: &Path) -> Result<InitReply, CliError> {
    let chosen = args.branch.is_some() || args.ci.is_some() || args.agent.is_some();
    let layout = Layout::new(project::state_folder(context, &checkout.root)?);
    if chosen || layout.database().is_file() {
        return Err(exists(file));
    }
    let project = Project::open(context, checkout.root.clone(), layout, Tolerance::None)?;
    if !context.globals.dry_run {
        project.make_state()?;
    }
    let config = &project.config;
    let known = Known {
        project: project.name(),
        branch: config.branch.clone(),
        ci: config.ci.command.clone(),
        agent: config.agent.dev.as_ref().map(|agent| agent.kind.word().to_owned()),
        agents: agents::found(context),
        key: no_key(&project),
    };
    reply(checkout, &project.layout, known)
}

/// What the file of somebody else wants and this machine has not.
fn no_key(project: &Project) -> Option<String> {
    let error = project.settings().err().filter(|error| error.exit == Exit::Authentication)?;
    Some(format!("{}    {}", error.next.join("    "), error.sentence()))
}

fn choose(
    context: &Context,
    checkout: &Checkout,
    args: &Args,
    found: &[AgentFound],
) -> Result<Choices, CliError> {
    let branch = checkout.main_branch(args.branch.as_deref())?;
    let ask = context.may_ask() && !args.yes;
    let mut ci = args.ci.clone().or_else(|| guess::ci(&checkout.root));
    if ci.is_none() && ask {
        ci = question("How is the project tested? (a shell command, empty for later)")?;
    }
    let mut agent = args.agent.clone().or_else(|| agents::first(found));
    if agent.is_none() && ask {
        let line =
            question("Which command starts your agent? (it reads its task from stdin, empty for later)")?;
        agent = line.map(AgentChoice::Command);
    }
    let agent = agent.map(|agent| agents::with_key(context, agent));
    Ok(Choices { name: project::folder_name(&checkout.root), branch, ci, agent })
}

fn question(words: &str) -> Result<Option<String>, CliError> {
    let failed = |source| CliError::new("input", Exit::Failed, "cannot ask").because(source);
    let mut terminal = std::io::stderr();
    write!(terminal, "? {words}\n  > ").and_then(|()| terminal.flush()).map_err(failed)?;
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).map_err(failed)?;
    let line = line.trim();
    Ok((!line.is_empty()).then(|| line.to_owned()))
}

fn exists(file: &Path) -> CliError {
    CliError::new("exists", Exit::Failed, format!("`{}` is already there", file.display()))
        .why("this is a project, and nothing is overwritten")
        .next("windlass status")
        .next("windlass config check    after an edit")
}

/// What the reply says, however it came to be.
struct Known {
    project: String,
    branch: String,
    ci: Option<String>,
    agent: Option<String>,
    agents: Vec<AgentFound>,
    /// How the agent gets the key that it lacks.
    key: Option<String>,
}

fn reply(checkout: &Checkout, layout: &Layout, known: Known) -> Result<InitReply, CliError> {
    let Known { project, branch, ci, agent, agents, key } = known;
    let mut next = Vec::new();
    if ci.is_none() {
        next.push(format!("set `command` in [ci] of {FILE}: how is the project tested?"));
    }
    if agent.is_none() {
        next.push(format!("set [agent.dev] in {FILE}: which program does the work?"));
    }
    next.extend(key);
    next.push(format!(
        "git add {FILE} && git commit -m \"windlass\" {FILE}    it counts as it is on `{branch}`"
    ));
    next.push("windlass new \"…\"    write an issue".into());
    next.push("windlass up         start the factory".into());
    Ok(InitReply {
        schema: crate::view::INIT_SCHEMA,
        project,
        root: checkout.root.display().to_string(),
        config: checkout.root.join(FILE).display().to_string(),
        state_dir: layout.state().display().to_string(),
        branch,
        ci,
        agent,
        agents,
        forge: FORGE,
        remote: checkout.origin()?,
        next,
    })
}

fn words(reply: &InitReply) -> String {
    let open = || "not set".to_owned();
    let remote = reply.remote.as_ref().map(|remote| format!("; remote {remote}")).unwrap_or_default();
    let mut out = format!(
        "project  {}\nfile     {}\nstate    {}\nbranch   {}\nci       {}\nagent    {}\nforge    {}{remote}\n",
        reply.project,
        reply.config,
        reply.state_dir,
        reply.branch,
        reply.ci.clone().unwrap_or_else(open),
        reply.agent.clone().unwrap_or_else(open),
        reply.forge
    );
    for agent in &reply.agents {
        let version = agent.version.as_deref().unwrap_or("does not say its version");
        let login = match (agent.key, agent.login) {
            (Some(key), _) => format!("a key is in {key}"),
            (None, "unknown") => "whether it is logged in is unknown".to_owned(),
            (None, _) => "no key found".to_owned(),
        };
        out.push_str(&format!("found    {}: {}, {version}, {login}\n", agent.kind, agent.program));
    }
    for next in &reply.next {
        out.push_str(&format!("next     {next}\n"));
    }
    out
}
