//! Running actions, and requests to stop them.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use slipway_resource::Token;
use tokio_util::sync::CancellationToken;

/// The actions of a session that are under way, by their tokens.
#[derive(Debug, Default)]
pub struct Running {
    actions: Mutex<HashMap<Token, Attempts>>,
}

/// The attempts of one action that run in parallel; they stop together.
#[derive(Debug, Default)]
struct Attempts {
    count: usize,
    stop: CancellationToken,
}

/// One attempt of an action; it ends when this value is dropped.
#[derive(Debug)]
pub struct Ticket<'a> {
    running: &'a Running,
    token: Token,
    stop: CancellationToken,
}

/// The action was asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped;

impl Running {
    /// An attempt begins.
    pub fn begin(&self, token: &Token) -> Ticket<'_> {
        let mut actions = self.actions();
        let attempts = actions.entry(token.clone()).or_default();
        attempts.count += 1;
        Ticket { running: self, token: token.clone(), stop: attempts.stop.clone() }
    }

    /// Asks one action, or all, to stop. Actions that are not running, or start later, are not affected.
    pub fn stop(&self, token: Option<&Token>) {
        for (running, attempts) in self.actions().iter() {
            if token.is_none_or(|token| token == running) {
                attempts.stop.cancel();
            }
        }
    }

    fn actions(&self) -> MutexGuard<'_, HashMap<Token, Attempts>> {
        self.actions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ticket<'_> {
    /// Whether the action was asked to stop.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// The stop signal of the action, for work that outlives a borrow of the ticket.
    #[must_use]
    pub fn signal(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Waits for a future, or until the action is asked to stop. A stopped action does not wait at all.
    ///
    /// # Errors
    /// [`Stopped`] when the action was asked to stop.
    pub async fn unless_stopped<F: Future>(&self, wait: F) -> Result<F::Output, Stopped> {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => Err(Stopped),
            output = wait => Ok(output),
        }
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        let mut actions = self.running.actions();
        let Some(attempts) = actions.get_mut(&self.token) else { return };
        attempts.count -= 1;
        // Another attempt of the same action may still run.
        if attempts.count == 0 {
            actions.remove(&self.token);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    fn token(text: &str) -> Token {
        Token::new(text)
    }

    #[tokio::test]
    async fn an_action_waits_until_it_is_stopped() {
        let running = Running::default();
        let one = running.begin(&token("one"));
        let other = running.begin(&token("other"));
        assert_eq!(one.unless_stopped(ready(1)).await, Ok(1));
        let (waited, ()) = tokio::join!(one.unless_stopped(pending::<()>()), async {
            running.stop(Some(&token("one")));
        });
        assert_eq!(waited, Err(Stopped));
        assert!(one.is_stopped() && one.signal().is_cancelled());
        assert_eq!(one.unless_stopped(ready(1)).await, Err(Stopped), "nothing is waited for any more");
        assert!(!other.is_stopped());
        running.stop(None);
        assert!(other.is_stopped());
    }

    #[test]
    fn an_attempt_that_ends_leaves_the_other_to_be_stopped() {
        let running = Running::default();
        let first = running.begin(&token("one"));
        let second = running.begin(&token("one"));
        drop(first);
        running.stop(Some(&token("one")));
        assert!(second.is_stopped());
    }

    #[test]
    fn an_action_that_ended_begins_anew() {
        let running = Running::default();
        let first = running.begin(&token("one"));
        running.stop(Some(&token("one")));
        drop(first);
        running.stop(None);
        assert!(!running.begin(&token("one")).is_stopped());
        assert!(running.actions().is_empty(), "nothing is kept of what has ended");
    }
}
