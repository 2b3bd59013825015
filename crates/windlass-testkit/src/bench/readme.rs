//! Writes the last figures of every benchmark into the README, between two markers and nowhere else.

use std::path::Path;

use serde_json::Value;

use super::BENCHES;
use super::error::BenchError;
use super::figures;

/// Replaces the table in `readme` by one of the results in `folder`.
pub fn write(folder: &Path, readme: &Path) -> Result<(), BenchError> {
    let mut results = Vec::new();
    for bench in &BENCHES {
        let path = folder.join(format!("{}.json", bench.name));
        match std::fs::read_to_string(&path) {
            Ok(text) => results.push(read(&path, &text)?),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => return Err(BenchError::io("read", &path)(source)),
        }
    }
    if results.is_empty() {
        return Err(BenchError::NoResults { folder: folder.to_owned() });
    }
    let before = std::fs::read_to_string(readme).map_err(BenchError::io("read", readme))?;
    let after = figures::replace(&before, &figures::table(&results))
        .map_err(|marker| BenchError::NoMarker { path: readme.to_owned(), marker })?;
    std::fs::write(readme, after).map_err(BenchError::io("write", readme))
}

fn read(path: &Path, text: &str) -> Result<Value, BenchError> {
    let call = path.display().to_string();
    serde_json::from_str(text).map_err(|error| BenchError::Answer { call, detail: error.to_string() })
}
