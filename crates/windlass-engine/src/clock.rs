//! The one place where the heart asks what time it is.

use std::time::{SystemTime, UNIX_EPOCH};

use windlass_core::time::Millis;

pub fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
