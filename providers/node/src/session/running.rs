//! Actions under way: how they are told to stop, and that those on one object take turns.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use slipway_resource::Token;
use tokio_util::sync::CancellationToken;

/// Actions under way.
#[derive(Default)]
pub(super) struct Running {
    stops: Mutex<HashMap<String, CancellationToken>>,
    turns: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Forgets an action when it ends.
pub(super) struct Registered<'a> {
    running: &'a Running,
    token: String,
    pub(super) stop: CancellationToken,
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        lock(&self.running.stops).remove(&self.token);
    }
}

impl Running {
    pub(super) fn register(&self, token: &Token) -> Registered<'_> {
        let stop = CancellationToken::new();
        let token = token.as_str().to_owned();
        lock(&self.stops).insert(token.clone(), stop.clone());
        Registered { running: self, token, stop }
    }

    /// Tells an action to stop; without token, all of them.
    pub(super) fn cancel(&self, token: Option<&Token>) {
        for (name, stop) in lock(&self.stops).iter() {
            if token.is_none_or(|token| token.as_str() == name) {
                stop.cancel();
            }
        }
    }

    /// The turn of an object: one action on it at a time.
    pub(super) fn turn(&self, object: String) -> Arc<tokio::sync::Mutex<()>> {
        let mut turns = lock(&self.turns);
        // Those that nobody holds or waits for are forgotten, so that the table stays small.
        turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        Arc::clone(turns.entry(object).or_default())
    }
}
