//! `windlass service`: has the system start the factory at login, by a unit of systemd or an agent of launchd.

mod variables;

use std::path::{Path, PathBuf};

use windlass_adapters::files;
use windlass_adapters::process::DAEMON_GROUP;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::{self, Project, Tolerance};
use crate::view::{Reply, SERVICE_SCHEMA, Service};
use variables::Variables;

/// Print, install or remove what starts the factory at login
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Only the file is written; the lines that it prints switch it on. A factory that a person took down
stays down, whatever starts it. No key is written into the file: variables that the configuration names as `env:NAME` are
read from `windlass.env` beside the user's config.toml.

Examples:
  windlass service show
  windlass service install
  windlass service remove"
)]
pub struct Args {
    #[command(subcommand)]
    what: What,
    /// For which system; the one at hand if not given
    #[arg(long, value_enum, global = true)]
    kind: Option<Kind>,
}

#[derive(Debug, Clone, Copy, clap::Subcommand)]
enum What {
    /// Print the file
    Show,
    /// Write the file
    Install,
    /// Remove the file
    Remove,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    Systemd,
    Launchd,
}

pub fn run(context: &mut Context, args: &Args) -> Result<Exit, CliError> {
    let project = Project::find_with(context, Tolerance::Any)?;
    let at_hand = if cfg!(target_os = "macos") { Kind::Launchd } else { Kind::Systemd };
    let unit = Unit::of(context, &project, args.kind.unwrap_or(at_hand))?;
    let would = match args.what {
        What::Show => None,
        What::Install => context.would(format!("write {}", unit.path.display()), None)?,
        What::Remove => context.would(format!("remove {}", unit.path.display()), None)?,
    };
    if let Some(exit) = would {
        return Ok(exit);
    }
    let reply = match args.what {
        What::Show => {
            let view = unit.view();
            context.out.show(&view, |_| view.text.clone())?;
            return Ok(Exit::Ok);
        }
        What::Install => install(&unit)?,
        What::Remove => remove(&unit)?,
    };
    let view = Reply::new(reply, None);
    context.out.show(&view, |_| format!("{}\n", view.what))?;
    let (key, steps) = match args.what {
        What::Install => (unit.variables.next(), &unit.on),
        What::Show | What::Remove => (None, &unit.off),
    };
    for next in key.iter().chain(steps) {
        context.out.talk(&format!("next  {next}"));
    }
    Ok(Exit::Ok)
}

struct Unit {
    kind: &'static str,
    path: PathBuf,
    variables: Variables,
    text: String,
    /// Commands that switch it on and off.
    on: Vec<String>,
    off: Vec<String>,
}

impl Unit {
    fn of(context: &Context, project: &Project, kind: Kind) -> Result<Self, CliError> {
        let home = context.around.home.clone().ok_or_else(|| {
            CliError::new("no-home", Exit::Failed, "cannot tell where the service belongs").next("set HOME")
        })?;
        let exe = project::own_program()?;
        let state = project.layout.state();
        // The state folder's name is the project's, and no other project has it.
        let id = state.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let words =
            ["-C", &shown(&project.root), "--state", &shown(state), "up", "--foreground", "--unless-stopped"]
                .map(str::to_owned);
        let words: Vec<String> = std::iter::once(shown(&exe)).chain(words).collect();
        let path = &context.around.search_path;
        let config_home = context.around.config_home.clone().unwrap_or_else(|| home.join(".config"));
        let variables = Variables::of(&config_home, project)?;
        Ok(match kind {
            Kind::Systemd => systemd(&config_home, &id, &words, path, variables),
            Kind::Launchd => launchd(&home, &id, &words, path, &project.layout.log_file(), variables),
        })
    }

    fn view(&self) -> Service {
        Service {
            schema: SERVICE_SCHEMA,
            kind: self.kind,
            path: shown(&self.path),
            text: self.text.clone(),
            variables_file: shown(&self.variables.file),
            variables: self.variables.needed.clone(),
            missing: self.variables.missing.clone(),
            next: self.variables.next().into_iter().chain(self.on.iter().cloned()).collect(),
        }
    }
}

