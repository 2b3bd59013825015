//! Changes one key in the text of a file and leaves the rest as it is: comments, order, ways of writing.

use toml_edit::{DocumentMut, InlineTable, Item, Table, TableLike};

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
    CliError::new("by-hand", Exit::Failed, format!("cannot change `{LOCAL_FILE}`"))
        .why("it is not valid, or it says something else where the key should be")
        .next(format!("edit {LOCAL_FILE}, then windlass config check"))
}

/// None unless the new text says exactly what the old one says and the value besides.
fn edited(old: &str, key: &str, value: &toml::Value) -> Option<String> {
    let mut wanted = toml::from_str::<toml::Table>(old).ok()?;
    insert(&mut wanted, key, value);
    let mut document: DocumentMut = old.parse().ok()?;
    let mut parts: Vec<&str> = key.split('.').collect();
    let name = parts.pop()?;
    let mut table: &mut dyn TableLike = document.as_table_mut();
    let mut ways = Ways::Tables;
    for part in parts {
        let item = table.entry(part).or_insert_with(|| ways.empty());
        if item.is_inline_table() {
            ways = Ways::Inline;
        }
        table = item.as_table_like_mut()?;
    }
    put(table, name, value.to_string().parse().ok()?);
    let new = with_ends_of(old, document.to_string());
    (toml::from_str::<toml::Table>(&new).ok()? == wanted).then_some(new)
}

/// How tables are written where we are.
#[derive(Clone, Copy)]
enum Ways {
    Tables,
    Inline,
}

impl Ways {
    fn empty(self) -> Item {
        match self {
            Self::Tables => {
                let mut table = Table::new();
                // One that only holds other tables needs no line of its own.
                table.set_implicit(true);
                Item::Table(table)
            }
            Self::Inline => Item::from(InlineTable::new()),
        }
    }
}

/// What stands around an old value, such as a comment behind it, stays.
fn put(table: &mut dyn TableLike, name: &str, mut value: toml_edit::Value) {
    match table.get_mut(name) {
        Some(Item::Value(old)) => {
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        Some(_) | None => drop(table.insert(name, Item::Value(value))),
    }
}

/// The library ends lines with LF alone.
fn with_ends_of(old: &str, new: String) -> String {
    let lines = old.matches('\n').count();
    if lines > 0 && old.matches("\r\n").count() == lines { new.replace('\n', "\r\n") } else { new }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_changes_and_the_rest_stays() {
        let two = toml::Value::Integer(2);
        for (old, key, new) in [
            ("", "dispatch.parallel", "[dispatch]\nparallel = 2\n"),
            ("# mine\n[ci]\nslots = 1\n", "ci.slots", "# mine\n[ci]\nslots = 2\n"),
            ("[ci]\n# few\nslots=1 # now\n[keep]\n", "ci.slots", "[ci]\n# few\nslots=2 # now\n[keep]\n"),
            ("[ci] # x\n\n[keep]\n", "ci.slots", "[ci] # x\nslots = 2\n\n[keep]\n"),
            ("[keep]\nslots = 1\n", "ci.slots", "[keep]\nslots = 1\n\n[ci]\nslots = 2\n"),
            ("[ci]\nslots = 1\n", "name", "name = 2\n[ci]\nslots = 1\n"),
            ("[ci]\nslots = 1", "ci.slots", "[ci]\nslots = 2\n"),
            ("ci = { slots = 1, x = 3 }\n", "ci.slots", "ci = { slots = 2, x = 3 }\n"),
            ("agent = { x = 1 }\n", "agent.dev.env", "agent = { x = 1 , dev = { env = 2 } }\n"),
            ("ci.slots = 1\nci.x = 3\n", "ci.slots", "ci.slots = 2\nci.x = 3\n"),
            ("ci.x = 3\n", "ci.slots", "ci.x = 3\nci.slots = 2\n"),
            ("[\"ci\"]\n'slots' = 1\n", "ci.slots", "[\"ci\"]\n'slots' = 2\n"),
            ("[ci]\nslots = [\n1, # one\n2\n] # all\n", "ci.slots", "[ci]\nslots = 2 # all\n"),
            (
                "[ci]\nkeep = [\n  \"x\", # why\n]\nslots = 1\n",
                "ci.slots",
                "[ci]\nkeep = [\n  \"x\", # why\n]\nslots = 2\n",
            ),
            ("# a\r\n[ci]\r\nslots = 1 # b\r\n", "ci.slots", "# a\r\n[ci]\r\nslots = 2 # b\r\n"),
            (
                "[agent.dev]\nkind = 1\n",
                "agent.dev.env.A",
                "[agent.dev]\nkind = 1\n\n[agent.dev.env]\nA = 2\n",
            ),
            ("[[x]]\n[x.ci]\nslots = 1\n", "ci.slots", "[[x]]\n[x.ci]\nslots = 1\n\n[ci]\nslots = 2\n"),
        ] {
            assert_eq!(edited(old, key, &two).as_deref(), Some(new), "{old}");
        }
        for old in ["[ci\n", "ci = 3\n", "[[ci]]\nslots = 1\n", "ci = [1]\n"] {
            assert_eq!(edited(old, "ci.slots", &two), None, "{old}");
        }
    }

    #[test]
    fn a_value_of_any_kind_is_written_as_it_is() {
        for (value, line) in [
            ("\"a \\\"b\\\" \\\\ ü\"", "command = 'a \"b\""),
            ("[\"goose\", \"acp\"]", "command = [\"goose\", \"acp\"]"),
            ("{ A = \"1\" }", "command = { A = \"1\" }"),
            ("true", "command = true"),
            ("5.0", "command = 5.0"),
        ] {
            let value = toml::from_str::<toml::Table>(&format!("v = {value}")).unwrap()["v"].clone();
            let new = edited("[ci]\ncommand = 1\n", "ci.command", &value).unwrap();
            assert_eq!(toml::from_str::<toml::Table>(&new).unwrap()["ci"]["command"], value);
            assert!(new.lines().nth(1).is_some_and(|written| written.starts_with(line)), "{new}");
        }
    }
}
