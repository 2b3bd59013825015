//! Every object that a command prints is one of the registry, with all its fields and no others.

use std::collections::BTreeSet;

use crate::common::Machine;
use serde_json::Value;

#[test]
fn what_commands_print_is_what_their_schemas_say() {
    let machine = Machine::new();
    let mut seen = BTreeSet::new();
    for args in [
        &["init", "--yes", "--ci", "true", "--agent", "demo"][..],
        &["new", "one", "--body", "text"],
        &["comment", "1", "x"],
        &["issues"],
        &["show", "1"],
        &["status"],
        &["agents"],
        &["queue"],
        &["why", "1"],
        &["plan"],
        &["inbox"],
        &["cost"],
        &["gc", "--dry-run"],
        &["schedule"],
        &["report"],
        &["--set", "guards.min_free_memory_mb=0", "--set", "guards.min_free_disk_mb=0", "doctor", "--quick"],
        &["tell", "1", "x"],
        &["config", "check"],
        &["config", "show"],
        &["down"],
    ] {
        // Nobody is there to be told.
        let code = if args[0] == "tell" { 5 } else { 0 };
        let view = machine.json_with(args, code);
        let name = view["schema"].as_str().unwrap_or_else(|| panic!("{args:?}: {view}")).to_owned();
        let schemas = windlass::schemas();
        let schema = schemas.get(name.as_str()).unwrap_or_else(|| panic!("`{name}` is not in the registry"));
        let schema = schema.as_value();
        fits(schema, schema, &view, &name);
        seen.insert(name);
    }
    // These need a factory that runs; their shapes are checked where one does.
    let elsewhere =
        ["windlass.event/1", "windlass.log/1", "windlass.run/1", "windlass.up/1"].map(str::to_owned);
    let known: BTreeSet<String> = windlass::schemas().keys().map(|name| (*name).to_owned()).collect();
    seen.extend(elsewhere);
    assert_eq!(seen, known);
}

/// Required fields are there, and every field is known; as deep as the schema goes.
fn fits(root: &Value, schema: &Value, value: &Value, place: &str) {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.strip_prefix("#/$defs/").unwrap();
        return fits(root, &root["$defs"][name], value, place);
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        let choice = choices.iter().find(|choice| value.is_null() == (choice["type"] == "null"));
        return fits(root, choice.unwrap_or_else(|| panic!("{place}: no choice for {value}")), value, place);
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        _ => return,
    };
    let is = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    assert!(types.contains(&is), "{place}: {is} is none of {types:?}");
    if let Some(object) = value.as_object() {
        for name in schema["required"].as_array().into_iter().flatten() {
            assert!(object.contains_key(name.as_str().unwrap()), "{place} has no {name}");
        }
        for (name, field) in object {
            let known = &schema["properties"][name];
            assert!(!known.is_null(), "{place}.{name} is not in the schema");
            fits(root, known, field, &format!("{place}.{name}"));
        }
    }
    for (nth, item) in value.as_array().into_iter().flatten().enumerate() {
        fits(root, &schema["items"], item, &format!("{place}[{nth}]"));
    }
}
