//! Actions under way, and how they are asked to stop.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use slipway_resource::Token;
use tokio::sync::watch;

use crate::clock::{Clock, Millis};

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

/// Somebody asked the action to stop.
pub(super) struct Stopped;

impl Running {
    /// An action begins.
    pub(super) fn begin(&self, token: &Token) -> Ticket<'_> {
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
    /// Waits until a moment, or until the action is to stop.
    pub(super) async fn wait_until(&mut self, clock: &Clock, moment: Millis) -> Result<(), Stopped> {
        tokio::select! {
            biased;
            _ = self.stop.wait_for(|stop| *stop) => Err(Stopped),
            () = clock.sleep_until(moment) => Ok(()),
        }
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        let mut stops = self.running.stops.lock().unwrap_or_else(PoisonError::into_inner);
        stops.remove(&self.token);
    }
}
