//! Actions under way, and how they are asked to stop.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use slipway_resource::Token;
use tokio::sync::watch;
use tokio::time::Instant;

/// Actions under way.
#[derive(Debug, Default)]
pub(crate) struct Running {
    stops: Mutex<HashMap<Token, watch::Sender<bool>>>,
}

/// One action under way; it ends when this is dropped.
pub(crate) struct Ticket<'a> {
    running: &'a Running,
    token: Token,
    stop: watch::Receiver<bool>,
}

impl Running {
    /// An action begins.
    pub fn begin(&self, token: &Token) -> Ticket<'_> {
        let mut stops = self.stops.lock().unwrap_or_else(PoisonError::into_inner);
        let stop = match stops.get(token) {
            Some(sender) => sender.subscribe(),
            None => {
                let (sender, stop) = watch::channel(false);
                stops.insert(token.clone(), sender);
                stop
            }
        };
        Ticket { running: self, token: token.clone(), stop }
    }

    /// Asks one action, or all, to stop.
    pub fn stop(&self, token: Option<&Token>) {
        let stops = self.stops.lock().unwrap_or_else(PoisonError::into_inner);
        for (running, sender) in stops.iter() {
            if token.is_none_or(|token| token == running) {
                sender.send_replace(true);
            }
        }
    }
}

impl Ticket<'_> {
    /// Whether it was asked to stop.
    pub fn is_stopped(&self) -> bool {
        *self.stop.borrow()
    }

    /// Waits until a moment; `false` when it was asked to stop before.
    pub async fn wait_until(&self, moment: Instant) -> bool {
        let mut stop = self.stop.clone();
        tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => false,
            () = tokio::time::sleep_until(moment) => true,
        }
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        let mut stops = self.running.stops.lock().unwrap_or_else(PoisonError::into_inner);
        stops.remove(&self.token);
    }
}
