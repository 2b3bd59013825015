//! What is in force, key by key, with who said it.

use crate::config::{Valued, is_limit, keys, nearest};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Style;
use crate::project::{Project, Tolerance};
use crate::text::table;
use crate::view::{ConfigDefaults, ConfigKey, ConfigShow, ConfigValue};

pub fn all(context: &mut Context, origin: bool) -> Result<(), CliError> {
    let project = Project::find_with(context, Tolerance::None)?;
    let values = &project.loaded.layered.values;
    let mut lines: Vec<ConfigValue> = values.iter().map(|(key, valued)| line(key, valued)).collect();
    // As the default file has them; keys that it does not know, such as those of an agent, come where they belong.
    let place = |key: &str| keys::KEYS.iter().position(|known| known.name == key).unwrap_or(usize::MAX);
    lines.sort_by_key(|line| (place(&line.key), line.key.clone()));
    let view = ConfigShow::new(lines, project.loaded.file.note());
    context.out.show(&view, |style| words(style, &view, origin))?;
    if let Some(note) = &view.note {
        context.out.talk(note);
    }
    Ok(())
}

pub fn one(context: &mut Context, key: &str) -> Result<(), CliError> {
    let project = Project::find_with(context, Tolerance::None)?;
    let found = project.loaded.layered.values.get(key);
    let valued = found.ok_or_else(|| no_value(key))?;
    let view = ConfigShow::new(vec![line(key, valued)], None);
    let plain = |value: &toml::Value| match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    context.out.show(&view, |_| format!("{}\n", plain(&valued.value)))
}

pub fn defaults() -> ConfigDefaults {
    let line = |key: &keys::Key| ConfigKey {
        key: key.name.clone(),
        default: key.default.as_ref().map(json),
        example: json(&key.sample),
        about: key.about.clone(),
    };
    ConfigDefaults::new(keys::KEYS.iter().map(line).collect())
}

fn json(value: &toml::Value) -> serde_json::Value {
    serde_json::to_value(value).expect("TOML without a date is JSON")
}

fn no_value(key: &str) -> CliError {
    let known: Vec<&str> = keys::KEYS.iter().map(|key| key.name.as_str()).collect();
    if known.contains(&key) {
        return CliError::new("not-set", Exit::NotFound, format!("`{key}` is not set, and has no default"))
            .next("set it in `windlass.toml`, or for one command: --set KEY=VALUE");
    }
    let error = CliError::new("no-key", Exit::NotFound, format!("there is no key `{key}`"));
    match nearest(key, &known) {
        Some(meant) => error.next(format!("did you mean `{meant}`?")),
        None => error.next("windlass config defaults    shows every key with its default"),
    }
}

fn line(key: &str, valued: &Valued) -> ConfigValue {
    ConfigValue {
        key: key.to_owned(),
        value: json(&valued.value),
        origin: valued.origin.word(),
        place: valued.place.clone().map(|place| place.replace('`', "")),
        host_limit: is_limit(key),
        refused: valued.refused.as_ref().map(json),
    }
}

fn words(style: Style, view: &ConfigShow, origin: bool) -> String {
    let row = |line: &ConfigValue| {
        let mut row = vec![line.key.clone(), line.value.to_string()];
        if origin {
            let place = line.place.as_ref().map_or_else(String::new, |place| format!(" {place}"));
            let refused = line.refused.as_ref().map_or_else(String::new, |wanted| {
                style.yellow(&format!("  (the project wants {wanted}; the host allows no more)"))
            });
            row.push(format!("{}{}{refused}", style.faint(line.origin), style.faint(&place)));
        }
        row
    };
    table(style, "", &view.values.iter().map(row).collect::<Vec<_>>())
}
