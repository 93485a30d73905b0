//! Whether a controller lives, and whether it is ready.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The answers of `/healthz` and `/readyz`. Clones share it.
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

    /// The broken parts, one a line; `None` if there are none.
    #[must_use]
    pub fn problems(&self) -> Option<String> {
        self.change(|state| lines(&state.broken))
    }

    /// The parts that are not ready, one a line; `None` if all are.
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
