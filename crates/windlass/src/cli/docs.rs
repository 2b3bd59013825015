//! docs/cli.md is written from the commands themselves.

use std::fmt::Write as _;

use super::help::{GROUPS, command};
use crate::exit::Exit;

#[test]
fn the_page_of_the_commands_equals_the_commands() {
    crate::text::same_page("docs/cli.md", &page());
}

fn page() -> String {
    let mut program = command().term_width(100);
    program.build();
    let mut text = String::from(HEAD);
    for exit in Exit::ALL {
        writeln!(text, "| {} | {} |", exit.code(), exit.meaning()).unwrap();
    }
    for (heading, names) in GROUPS {
        write!(text, "\n## {heading}\n").unwrap();
        for name in names {
            let found = program.find_subcommand_mut(name).unwrap();
            let help = found.render_long_help().to_string();
            // What every command has is said once, above.
            let own = help.split("\nGlobal options:").next().unwrap_or(&help).trim_end();
            let examples = help.split("\nExamples:").nth(1).map_or("", str::trim_end);
            write!(text, "\n### windlass {name}\n\n```text\n{}\n", trimmed(own)).unwrap();
            if !own.contains("\nExamples:") {
                write!(text, "\nExamples:{}\n", trimmed(examples)).unwrap();
            }
            text.push_str("```\n");
        }
    }
    text
}

/// Without blanks at the ends of lines, which clap leaves.
fn trimmed(text: &str) -> String {
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

const HEAD: &str = "# Commands

Written by a test from the commands themselves; `windlass COMMAND --help` prints the same.

Results go to stdout, talk and errors to stderr. `--json` prints a result as one object with a field `schema`, an error as an
object of RFC 9457 on stderr, and a stream as a line for each record with its `seq`; `windlass config schema --output NAME`
prints the JSON Schema of each. Within a schema's number fields are only added. Nothing asks when stdin is no terminal.
Ctrl-C in a command that follows lets go and ends nothing else. `windlass completions SHELL` and `windlass man` print what a
package needs.

| exit | meaning |
|---|---|
";
