//! The start: everything that may have been under way is looked at.

use windlass_core::build::{BuildOutcome, BuildStatus};
use windlass_core::journal::FactoryFact;
use windlass_core::session::Process;
use windlass_core::task::{BuildLane, Effect};
use windlass_core::time::Millis;
use windlass_store::StoreError;

use crate::heart::Heart;
use crate::outside::Life;

impl Heart {
    /// Sessions and builds that outlived the last daemon are watched again; those that did not are read to their end.
    pub fn begin(&mut self, now: Millis, pid: u32) -> Result<(), StoreError> {
        let epoch = self.store.epoch().unwrap_or_default();
        let fact = FactoryFact::DaemonStarted { epoch, pid, version: env!("CARGO_PKG_VERSION").to_owned() };
        self.book.log(now, fact);
        self.forget_config_trouble();
        self.was_down(now);
        for identity in self.book.identities.values().cloned().collect::<Vec<_>>() {
            self.outside.remember(&identity);
            if self.is_starting(&identity.name) {
                continue;
            }
            match self.outside.process(&identity) {
                Process::Alive => {
                    self.outside.watch_session(&identity.name);
                    self.look_at(now, &identity.name, Life::MayGoOn);
                }
                Process::Gone | Process::NotLooked => self.look_at(now, &identity.name, Life::Over),
            }
        }
        self.replace_builds(now)?;
        self.reattach_builds();
        Ok(())
    }

    /// CI's command is another one since: what the old builds would say is not what is asked now.
    fn replace_builds(&mut self, now: Millis) -> Result<(), StoreError> {
        let old = self.book.builds.values().filter(|build| build.recipe != self.recipe);
        for build in old.cloned().collect::<Vec<_>>() {
            let tree = build.tree.clone();
            self.stop_build(now, build, BuildOutcome::Cancelled);
            for task in self.waiting_for(&tree) {
                let head = self.book.tasks.get(&task).and_then(|task| task.pushed.clone());
                if let Some(head) = head {
                    self.request_build(now, &task, &head, &tree, BuildLane::Branch)?;
                }
            }
        }
        Ok(())
    }

    fn reattach_builds(&mut self) {
        for build in self.book.builds.values() {
            let starting = self
                .outbox
                .any(|effect| matches!(effect, Effect::RunBuild { build: id, .. } if *id == build.id));
            if !starting && matches!(build.status, BuildStatus::Running { .. }) {
                self.outside.watch_build(&build.id);
            }
        }
    }
}
