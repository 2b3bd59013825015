//! Checkouts that critics read in, each used again by the next.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use windlass_adapters::shim::client;
use windlass_core::id::SessionId;

use crate::layout::Layout;

/// Which review session uses which of the reusable checkouts.
#[derive(Debug, Default)]
pub struct ReviewSlots(Mutex<BTreeMap<SessionId, u32>>);

impl ReviewSlots {
    /// After a restart: the session keeps the checkout that its process was started in. Only the launch says for sure
    /// which one that is: the daemon may have been killed before it wrote down that the session runs.
    pub fn remember(&self, layout: &Layout, session: &SessionId) {
        let launch = match client::launch(&layout.session(session)) {
            Ok(launch) => launch,
            Err(error) => {
                tracing::warn!(%session, error = %windlass_core::text::causes(&error), "cannot read where a session was started");
                return;
            }
        };
        if let Some(slot) = launch.and_then(|launch| layout.review_slot_of(&launch.cwd)) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(session.clone(), slot);
        }
    }

    pub(super) fn take(&self, session: &SessionId) -> u32 {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = held.get(session) {
            return *slot;
        }
        let slot =
            (1..).find(|slot| !held.values().any(|taken| taken == slot)).expect("there are enough numbers");
        held.insert(session.clone(), slot);
        slot
    }

    pub(super) fn release(&self, session: &SessionId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(session);
    }
}