/// How it ends where starting it again changes nothing: a person has to do something first.
const HOPELESS: [Exit; 4] = [Exit::Usage, Exit::NotFound, Exit::Authentication, Exit::Config];

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn systemd(config_home: &Path, id: &str, words: &[String], path: &str, variables: Variables) -> Unit {
    // In a unit a percent sign begins a specifier, and quotes hold words together.
    let quoted = |word: &String| {
        format!(
            "\"{}\"",
            word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$")
        )
    };
    let line: Vec<String> = words.iter().map(quoted).collect();
    let name = format!("windlass-{id}.service");
    let hopeless = HOPELESS.map(|exit| exit.code().to_string()).join(" ");
    Unit {
        kind: "systemd",
        path: config_home.join("systemd/user").join(&name),
        // Agents and builds outlive the daemon, so only the daemon itself is ended with the unit.
        text: format!(
            "[Unit]\nDescription=Windlass for {id}\n\n[Service]\nExecStart={}\nEnvironment={}\nEnvironmentFile=-{}\n\
             Restart=on-failure\nRestartPreventExitStatus={hopeless}\nRestartSec=5\nKillMode=process\nDelegate=yes\nDelegateSubgroup={DAEMON_GROUP}\n\n[Install]\nWantedBy=default.target\n",
            line.join(" "),
            quoted(&format!("PATH={path}")),
            shown(&variables.file).replace('%', "%%")
        ),
        variables,
        on: vec![
            format!("systemctl --user daemon-reload && systemctl --user enable --now {name}"),
            "loginctl enable-linger    keeps it up when you log out".into(),
        ],
        off: vec![format!("systemctl --user disable {name}; systemctl --user daemon-reload")],
    }
}

/// Reads the file of variables, if there is one, and becomes the factory. launchd itself knows no such file.
const WITH_VARIABLES: &str = "set -a; [ ! -f \"$0\" ] || . \"$0\"; exec \"$@\"";

fn launchd(home: &Path, id: &str, words: &[String], path: &str, log: &Path, variables: Variables) -> Unit {
    let xml = |word: &str| word.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let shell = ["/bin/sh".into(), "-c".into(), WITH_VARIABLES.into(), shown(&variables.file)];
    let words = shell.iter().chain(words);
    let strings: String = words.map(|word| format!("    <string>{}</string>\n", xml(word))).collect();
    let label = format!("dev.windlass.{id}");
    let file = home.join("Library/LaunchAgents").join(format!("{label}.plist"));
    Unit {
        kind: "launchd",
        variables,
        // launchd cannot tell one exit code from another, so it tries again, but not more than once a minute.
        text: format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \
             \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n<plist version=\"1.0\">\n<dict>\n  <key>Label</key>\n  \
             <string>{}</string>\n  <key>ProgramArguments</key>\n  <array>\n{strings}  </array>\n  \
             <key>EnvironmentVariables</key>\n  <dict>\n    <key>PATH</key>\n    <string>{}</string>\n  </dict>\n  \
             <key>RunAtLoad</key>\n  <true/>\n  <key>KeepAlive</key>\n  <dict>\n    <key>SuccessfulExit</key>\n    \
             <false/>\n  </dict>\n  <key>ThrottleInterval</key>\n  <integer>60</integer>\n  <key>AbandonProcessGroup</key>\n  <true/>\n  <key>StandardErrorPath</key>\n  \
             <string>{}</string>\n</dict>\n</plist>\n",
            xml(&label),
            xml(path),
            xml(&shown(log))
        ),
        on: vec![format!("launchctl load -w '{}'", file.display())],
        off: vec![format!("launchctl remove {label}")],
        path: file,
    }
}

fn install(unit: &Unit) -> Result<String, CliError> {
    if let Some(folder) = unit.path.parent() {
        std::fs::create_dir_all(folder).map_err(|source| CliError::io("make", folder, source))?;
    }
    files::write_atomic(&unit.path, unit.text.as_bytes())?;
    Ok(format!("written to {}", unit.path.display()))
}

fn remove(unit: &Unit) -> Result<String, CliError> {
    match std::fs::remove_file(&unit.path) {
        Ok(()) => Ok(format!("removed {}", unit.path.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Ok(format!("there is no {}", unit.path.display()))
        }
        Err(source) => Err(CliError::io("remove", &unit.path, source)),
    }
}
