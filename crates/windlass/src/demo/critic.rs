//! The review role's script: one real rule, checked on the real checkout.

use std::io;

use serde_json::json;

use super::agent::Surroundings;
use super::hands::Hands;

/// Every command needs a page: a rule that tests cannot see.
pub fn review(hands: &mut Hands, around: &Surroundings, _brief: &str) -> io::Result<String> {
    let Some(verdict_file) = &around.verdict_file else {
        return Err(io::Error::other("there is no place for a verdict"));
    };
    let (_, head) = hands.run("git rev-parse HEAD")?;
    let (_, missing) = hands
        .run("for f in lib/cmd_*.sh; do n=${f#lib/cmd_}; n=${n%.sh}; [ -f docs/$n.md ] || echo $n; done")?;
    let comments: Vec<serde_json::Value> = missing.split_whitespace().map(comment).collect();
    let verdict = if comments.is_empty() { "APPROVE" } else { "REQUEST_CHANGES" };
    let report = json!({
        "head": head.trim(),
        "verdict": verdict,
        "summary": "Every command needs a page in docs/.",
        "comments": comments,
    });
    std::fs::write(verdict_file, report.to_string())?;
    Ok(verdict.to_owned())
}

fn comment(name: &str) -> serde_json::Value {
    json!({
        "severity": "sev2", "category": "docs", "file": format!("lib/cmd_{name}.sh"), "line": 1,
        "message": format!("The command `{name}` has no page: add docs/{name}.md."),
    })
}
