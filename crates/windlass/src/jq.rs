//! `--jq`: a program in the language of jq between a view and its reader, so that scripts need no other tool.

use jaq_core::load::{Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Vars, data, unwrap_valr};
use jaq_json::Val;

use crate::error::CliError;
use crate::exit::Exit;

pub struct Filter {
    compiled: jaq_core::Filter<data::JustLut<Val>>,
}

impl std::fmt::Debug for Filter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Filter").finish_non_exhaustive()
    }
}

impl Filter {
    pub fn compile(program: &str) -> Result<Self, CliError> {
        let definitions = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
        let functions = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
        let arena = Arena::default();
        let modules = Loader::new(definitions).load(&arena, File { code: program, path: () });
        let modules = modules.map_err(|_| wrong(program, "it is no jq program"))?;
        let compiled = Compiler::default().with_funs(functions).compile(modules).map_err(|errors| {
            let names: Vec<String> = errors
                .iter()
                .flat_map(|(_, undefined)| undefined.iter().map(|(name, _)| format!("`{name}`")))
                .collect();
            wrong(program, &format!("it has no meaning for {}", names.join(", ")))
        })?;
        Ok(Self { compiled })
    }

    /// What the program makes of one record, a line each as it comes. A text comes without its quotes.
    pub fn each(
        &self,
        json: &str,
        mut line: impl FnMut(&str) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let input = jaq_json::read::parse_single(json.as_bytes())
            .map_err(|error| failed("the record cannot be read").because(error.to_string()))?;
        let context = Ctx::<data::JustLut<Val>>::new(&self.compiled.lut, Vars::new([]));
        for value in self.compiled.id.run((context, input)).map(unwrap_valr) {
            match value {
                Ok(Val::TStr(text)) => line(&String::from_utf8_lossy(&text))?,
                Ok(value) => line(&value.to_string())?,
                Err(error) => return Err(failed("the program of --jq failed").why(error.to_string())),
            }
        }
        Ok(())
    }
}

fn wrong(program: &str, why: &str) -> CliError {
    CliError::new("jq", Exit::Usage, format!("cannot use `{program}` for --jq"))
        .why(why)
        .next("windlass COMMAND --json    shows what the program gets")
}

fn failed(title: &str) -> CliError {
    CliError::new("jq", Exit::Failed, title)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(program: &str, json: &str) -> Result<Vec<String>, CliError> {
        let mut lines = Vec::new();
        Filter::compile(program)?.each(json, |line| {
            lines.push(line.to_owned());
            Ok(())
        })?;
        Ok(lines)
    }

    #[test]
    fn records_are_filtered_and_texts_are_bare() {
        let tasks = r#"{"tasks":[{"title":"a b","cost":2},{"title":"c","cost":0}]}"#;
        assert_eq!(lines(".tasks[] | select(.cost > 1) | .title, .cost", tasks).unwrap(), ["a b", "2"]);
        assert_eq!(lines("keys", r#"{"b":1,"a":2}"#).unwrap(), [r#"["a","b"]"#]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (program, said) in [(".[", "no jq program"), ("nosuch", "`nosuch`")] {
            let error = lines(program, "{}").unwrap_err();
            assert_eq!(error.exit, Exit::Usage);
            assert!(error.sentence().contains(said), "{}", error.sentence());
        }
        let error = lines(".a.b", r#"{"a":"text"}"#).unwrap_err();
        assert_eq!(error.exit, Exit::Failed);
    }
}
