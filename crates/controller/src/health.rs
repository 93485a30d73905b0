//! Whether a controller lives, and whether it is ready.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What `/healthz` and `/readyz` answer. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Health {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    broken: BTreeMap<&'static str, String>,
    unready: BTreeMap<&'static str, String>,
}

impl Health {
    /// A part cannot go on: `/healthz` fails, and the process should be started again.
    pub fn broken(&self, part: &'static str, reason: impl Into<String>) {
        self.change(|state| state.broken.insert(part, reason.into()));
    }

    /// A part waits for something: `/readyz` fails until [`Self::ready`] is called for it.
    pub fn waits(&self, part: &'static str, reason: impl Into<String>) {
        self.change(|state| state.unready.insert(part, reason.into()));
    }

    /// A part works.
    pub fn ready(&self, part: &'static str) {
        self.change(|state| state.unready.remove(part));
    }

    /// What is broken, one part a line; `None` if nothing is.
    #[must_use]
    pub fn problems(&self) -> Option<String> {
        self.change(|state| lines(&state.broken))
    }

    /// What is not ready, one part a line; `None` if everything is.
    #[must_use]
    pub fn unready(&self) -> Option<String> {
        self.change(|state| lines(&state.broken).or_else(|| lines(&state.unready)))
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn lines(parts: &BTreeMap<&'static str, String>) -> Option<String> {
    let text: String = parts.iter().map(|(part, reason)| format!("{part}: {reason}\n")).collect();
    Some(text).filter(|text| !text.is_empty())
}
