//! Builds: pure, so what an earlier try left half done is thrown away.

use windlass_core::build::BuildStatus;
use windlass_core::id::BuildId;
use windlass_engine::{Order, Report};
use windlass_store::Store;

use super::{Fault, Hands};
use crate::sim::world::World;

impl World {
    pub(super) fn run_build(
        &mut self,
        hands: Hands<'_>,
        order: &Order,
        id: &BuildId,
        slot: u32,
    ) -> Result<Report, Fault> {
        let under_way = |run: &crate::sim::ci::CiRun| run.alive || run.outcome.is_some() || run.stopped;
        if order.probe && self.runs.get(id).is_some_and(under_way) {
            return Ok(Report { adopted: true, ..Report::default() });
        }
        self.step()?;
        let Some(build) = hands.store.build(id)? else {
            return Err(Fault::ForGood("the build is not known".into()));
        };
        if build.status != (BuildStatus::Running { slot }) {
            return Ok(Report { adopted: true, ..Report::default() });
        }
        self.start_run(hands.daemon, id, &build.commit, slot);
        self.step()?;
        Ok(Report::default())
    }

    /// Whoever is gone already is as good as stopped.
    pub(super) fn stop_build(&mut self, id: &BuildId) -> Report {
        self.end_run_for_us(id);
        Report::default()
    }
}
