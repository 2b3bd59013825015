//! What critics do: they read one head, and write a report or fail to.

use serde_json::json;
use windlass_adapters::shim::{End, Failure, TurnResult};
use windlass_core::id::SessionId;

use super::plan::{MINUTE, Mishap, ReviewKind, SECOND};
use super::session::SessionStep;
use super::world::World;

const REVIEW_USD: f64 = 0.02;

impl World {
    pub fn begin_review(&mut self, name: &SessionId) {
        let issue = self.sessions[name].issue;
        let nth = self.counts.reviews.entry(issue).or_default();
        *nth += 1;
        let nth = *nth;
        let kind = self.mishap(|mishap| match mishap {
            Mishap::Review { issue: planned, nth: at, how } if (*planned, *at) == (issue, nth) => Some(*how),
            _ => None,
        });
        let kind = kind.unwrap_or(ReviewKind::Approves);
        if kind == ReviewKind::Hangs {
            let now = self.now;
            self.sessions.get_mut(name).expect("it lives").quiet_since = Some(now);
            return;
        }
        let length = self.between(name.as_str(), u64::from(nth) + 500, 20 * SECOND, 6 * MINUTE);
        self.then(name, length, SessionStep::Judge(kind));
        self.then(name, length + SECOND, SessionStep::EndReview(kind));
    }

    pub fn judge(&mut self, name: &SessionId, kind: ReviewKind) {
        let session = &self.sessions[name];
        let (task, head) = (session.task.clone(), session.head.clone().expect("a critic has a head"));
        let comment = |message: &str| json!([{"severity": "sev2", "category": "tests", "message": message}]);
        let report = match kind {
            ReviewKind::Approves => {
                self.seen.approved.insert((task, head.clone()));
                json!({"head": head, "verdict": "APPROVE"})
            }
            ReviewKind::AsksForChanges => {
                json!({"head": head, "verdict": "REQUEST_CHANGES", "comments": comment("add a test")})
            }
            ReviewKind::Blocks => json!({"head": head, "verdict": "BLOCK", "comments": comment("never")}),
            ReviewKind::OldHead => {
                let other = self.seen.heads_of(&task).into_iter().find(|other| *other != head);
                json!({"head": other.unwrap_or_else(|| self.git.main()), "verdict": "APPROVE"})
            }
            ReviewKind::SaysNothing | ReviewKind::Dies | ReviewKind::Hangs | ReviewKind::IsLimited => return,
        };
        self.sessions.get_mut(name).expect("it lives").verdict = Some(report.to_string());
        self.stir(name);
    }

    pub fn end_review(&mut self, name: &SessionId, kind: ReviewKind) {
        let end = match kind {
            ReviewKind::Dies => End::Exit(1),
            ReviewKind::IsLimited => {
                let failure =
                    Failure { status: Some(529), kind: "api_error".into(), text: "overloaded".into() };
                End::Result(TurnResult { is_error: true, failure: Some(failure), ..TurnResult::default() })
            }
            ReviewKind::Approves
            | ReviewKind::AsksForChanges
            | ReviewKind::Blocks
            | ReviewKind::SaysNothing
            | ReviewKind::Hangs
            | ReviewKind::OldHead => self.result(name, REVIEW_USD),
        };
        self.turn_over(name, end);
    }
}
