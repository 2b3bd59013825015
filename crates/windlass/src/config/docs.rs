//! docs/configuration.md is written from the default file itself.

use std::fmt::Write as _;

use super::{changes_at_once, is_limit, keys::KEYS};

#[test]
fn the_page_of_the_configuration_equals_the_default_file() {
    crate::text::same_page("docs/configuration.md", &page());
}

fn page() -> String {
    let mut text = String::from(HEAD);
    let mut table = "";
    for key in KEYS.iter() {
        let (of, name) = key.name.rsplit_once('.').unwrap_or(("", &key.name));
        if of != table || text.ends_with(HEAD) {
            table = of;
            let title = if of.is_empty() { "At the top".to_owned() } else { format!("`[{of}]`") };
            let head = "| key | default | changes | meaning |\n|---|---|---|---|\n";
            write!(text, "\n## {title}\n\n{head}").unwrap();
        }
        let default = key.default.as_ref().map_or_else(|| "-".to_owned(), |value| format!("`{value}`"));
        let when = if changes_at_once(&key.name) { "at once" } else { "at the next start" };
        let limit = if is_limit(&key.name) { " (limit)" } else { "" };
        let about = key.about.replace('|', "\\|");
        writeln!(text, "| `{name}`{limit} | {default} | {when} | {about} |").unwrap();
    }
    text
}

const HEAD: &str = "# Configuration

Written by a test from `crates/windlass/default-config.toml`; `windlass config defaults` prints that file.

`windlass init` writes a short `windlass.toml`. Only `[ci] command` and `[agent.dev]` must be set; every other key has a default.
An unknown key is an error that names the nearest known one. Times are a number and one of ms, s, m, h, d, such as `\"90s\"`.

Heard in this order, the first that says something wins:

1. `--set dispatch.parallel=2` on the command line
2. `WINDLASS__DISPATCH__PARALLEL=2` in the environment; a text needs no quotes
3. `windlass.local.toml` beside `windlass.toml`, for this machine only; it is refused when it is part of a commit
4. `windlass.toml` as it is on the main branch of the checkout; a file that is in no commit yet counts as it is
5. `~/.config/windlass/config.toml` (or below `$XDG_CONFIG_HOME`), for all projects of a person
6. the defaults

Keys marked *limit* are limits of the machine when the user's file sets them: a project may tighten them and never loosen them.
`windlass config show --origin` prints every value with who said it, `windlass config check` is a step for CI, and
`windlass config schema` the JSON Schema for editors.

The daemon takes a change of most keys at once; the others hold at its next start, and `windlass status` names them. An edit that
is not valid changes nothing: the last good configuration holds, and `status` and the event `config_refused` say why.
";
