//! What everybody together has cost: asked at every decision, so that the store is asked only when it has learnt of more.

use windlass_core::time::Millis;
use windlass_store::{Store, StoreError, UsageQuery};

use super::Book;

impl Book {
    pub fn spent(&mut self, store: &dyn Store, since: Millis) -> Result<u64, StoreError> {
        if let Some((known, spent)) = self.spent
            && known == since
        {
            return Ok(spent);
        }
        let spent = store.cost(&UsageQuery { issue: None, since: Some(since) })?;
        self.spent = Some((since, spent));
        Ok(spent)
    }
}
