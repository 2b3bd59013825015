//! Hooks: where a successor would have to go on, written down at every move and every new phase of the work.

use windlass_core::activity::Activity;
use windlass_core::journal::FactoryFact;
use windlass_core::session::Hook;
use windlass_core::task::{self, State, Task};
use windlass_core::time::Millis;
use windlass_core::{message, text};
use windlass_store::Op;

use super::{Book, Mirror};

impl Book {
    /// What the task's session was last seen to do.
    pub(super) fn activity(&self, task: &Task) -> Activity {
        self.identities.get(&task.session).map(|identity| identity.activity.clone()).unwrap_or_default()
    }

    /// New findings start the work over: what was complete is so no longer.
    pub(super) fn begin_round(&mut self, before: &Task, after: &Task) {
        let State::Revising { feedback, .. } = &after.state else { return };
        let anew = match feedback {
            task::Feedback::CiFailed { .. }
            | task::Feedback::ChangesRequested { .. }
            | task::Feedback::Conflict { .. }
            | task::Feedback::GateFailed { .. } => matches!(before.state, State::AwaitingSlot { .. }),
            task::Feedback::Answer { .. }
            | task::Feedback::Told { .. }
            | task::Feedback::LimitOver
            | task::Feedback::Retry { .. } => false,
        };
        if let Some(mut identity) = self.identities.get(&after.session).cloned().filter(|_| anew) {
            identity.activity.phase = None;
            self.save_identity(identity);
        }
    }

    /// The hook says where a successor would have to go on.
    pub(crate) fn checkpoint(&mut self, at: Millis, task: &Task) {
        let activity = self.activity(task);
        let work_phase = activity.work_phase(&task.state);
        let doing = activity.doing.map(|doing| format!("; last: {doing}")).unwrap_or_default();
        let hook = Hook {
            identity_name: task.session.clone(),
            current_bead: task.bead_id.clone(),
            current_node: task.node_id.clone(),
            work_phase,
            work_summary: format!(
                "{} ({}){doing}",
                text::one_line(&task.title, 120),
                message::state_line(task)
            ),
            last_checkpoint_at: at,
            files_modified: activity.files,
            tests_status: tests_status(&task.state).to_owned(),
            resumption_instructions: format!("go on with {} on branch `{}`", task.issue, task.branch),
        };
        self.put(Op::SaveHook(hook.clone()));
        let fact = FactoryFact::HookUpdated { session: task.session.clone(), work_phase };
        self.log_of(at, &task.id, fact);
        self.page.mirrors.push(Mirror::Hook(Box::new(hook)));
    }
}

fn tests_status(state: &State) -> &'static str {
    match state {
        State::AwaitingCi { .. } => "running",
        State::AwaitingCritic { .. } | State::Queued { .. } | State::Merged { .. } => "passed",
        State::AwaitingSlot { feedback } | State::Revising { feedback, .. } => match feedback {
            task::Feedback::CiFailed { .. } | task::Feedback::GateFailed { .. } => "failed",
            task::Feedback::ChangesRequested { .. } | task::Feedback::Conflict { .. } => "passed",
            task::Feedback::Answer { .. }
            | task::Feedback::Told { .. }
            | task::Feedback::LimitOver
            | task::Feedback::Retry { .. } => "unknown",
        },
        State::Dispatched
        | State::Running { .. }
        | State::AwaitingHuman { .. }
        | State::Limited { .. }
        | State::HandingOff { .. }
        | State::Closed { .. }
        | State::Abandoned { .. } => "unknown",
    }
}
