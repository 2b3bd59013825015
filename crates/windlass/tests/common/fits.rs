//! Whether an object is what its schema says, with all its fields and no others.

use serde_json::{Map, Value};

/// By the name in its field `schema`.
pub fn fits(view: &Value) -> String {
    let name = view["schema"].as_str().unwrap_or_else(|| panic!("it names no schema: {view}"));
    fits_as(name, view);
    name.to_owned()
}

/// A line of a stream whose first line names the schema.
pub fn fits_as(name: &str, view: &Value) {
    let schemas = windlass::schemas();
    let schema = schemas.get(name).unwrap_or_else(|| panic!("`{name}` is not in the registry"));
    let root = schema.as_value();
    if let Err(why) = check(root, root, view, name) {
        panic!("{why}\n{view}");
    }
}

type Checked = Result<(), String>;

fn check(root: &Value, schema: &Value, value: &Value, place: &str) -> Checked {
    let Some(rules) = schema.as_object() else {
        return if schema == &Value::Bool(true) { Ok(()) } else { Err(format!("{place} may not be there")) };
    };
    if let Some(name) = rules.get("$ref").and_then(Value::as_str) {
        let name = name.strip_prefix("#/$defs/").unwrap();
        check(root, &root["$defs"][name], value, place)?;
    }
    for word in ["anyOf", "oneOf"] {
        if let Some(choices) = rules.get(word).and_then(Value::as_array) {
            let tried: Vec<Checked> = choices.iter().map(|one| check(root, one, value, place)).collect();
            if tried.iter().all(Result::is_err) {
                return Err(format!("{place} is none of {tried:?}"));
            }
        }
    }
    if rules.get("const").is_some_and(|only| only != value) {
        return Err(format!("{place} is not {}", rules["const"]));
    }
    if let Some(words) = rules.get("enum").and_then(Value::as_array)
        && !words.contains(value)
    {
        return Err(format!("{place} is none of {words:?}"));
    }
    kind(rules, value, place)?;
    if rules.get("format").is_some_and(|format| format == "date-time")
        && let Some(text) = value.as_str()
        && (text.parse::<jiff::Timestamp>().is_err() || !text.ends_with('Z'))
    {
        return Err(format!("{place}: `{text}` is no time in UTC"));
    }
    fields(root, rules, value, place)?;
    for (nth, item) in value.as_array().into_iter().flatten().enumerate() {
        check(root, rules.get("items").unwrap_or(&Value::Bool(true)), item, &format!("{place}[{nth}]"))?;
    }
    Ok(())
}

fn kind(rules: &Map<String, Value>, value: &Value, place: &str) -> Checked {
    let types: Vec<&str> = match rules.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
        _ => return Ok(()),
    };
    let is = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) if types.contains(&"number") => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    if types.contains(&is) { Ok(()) } else { Err(format!("{place}: {is} is none of {types:?}")) }
}

fn fields(root: &Value, rules: &Map<String, Value>, value: &Value, place: &str) -> Checked {
    let (Some(object), Some(_)) = (value.as_object(), rules.get("type")) else { return Ok(()) };
    for name in rules.get("required").and_then(Value::as_array).into_iter().flatten() {
        if !object.contains_key(name.as_str().unwrap()) {
            return Err(format!("{place} has no {name}"));
        }
    }
    for (name, field) in object {
        let known = rules.get("properties").and_then(|known| known.get(name));
        let known = known.or_else(|| rules.get("additionalProperties"));
        let known = known.ok_or_else(|| format!("{place}.{name} is not in the schema"))?;
        check(root, known, field, &format!("{place}.{name}"))?;
    }
    Ok(())
}
