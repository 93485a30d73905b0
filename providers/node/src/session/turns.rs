//! Actions on one object take turns.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// One lock for each object.
#[derive(Default)]
pub(super) struct Turns {
    turns: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

impl Turns {
    /// The lock of an object: one action on it at a time.
    pub(super) fn of(&self, object: String) -> Arc<tokio::sync::Mutex<()>> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        // Locks that are neither held nor waited for are dropped, so that the table stays small.
        turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        Arc::clone(turns.entry(object).or_default())
    }
}
