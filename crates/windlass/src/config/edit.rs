//! Changes one key in the text of a file and leaves every other line as it is. What it cannot change so, it leaves alone.

use super::LOCAL_FILE;
use super::layers::{Layer, Origin, insert};
use super::source::{Loaded, Sources};
use crate::error::CliError;
use crate::exit::Exit;

/// The text of the file for this machine with one more value, and what would be in force by it.
#[derive(Debug)]
pub struct Edited {
    pub text: String,
    pub value: toml::Value,
    pub loaded: Loaded,
}

impl Sources {
    /// Nothing is written; a value that is not valid is an error.
    pub fn set(&self, key: &str, value: &str) -> Result<Edited, CliError> {
        let layer = Layer::one(Origin::Local, format!("`{key}`"), key, value)?;
        let Some(value) = layer.only(key).cloned() else {
            return Err(CliError::new("usage", Exit::Usage, format!("`{key}` is a table, not one key"))
                .next("windlass config set dispatch.parallel 2"));
        };
        let old = self.local_text()?;
        let text = edited(&old, key, &value).ok_or_else(by_hand)?;
        let loaded = self.load_with(Some(text.clone().into_bytes()))?;
        Ok(Edited { text, value, loaded })
    }
}

fn by_hand() -> CliError {
    CliError::new("by-hand", Exit::Failed, format!("cannot change `{LOCAL_FILE}` line by line"))
        .why("it is not valid, or it writes the key in a way of its own")
        .next(format!("edit {LOCAL_FILE}, then windlass config check"))
}

/// None unless the new text says exactly what the old one says and the value besides.
fn edited(old: &str, key: &str, value: &toml::Value) -> Option<String> {
    let mut wanted = toml::from_str::<toml::Table>(old).ok()?;
    insert(&mut wanted, key, value);
    let (table, name) = key.rsplit_once('.').unwrap_or(("", key));
    let mut lines: Vec<String> = old.lines().map(str::to_owned).collect();
    put(&mut lines, table, name, format!("{name} = {value}"));
    let new = lines.join("\n") + "\n";
    (toml::from_str::<toml::Table>(&new).ok()? == wanted).then_some(new)
}

fn put(lines: &mut Vec<String>, table: &str, name: &str, line: String) {
    let mut at = String::new();
    let mut head = (table.is_empty()).then_some(0);
    for (nth, old) in lines.iter_mut().enumerate() {
        if let Some(header) = old.trim().strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            header.0.trim().clone_into(&mut at);
            if at == table {
                head = Some(nth + 1);
            }
        } else if at == table && assigned(old) == Some(name) {
            *old = line;
            return;
        }
    }
    match head {
        Some(head) => lines.insert(head, line),
        None => lines.extend([format!("[{table}]"), line]),
    }
}

fn assigned(line: &str) -> Option<&str> {
    Some(line.split_once('=')?.0.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_changes_and_the_rest_stays() {
        let two = toml::Value::Integer(2);
        for (old, key, new) in [
            ("", "dispatch.parallel", "[dispatch]\nparallel = 2\n"),
            ("# mine\n[ci]\nslots = 1\n", "ci.slots", "# mine\n[ci]\nslots = 2\n"),
            ("[ci]\n# few\nslots=1 # now\n[keep]\n", "ci.slots", "[ci]\n# few\nslots = 2\n[keep]\n"),
            ("[ci] # x\n\n[keep]\n", "ci.slots", "[ci] # x\nslots = 2\n\n[keep]\n"),
            ("[keep]\nslots = 1\n", "ci.slots", "[keep]\nslots = 1\n[ci]\nslots = 2\n"),
            ("[ci]\nslots = 1\n", "name", "name = 2\n[ci]\nslots = 1\n"),
        ] {
            assert_eq!(edited(old, key, &two).as_deref(), Some(new), "{old}");
        }
        for old in [
            "ci = { slots = 1 }\n",
            "ci.slots = 1\n",
            "[ci]\nkeep = [\n\"x\",\n]\nslots = [\n1\n]\n",
            "[ci\n",
        ] {
            assert_eq!(edited(old, "ci.slots", &two), None, "{old}");
        }
    }
}
