//! Actions under way, and how they are asked to stop.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use slipway_resource::{ErrorClass, ProviderError, Token};
use tokio::sync::watch;

/// Actions under way.
#[derive(Debug, Default)]
pub(super) struct Running {
    stops: Mutex<HashMap<Token, watch::Sender<bool>>>,
}

/// One action under way; it ends when this is dropped.
pub(super) struct Ticket<'a> {
    running: &'a Running,
    token: Token,
    stop: watch::Receiver<bool>,
}

impl Running {
    /// An action begins.
    pub(super) fn begin(&self, token: &Token) -> Ticket<'_> {
        let mut stops = self.stops.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = stops.entry(token.clone()).or_insert_with(|| watch::channel(false).0);
        Ticket { running: self, token: token.clone(), stop: sender.subscribe() }
    }

    /// Asks one action, or all, to stop.
    pub(super) fn stop(&self, token: Option<&Token>) {
        let stops = self.stops.lock().unwrap_or_else(PoisonError::into_inner);
        for (running, sender) in stops.iter() {
            if token.is_none_or(|token| token == running) {
                sender.send_replace(true);
            }
        }
    }
}

impl Ticket<'_> {
    /// Waits some time, or until the action is to stop.
    ///
    /// # Errors
    /// `cancelled` when it is to stop.
    pub(super) async fn pause(&mut self, time: Duration) -> Result<(), ProviderError> {
        tokio::select! {
            biased;
            _ = self.stop.wait_for(|stop| *stop) => {
                Err(ProviderError::new(ErrorClass::Cancelled, "stopped on request"))
            }
            () = tokio::time::sleep(time) => Ok(()),
        }
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        let mut stops = self.running.stops.lock().unwrap_or_else(PoisonError::into_inner);
        // Another attempt of the same action may still run.
        if stops.get(&self.token).is_some_and(|sender| sender.receiver_count() <= 1) {
            stops.remove(&self.token);
        }
    }
}
