//! The help of the whole program: commands in groups, then the exit codes.

use std::fmt::Write as _;

use clap::CommandFactory;

use super::Cli;
use crate::exit::Exit;

/// The commands by what one wants; within a group in the order in which one meets them.
pub const GROUPS: [(&str, &[&str]); 5] = [
    ("Begin", &["init", "demo", "plan", "doctor", "up", "down", "service"]),
    ("Look", &["status", "agents", "queue", "issues", "show", "why", "logs", "attach", "cost", "top"]),
    (
        "Act",
        &["new", "run", "tell", "retry", "abandon", "pause", "resume", "inbox", "comment", "label", "close"],
    ),
    ("Set", &["config", "schedule"]),
    ("Data", &["events", "export", "import", "backup", "restore", "gc", "report", "tick"]),
];

pub fn command() -> clap::Command {
    let command = Cli::command();
    let template = format!(
        "{{about}}\n\n{{usage-heading}} windlass [OPTIONS] <COMMAND>\n{}\n{{options}}{{after-help}}",
        groups(&command)
    );
    command.help_template(template).after_help(exit_codes())
}

fn groups(command: &clap::Command) -> String {
    let mut text = String::new();
    for (heading, names) in GROUPS {
        write!(text, "\n{heading}:\n").expect("writing to a String cannot fail");
        for name in names {
            let found = command.find_subcommand(name).expect("every name in a group is a command");
            let about = found.get_about().map(ToString::to_string).unwrap_or_default();
            writeln!(text, "  {name:<9} {about}").expect("writing to a String cannot fail");
        }
    }
    text
}

fn exit_codes() -> String {
    let mut text = String::from("Exit codes:\n");
    for exit in Exit::ALL {
        writeln!(text, "  {:<4} {}", exit.code(), exit.meaning()).expect("writing to a String cannot fail");
    }
    text.push_str("\n`windlass COMMAND --help` shows examples.");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group_and_has_examples() {
        let command = command();
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        for found in
            command.get_subcommands().filter(|found| !found.is_hide_set() && found.get_name() != "help")
        {
            let name = found.get_name();
            assert_eq!(grouped.iter().filter(|known| **known == name).count(), 1, "{name}");
            let long = found.clone().render_long_help().to_string();
            assert!(long.contains("Examples:"), "{name} has no examples");
        }
        command.debug_assert();
    }
}
