//! The start: everything that may have been under way is looked at.

use windlass_core::build::BuildStatus;
use windlass_core::journal::FactoryFact;
use windlass_core::session::Process;
use windlass_core::task::Effect;
use windlass_core::time::Millis;

use crate::heart::Heart;
use crate::outside::Life;

impl Heart {
    /// Sessions and builds that outlived the last daemon are watched again; those that did not are read to their end.
    pub fn begin(&mut self, now: Millis, pid: u32) {
        let epoch = self.store.epoch().unwrap_or_default();
        let fact = FactoryFact::DaemonStarted { epoch, pid, version: env!("CARGO_PKG_VERSION").to_owned() };
        self.book.log(now, fact);
        self.forget_config_trouble();
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
        self.reattach_builds();
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
