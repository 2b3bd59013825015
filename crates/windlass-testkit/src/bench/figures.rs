//! The table of figures that people read first, made from stored results.

use serde_json::Value;

const BEGIN: &str = "<!-- figures:begin -->";
const END: &str = "<!-- figures:end -->";

/// The text with `table` between the markers; else the marker that is missing.
pub fn replace(text: &str, table: &str) -> Result<String, &'static str> {
    let (before, rest) = text.split_once(BEGIN).ok_or(BEGIN)?;
    let (_, after) = rest.split_once(END).ok_or(END)?;
    Ok(format!("{before}{BEGIN}\n{table}{END}{after}"))
}

/// A line for every goal of every result, met or not.
pub fn table(results: &[Value]) -> String {
    let mut out = String::from("| bench | figure | measured | goal | met |\n|---|---|---:|---:|---|\n");
    for result in results {
        let bench = result["bench"].as_str().unwrap_or_default();
        for goal in result["goals"].as_array().into_iter().flatten() {
            let name = goal["figure"].as_str().unwrap_or_default();
            let met = if goal["met"] == true { "yes" } else { "no" };
            out.push_str(&format!(
                "| {bench} | `{name}` | {} | {} {} | {met} |\n",
                result["figures"][name],
                goal["op"].as_str().unwrap_or_default(),
                goal["value"]
            ));
        }
    }
    out
}
