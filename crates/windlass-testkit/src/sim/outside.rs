//! The simulated world as the heart reaches it: what takes time is only begun here.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::build::BuildOutcome;
use windlass_core::command::Typist;
use windlass_core::id::{BuildId, SessionId};
use windlass_core::schedule::Hold;
use windlass_core::session::{Identity, Process};
use windlass_core::task::Task;
use windlass_core::time::Millis;
use windlass_engine::{Cause, Life, Look, Order, Outside, Page, Question, Settings, Signs, digest_session};
use windlass_store::SqliteStore;

use super::death::die;
use super::plan::{CrashPoint, EffectFault, LinkFault, Mishap, ReadFault, SECOND};
use super::probe::sometimes;
use super::world::{DaemonId, Happening, Shared};

#[derive(Debug)]
pub struct Window {
    pub world: Shared,
    pub store: Arc<SqliteStore>,
    pub daemon: DaemonId,
}

impl Outside for Window {
    fn begin(&mut self, order: Order, task: Option<Task>) {
        let mut world = self.world.lock();
        world.counts.effects += 1;
        let nth = world.counts.effects;
        world.trace.add(&(&order.key, order.probe));
        if world.dies(CrashPoint::BeforeEffect(nth)) {
            drop(world);
            die();
        }
        let hangs = world.mishap(|mishap| match mishap {
            Mishap::Effect { nth: planned, how: EffectFault::Hangs(wait) } if *planned == nth => Some(*wait),
            _ => None,
        });
        let wait = world.between(order.key.as_str(), u64::from(order.attempt), 3, 900) + hangs.unwrap_or(0);
        let (order, task) = (Box::new(order), task.map(Box::new));
        world.after(wait, Happening::Perform { daemon: self.daemon, nth, order, task });
    }

    fn read_issues(&mut self, since: Option<Millis>) {
        let mut world = self.world.lock();
        world.counts.reads += 1;
        let nth = world.counts.reads;
        let hangs = world.mishap(|mishap| match mishap {
            Mishap::Read { nth: planned, how: ReadFault::Hangs(wait) } if *planned == nth => Some(*wait),
            _ => None,
        });
        world.hangs_until = world.hangs_until.max(world.now + hangs.unwrap_or(0));
        let wait = world.between("read", u64::from(nth), 5, 400) + hangs.unwrap_or(0);
        world.after(wait, Happening::Read { daemon: self.daemon, nth, since });
    }

    fn link(&mut self, question: Question) {
        let mut world = self.world.lock();
        world.counts.links += 1;
        let nth = world.counts.links;
        let hangs = world.mishap(|mishap| match mishap {
            Mishap::Link { nth: planned, how: LinkFault::Hangs(wait) } if *planned == nth => Some(*wait),
            _ => None,
        });
        let wait = world.between("link", u64::from(nth), 10, 300) + hangs.unwrap_or(0);
        world.after(wait, Happening::Link { daemon: self.daemon, nth, question });
    }

    fn process(&self, identity: &Identity) -> Process {
        match self.world.lock().sessions.get(&identity.name) {
            Some(session) if session.alive => Process::Alive,
            Some(_) | None => Process::Gone,
        }
    }

    /// Nobody types in a world without terminals.
    fn is_there(&self, _typist: &Typist) -> bool {
        false
    }

    fn watch_typist(&mut self, _typist: &Typist) {}

    fn read_session(&self, identity: &Identity, life: Life) -> Result<Look, String> {
        let world = self.world.lock();
        let papers = world.sessions.get(&identity.name).map(super::session::Session::papers);
        Ok(digest_session(&papers.unwrap_or_default(), identity, life))
    }

    fn signs(&self, session: &SessionId) -> Signs {
        let world = self.world.lock();
        let quiet = world.sessions.get(session).and_then(|session| session.quiet_since);
        let seen = Millis(quiet.unwrap_or(world.now));
        let cpu = Duration::from_millis(u64::try_from(seen.0).unwrap_or_default());
        Signs { output: Some(seen), cpu: Some(cpu) }
    }

    fn remember(&mut self, _identity: &Identity) {}

    fn watch_session(&mut self, session: &SessionId) {
        let mut world = self.world.lock();
        let Some(found) = world.sessions.get_mut(session) else { return };
        found.watcher = Some(self.daemon);
        let alive = found.alive;
        if alive {
            found.waiter = Some(self.daemon);
            if found.started_by != self.daemon {
                sometimes!(world, "a session outlived its daemon");
            }
        } else {
            let (daemon, session) = (self.daemon, session.clone());
            world.after(1, Happening::Hear { daemon, cause: Cause::SessionGone(session) });
        }
    }

    fn forget_session(&mut self, session: &SessionId) {
        if let Some(found) = self.world.lock().sessions.get_mut(session) {
            found.watcher = None;
        }
    }

    fn watch_build(&mut self, build: &BuildId) {
        let mut world = self.world.lock();
        let daemon = self.daemon;
        match world.runs.get_mut(build).filter(|run| run.alive) {
            Some(run) => {
                run.waiter = Some(daemon);
                if run.started_by != daemon {
                    sometimes!(world, "a build outlived its daemon");
                }
            }
            None => world.after(1, Happening::Hear { daemon, cause: Cause::BuildGone(build.clone()) }),
        }
    }

    fn build_result(&self, build: &BuildId) -> Option<BuildOutcome> {
        self.world.lock().build_result(build)
    }

    fn room(&self) -> Option<Hold> {
        None
    }

    /// Its disk takes nothing at all while it is full, not even what the heart has to say.
    fn full(&self) -> Option<Hold> {
        None
    }

    fn mirror(&mut self, _page: Page) {}

    /// The heart stands still while time goes by and, in the end, somebody makes room.
    fn wait_for_store(&self) {
        let mut world = self.world.lock();
        world.now += SECOND;
        let left = world.disk_full.unwrap_or(0);
        if left > 1 {
            world.disk_full = Some(left - 1);
            return;
        }
        world.disk_full = None;
        sometimes!(world, "a full disk was survived");
        drop(world);
        self.store.limit_pages(None).expect("a limit can be lifted");
    }

    fn reconfigure(&mut self, _settings: &Settings) {}

    fn stop_all(&mut self, sessions: Vec<SessionId>, _builds: Vec<BuildId>) {
        let mut world = self.world.lock();
        for session in sessions {
            world.stop_session(&session);
        }
    }
}
