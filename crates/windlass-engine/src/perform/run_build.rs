//! Runs a build: the exact commit in a clean checkout, under a shim that outlives us.

use windlass_adapters::ci;
use windlass_adapters::files;
use windlass_adapters::git::Slot;
use windlass_adapters::shim::client;
use windlass_core::id::BuildId;

use super::{Fault, Report};
use crate::record::Order;
use crate::world::World;

/// Of a longer log the rest is read and thrown away.
const MAX_LOG: u64 = 64 << 20;

pub fn run(world: &World, order: &Order, id: &BuildId, slot: u32) -> Result<Report, Fault> {
    let folder = world.layout.build(id);
    if order.probe && (client::alive(&folder)? || client::exit(&folder)?.is_some()) {
        return Ok(Report { adopted: true, ..Report::default() });
    }
    // A build is pure: what an earlier try left half done is thrown away.
    client::kill_leftovers(&folder)?;
    files::remove_tree(&folder)?;
    let Some(build) = world.store.build(id)? else { return Err(Fault::for_good("the build is not known")) };
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
        env: world.settings.ci.env.clone(),
        wall_limit_ms: world.settings.policy.limits.ci.0,
        max_log_bytes: MAX_LOG,
    };
    client::prepare(&folder, &ci::launch(&request))?;
    client::spawn(&world.settings.exe, &folder)?;
    Ok(Report::default())
}
