//! Starting, finding and ending processes, so that none is left behind and none of somebody else's is hit.

mod capture;
mod cgroup;
mod given;
mod ident;
mod spawn;
mod tree;

pub use capture::{Captured, Full, Limits, RunError, capture};
pub(crate) use capture::{Flow, nonblocking, read_ready, wait_readable};
pub use cgroup::{Cgroup, DAEMON_GROUP, GroupLimits, Means, means};
pub use given::{Given, given};
pub use ident::{ProcessId, boot_id, cpu_time, find_by_args, find_by_env};
pub use spawn::{
    die_with_parent, first_to_go, hang_up_with_parent, join, keep_descriptors_private, limit_file_size,
    new_session,
};
pub use tree::{become_subreaper, kill_found, kill_group, kill_tree, reap_orphans};
