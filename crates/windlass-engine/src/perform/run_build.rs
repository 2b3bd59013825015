//! Runs a build: the exact commit in a clean checkout, under a shim that outlives us.

use std::time::Duration;

use windlass_adapters::ci;
use windlass_adapters::files;
use windlass_adapters::git::{Expect, Slot, Swap};
use windlass_adapters::shim::client;
use windlass_core::build::BuildStatus;
use windlass_core::crash;
use windlass_core::id::BuildId;

use super::{Fault, Report};
use crate::record::Order;
use crate::world::World;

/// A shim gives its program two seconds to end; one that needs longer than this does not hear.
const PATIENCE: Duration = Duration::from_secs(5);

pub fn run(world: &World, order: &Order, id: &BuildId, slot: u32) -> Result<Report, Fault> {
    let folder = world.layout.build(id);
    if order.probe && (client::alive(&folder)? || client::exit(&folder)?.is_some()) {
        return Ok(Report { adopted: true, ..Report::default() });
    }
    // A build is pure: what an earlier try left half done is thrown away.
    client::kill_leftovers(&folder)?;
    files::remove_tree(&folder)?;
    let Some(build) = world.store.build(id)? else { return Err(Fault::for_good("the build is not known")) };
    if build.status != (BuildStatus::Running { slot }) {
        return Ok(Report { adopted: true, ..Report::default() });
    }
    let checkout = Slot::new(&world.layout.ci_slot(slot), world.settings.ci.keep.clone())?
        .check_out(&world.repo, &build.commit)?;
    let (home, temp) = (folder.join("home"), folder.join("home").join("tmp"));
    files::private_dir(&temp)?;
    let request = ci::Build {
        command: world.settings.ci.command.clone(),
        checkout,
        folder: folder.clone(),
        home,
        temp,
        search_path: world.settings.search_path.clone(),
        wall_limit_ms: world.settings.policy.limits.ci.0,
        max_log_bytes: ci::MAX_LOG,
        limits: world.settings.limits,
    };
    // A large checkout takes its time; the build may have been given up since.
    let wanted = world.store.build(id)?.is_some_and(|build| build.status == BuildStatus::Running { slot });
    if !wanted {
        return Ok(Report { adopted: true, ..Report::default() });
    }
    crash::step("checked out");
    client::prepare(&folder, &ci::launch(&request))?;
    crash::step("prepared");
    client::spawn(&world.settings.exe, &folder, &world.settings.ci.env)?;
    Ok(Report::default())
}

/// Ends what runs for the build. Nothing there is fine.
pub fn stop(world: &World, id: &BuildId) -> Result<Report, Fault> {
    client::end(&world.layout.build(id), PATIENCE)?;
    Ok(Report::default())
}

/// The candidate has a name while its build waits or runs, and none afterwards. What is stored decides, so that this
/// can be done at any time and again.
pub fn hold(world: &World, id: &BuildId) -> Result<Report, Fault> {
    let name = format!("refs/windlass/run/{id}");
    let open = |status: &BuildStatus| match status {
        BuildStatus::Waiting | BuildStatus::Running { .. } => true,
        BuildStatus::Ended { .. } => false,
    };
    match world.store.build(id)?.filter(|build| open(&build.status)) {
        Some(build) => world.repo.set_ref(&name, &build.commit)?,
        None => match world.repo.delete_ref(&name, Expect::Anything)? {
            Swap::Done => {}
            Swap::Lost { .. } => return Err(Fault::for_good(format!("`{name}` cannot be removed"))),
        },
    }
    Ok(Report::default())
}
