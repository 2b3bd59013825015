//! The critic's typed report on one head, and the ledger of findings over all rounds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bugs::{self, Bug};
use crate::id::Sha;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Decision {
    Approve,
    RequestChanges,
    Block,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CriticReport {
    /// The commit that was read, as 40 hex digits.
    pub head: Sha,
    pub verdict: Decision,
    #[serde(default)]
    pub summary: String,
    #[serde(default)]
    pub comments: Vec<CriticComment>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CriticComment {
    pub severity: Severity,
    pub category: Category,
    #[serde(default)]
    pub file: Option<String>,
    #[serde(default)]
    pub line: Option<u32>,
    pub message: String,
    /// The id of an earlier finding that this repeats, such as `F2`.
    #[serde(default)]
    pub finding: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Sev1,
    Sev2,
    Sev3,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    Correctness,
    Security,
    Style,
    Tests,
    Docs,
}

/// Why a critic's output is not a verdict. Never read as an approval.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAVerdict {
    #[error("there is no verdict")]
    Missing,
    #[error("the verdict does not follow the schema: {0}")]
    Schema(String),
    #[error("the verdict is for `{read}`, not for `{wanted}`")]
    OtherHead { read: Sha, wanted: Sha },
    #[error("the verdict asks for changes but names none")]
    NoComments,
}

/// Reads a report and checks it against its schema and the head it must be about.
pub fn read(text: &str, wanted: &Sha) -> Result<CriticReport, NotAVerdict> {
    if text.trim().is_empty() {
        return Err(NotAVerdict::Missing);
    }
    let report: CriticReport = serde_json::from_str(text)
        .map_err(|error| NotAVerdict::Schema(crate::text::one_line(&error.to_string(), 300)))?;
    if report.head != *wanted && !bugs::is(Bug::StaleVerdict) {
        return Err(NotAVerdict::OtherHead { read: report.head, wanted: wanted.clone() });
    }
    match report.verdict {
        Decision::RequestChanges | Decision::Block if report.comments.is_empty() => {
            Err(NotAVerdict::NoComments)
        }
        Decision::Approve | Decision::RequestChanges | Decision::Block => Ok(report),
    }
}

/// The schema that the critic's brief carries.
pub fn schema() -> String {
    let schema = schemars::schema_for!(CriticReport);
    serde_json::to_string_pretty(&schema).expect("a schema is plain JSON")
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    pub id: String,
    pub status: FindingStatus,
    pub severity: Severity,
    pub category: Category,
    pub file: Option<String>,
    pub line: Option<u32>,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingStatus {
    Open,
    Addressed,
    Reopened,
}

/// Carries the ledger over one more report: what is named again is reopened, what is not named any more is addressed.
pub fn ledger_after(ledger: &[Finding], report: &CriticReport) -> Vec<Finding> {
    let mut after: Vec<Finding> = ledger.to_vec();
    let mut named = vec![false; after.len()];
    for comment in &report.comments {
        match position(&after, comment) {
            Some(at) => {
                if after[at].status == FindingStatus::Addressed {
                    after[at].status = FindingStatus::Reopened;
                }
                named[at] = true;
            }
            None => {
                after.push(new_finding(after.len() + 1, comment));
                named.push(true);
            }
        }
    }
    for (finding, named) in after.iter_mut().zip(named) {
        if !named {
            finding.status = FindingStatus::Addressed;
        }
    }
    after
}

fn position(ledger: &[Finding], comment: &CriticComment) -> Option<usize> {
    ledger.iter().position(|finding| match &comment.finding {
        Some(id) => finding.id == *id,
        None => finding.file == comment.file && finding.message == comment.message,
    })
}

fn new_finding(nth: usize, comment: &CriticComment) -> Finding {
    Finding {
        id: format!("F{nth}"),
        status: FindingStatus::Open,
        severity: comment.severity,
        category: comment.category,
        file: comment.file.clone(),
        line: comment.line,
        message: crate::text::bounded(&crate::text::clean(&comment.message), 4_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sha(digit: &str) -> Sha {
        Sha::parse(&digit.repeat(40)).unwrap()
    }

    fn report(messages: &[&str]) -> CriticReport {
        let comments: Vec<String> = messages
            .iter()
            .map(|m| format!(r#"{{"severity":"sev2","category":"tests","file":"a.sh","message":"{m}"}}"#))
            .collect();
        let json = format!(
            r#"{{"head":"{}","verdict":"REQUEST_CHANGES","comments":[{}]}}"#,
            sha("a"),
            comments.join(",")
        );
        read(&json, &sha("a")).unwrap()
    }

    #[test]
    fn only_a_whole_report_on_the_right_head_is_a_verdict() {
        let wanted = sha("a");
        let bad = |text: &str| read(text, &wanted).unwrap_err();
        assert_eq!(bad("  "), NotAVerdict::Missing);
        assert!(matches!(bad("LGTM, APPROVE"), NotAVerdict::Schema(_)));
        let extra = format!(r#"{{"head":"{wanted}","verdict":"APPROVE","merge":true}}"#);
        assert!(matches!(bad(&extra), NotAVerdict::Schema(_)), "unknown fields are refused");
        let other = format!(r#"{{"head":"{}","verdict":"APPROVE"}}"#, sha("b"));
        assert!(matches!(bad(&other), NotAVerdict::OtherHead { .. }));
        let empty = format!(r#"{{"head":"{wanted}","verdict":"BLOCK"}}"#);
        assert_eq!(bad(&empty), NotAVerdict::NoComments);
        let lower = format!(r#"{{"head":"{wanted}","verdict":"approve"}}"#);
        assert!(matches!(bad(&lower), NotAVerdict::Schema(_)));
        let good = format!(r#"{{"head":"{wanted}","verdict":"APPROVE"}}"#);
        assert_eq!(read(&good, &wanted).unwrap().verdict, Decision::Approve);
    }

    #[test]
    fn findings_keep_their_ids_over_rounds() {
        let one = ledger_after(&[], &report(&["no test", "bad name"]));
        let two = ledger_after(&one, &report(&["no test"]));
        let three = ledger_after(&two, &report(&["bad name", "new"]));
        let show = |ledger: &[Finding]| -> String {
            let all: Vec<String> = ledger.iter().map(|f| format!("{}:{:?}", f.id, f.status)).collect();
            all.join(" ")
        };
        assert_eq!(show(&one), "F1:Open F2:Open");
        assert_eq!(show(&two), "F1:Open F2:Addressed");
        assert_eq!(show(&three), "F1:Addressed F2:Reopened F3:Open");
    }
}
