//! The dialogs of a first start, answered before they are asked: nobody is there, and their defaults refuse.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::files::{self, FileError};

/// A long key is known by its end.
const KEY_CHARS: usize = 20;
/// Far above what these files come to.
const MAX_BYTES: u64 = 64 << 20;

/// Answers in the files of the private home. What a predecessor's program has written there stays.
pub(super) fn all(home: &Path, workspace: &Path, key: Option<&str>) -> Result<(), FileError> {
    let workspace = workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned());
    change(&home.join(".claude.json"), |all| {
        all.insert("hasCompletedOnboarding".into(), json!(true));
        // Said once a conversation has cost some dollars; the budget is ours.
        all.insert("hasAcknowledgedCostThreshold".into(), json!(true));
        // Asked when a long conversation is resumed after a while: whether a summary of it would do.
        all.insert("resumeReturnDismissed".into(), json!(true));
        let project = object(object(all, "projects"), &workspace.to_string_lossy());
        project.insert("hasTrustDialogAccepted".into(), json!(true));
        // Asked and refused, unless somebody has answered otherwise: the project names files outside of itself.
        project.insert("hasClaudeMdExternalIncludesWarningShown".into(), json!(true));
        if let Some(key) = key {
            approve(object(all, "customApiKeyResponses"), &end_of(key));
        }
    })?;
    files::private_dir(&home.join(".claude/sessions"))?;
    change(&home.join(".claude/settings.json"), |all| {
        all.insert("skipDangerousModePermissionPrompt".into(), json!(true));
    })
}

fn approve(answers: &mut Map<String, Value>, key: &str) {
    let approved = answers.entry("approved").or_insert_with(|| json!([]));
    match approved {
        Value::Array(keys) if keys.iter().any(|known| known == key) => {}
        Value::Array(keys) => keys.push(json!(key)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            *approved = json!([key]);
        }
    }
}

fn end_of(key: &str) -> String {
    let skipped = key.chars().count().saturating_sub(KEY_CHARS);
    key.chars().skip(skipped).collect()
}

fn change(path: &Path, with: impl FnOnce(&mut Map<String, Value>)) -> Result<(), FileError> {
    let bytes = files::read_head(path, MAX_BYTES)?.unwrap_or_default();
    // What is no object was cut off by a kill; the program would begin anew as well.
    let mut all: Map<String, Value> = serde_json::from_slice(&bytes).unwrap_or_default();
    with(&mut all);
    files::write_json(path, &all)
}

/// The object under this key; made if there is none.
fn object<'a>(all: &'a mut Map<String, Value>, key: &str) -> &'a mut Map<String, Value> {
    let value = all.entry(key).or_insert_with(|| json!({}));
    if !value.is_object() {
        *value = json!({});
    }
    value.as_object_mut().expect("made one just now")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_added_and_nothing_else_changes() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(".claude.json");
        let before = json!({"userID": "u", "projects": {"/w": {"allowed": [1]}}, "customApiKeyResponses": {"approved": ["old"]}});
        std::fs::write(&path, before.to_string()).unwrap();
        for _ in 0..2 {
            all(home.path(), Path::new("/w"), Some("sk-long-0123456789abcdefghij")).unwrap();
        }
        let after: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let wanted = json!({
            "userID": "u", "hasCompletedOnboarding": true, "resumeReturnDismissed": true,
            "hasAcknowledgedCostThreshold": true,
            "projects": {"/w": {"allowed": [1], "hasTrustDialogAccepted": true, "hasClaudeMdExternalIncludesWarningShown": true}},
            "customApiKeyResponses": {"approved": ["old", "0123456789abcdefghij"]},
        });
        assert_eq!(after, wanted);
        assert_eq!(end_of("short"), "short");
    }
}
