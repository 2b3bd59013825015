//! The real outside: threads, files, processes, git and the forge of this machine.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use windlass_adapters::process::{ProcessId, boot_id};
use windlass_adapters::shim::{TRANSCRIPT, client};
use windlass_core::build::BuildOutcome;
use windlass_core::command::Typist;
use windlass_core::id::{BuildId, SessionId};
use windlass_core::schedule::Hold;
use windlass_core::session::{Identity, Process, Role};
use windlass_core::task::{Effect, Task};
use windlass_core::text::causes;
use windlass_core::time::Millis;

use crate::causes::Cause;
use crate::factory::EngineError;
use crate::outside::{Life, Outside, Question, Signs};
use crate::papers::Papers;
use crate::perform::{Outcome, ReviewSlots, perform};
use crate::queue::link;
use crate::record::Order;
use crate::sessions::Look;
use crate::settings::Settings;
use crate::sweep::{Watch, read_issues};
use crate::workers::Workers;
use crate::world::World;
use crate::{builds, mirror, room, sessions};

const URGENT_WORKERS: usize = 3;
/// Between two tries to write to a full disk or a locked database.
const STORE_PATIENCE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct Host {
    world: Arc<World>,
    workers: Workers,
    /// For the queue and the builds it waits for: what is nearly done goes before what begins.
    urgent: Workers,
    causes: Sender<Cause>,
    mirror: mirror::Writer,
    slots: Arc<ReviewSlots>,
    watch: Watch,
}

impl Host {
    pub fn start(world: World, causes: Sender<Cause>) -> Result<Self, EngineError> {
        let settings = &world.settings;
        let workers = (settings.policy.parallel + settings.ci.slots) as usize + 4;
        Ok(Self {
            workers: Workers::start(workers.min(32)).map_err(EngineError::Thread)?,
            urgent: Workers::start(URGENT_WORKERS).map_err(EngineError::Thread)?,
            mirror: mirror::Writer::start(world.layout.clone()).map_err(EngineError::Thread)?,
            watch: Watch::start(&world.layout, causes.clone()).map_err(EngineError::Watch)?,
            slots: Arc::default(),
            world: Arc::new(world),
            causes,
        })
    }
}

impl Outside for Host {
    fn begin(&mut self, order: Order, task: Option<Task>) {
        let (world, slots, causes) = (Arc::clone(&self.world), Arc::clone(&self.slots), self.causes.clone());
        let workers = match &order.effect {
            Effect::Land { .. } | Effect::RunBuild { .. } => &self.urgent,
            _ => &self.workers,
        };
        workers.submit(move || {
            let done = catch_unwind(AssertUnwindSafe(|| perform(&world, &slots, &order, task.as_ref())));
            let outcome = done.unwrap_or_else(|_| Outcome::GiveUp { error: "it panicked".into() });
            drop(causes.send(Cause::EffectEnded { key: order.key, outcome }));
        });
    }

    fn read_issues(&mut self, since: Option<Millis>) {
        let (world, causes) = (Arc::clone(&self.world), self.causes.clone());
        self.workers.submit(move || drop(causes.send(Cause::IssuesSeen(read_issues(&world, since)))));
    }

    fn link(&mut self, question: Question) {
        let (world, causes) = (Arc::clone(&self.world), self.causes.clone());
        self.urgent.submit(move || {
            let built = link(&world, &question).map_err(|fault| fault.error().to_owned());
            drop(causes.send(Cause::ChainBuilt(built)));
        });
    }

    fn process(&self, identity: &Identity) -> Process {
        sessions::look(&self.world.layout, identity)
    }

    fn is_there(&self, typist: &Typist) -> bool {
        let process = ProcessId { pid: typist.pid, start_time: typist.start_time };
        // A boot whose name cannot be read is no reason to send a person away.
        boot_id().map_or(true, |boot| boot == typist.boot) && process.is_alive()
    }

    fn watch_typist(&mut self, typist: &Typist) {
        self.watch.typist(ProcessId { pid: typist.pid, start_time: typist.start_time });
    }

    fn read_session(&self, identity: &Identity, life: Life) -> Result<Look, String> {
        let papers = Papers::read(&self.world.layout, identity).map_err(|error| causes(&error))?;
        Ok(sessions::digest(&papers, identity, life))
    }

    fn signs(&self, session: &SessionId) -> Signs {
        let folder = self.world.layout.session(session);
        let modified = folder.join(TRANSCRIPT).metadata().and_then(|found| found.modified()).ok();
        let since = modified.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        let output = since.and_then(|since| i64::try_from(since.as_millis()).ok()).map(Millis);
        Signs { output, cpu: client::cpu_time(&folder).ok().flatten() }
    }

    fn remember(&mut self, identity: &Identity) {
        if identity.role == Role::Review {
            self.slots.remember(&self.world.layout, &identity.name);
        }
    }

    fn watch_session(&mut self, session: &SessionId) {
        self.watch.session(&self.world.layout, session);
    }

    fn forget_session(&mut self, session: &SessionId) {
        self.watch.forget_session(&self.world.layout, session);
    }

    fn watch_build(&mut self, build: &BuildId) {
        self.watch.build(&self.world.layout, build);
    }

    fn build_result(&self, build: &BuildId) -> Option<BuildOutcome> {
        let folder = self.world.layout.build(build);
        // A shim that was itself killed may leave processes that would write into the next checkout.
        if let Err(error) = client::kill_leftovers(&folder) {
            tracing::warn!(%error, "cannot end what a build left");
        }
        builds::judge(&folder)
    }

    fn room(&self) -> Option<Hold> {
        room::hold(self.world.settings.guards, self.world.layout.state())
    }

    fn full(&self) -> Option<Hold> {
        room::full(self.world.settings.guards, self.world.layout.state())
    }

    fn mirror(&mut self, page: mirror::Page) {
        self.mirror.write(page);
    }

    fn wait_for_store(&self) {
        std::thread::sleep(STORE_PATIENCE);
    }

    fn reconfigure(&mut self, settings: &Settings) {
        let world = World { settings: settings.clone(), ..World::clone(&self.world) };
        self.world = Arc::new(world);
    }

    fn stop_all(&mut self, sessions: Vec<SessionId>, builds: Vec<BuildId>) {
        let layout = &self.world.layout;
        let sessions = sessions.iter().map(|name| layout.session(name));
        let builds = builds.iter().map(|id| layout.build(id));
        let folders: Vec<_> = sessions.chain(builds).filter(|folder| folder.exists()).collect();
        for folder in folders.iter().filter(|folder| client::alive(folder).unwrap_or(true)) {
            if let Err(error) = client::request_stop(folder) {
                tracing::error!(%error, "cannot ask a shim to stop");
            }
        }
        for folder in &folders {
            if let Err(error) = client::wait_gone(folder).and_then(|()| client::kill_leftovers(folder)) {
                tracing::error!(%error, "cannot end a shim");
            }
        }
    }
}
