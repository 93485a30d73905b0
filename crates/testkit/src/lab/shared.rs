//! Shared state of the parts of a laboratory.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use anyhow::{Result, bail};

use super::emulator::{Emulator, Health, Instance, State};
use super::inside::Inside;
use super::instance::LabInstance;
use crate::Network;
use crate::machine::MachineOptions;

/// Shared state of the parts of a laboratory.
pub struct Shared {
    pub network: Network,
    pub inside: Inside,
    pub emulator: Emulator,
    /// Options of machines besides those of their instances.
    pub options: MachineOptions,
    pub is_over: AtomicBool,
    /// Signalled when the state has changed, or the laboratory ends.
    pub changed: Condvar,
    state: Mutex<Arc<State>>,
    machines: Mutex<BTreeMap<String, LabInstance>>,
    failures: Mutex<BTreeMap<String, String>>,
    /// Reports for the emulator, which cannot be reached from the network.
    reports: Mutex<Vec<Health>>,
    /// Why the last read of the emulator failed.
    blindness: Mutex<Option<String>>,
}

impl Shared {
    /// The state without machines, before the first read of the emulator.
    pub fn new(network: Network, inside: Inside, emulator: Emulator, options: MachineOptions) -> Self {
        Self {
            network,
            inside,
            emulator,
            options,
            is_over: AtomicBool::new(false),
            changed: Condvar::new(),
            state: Mutex::default(),
            machines: Mutex::default(),
            failures: Mutex::default(),
            reports: Mutex::default(),
            blindness: Mutex::default(),
        }
    }

    /// The emulator's state at the last read.
    pub fn state(&self) -> Arc<State> {
        lock(&self.state).clone()
    }

    /// Stores the present state of the emulator.
    pub fn set_state(&self, state: State) {
        *lock(&self.state) = Arc::new(state);
        self.changed.notify_all();
    }

    /// Waits for a state other than this one, for a short time at most.
    pub fn wait(&self, known: &Arc<State>) {
        let state = lock(&self.state);
        if Arc::ptr_eq(&state, known) {
            let pause = std::time::Duration::from_millis(200);
            drop(self.changed.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// An instance in the last read state of the emulator.
    pub fn instance(&self, is_wanted: impl Fn(&Instance) -> bool) -> Option<Instance> {
        self.state().instances.iter().find(|instance| is_wanted(instance)).cloned()
    }

    /// The machine of an instance.
    pub fn machine(&self, id: &str) -> Option<LabInstance> {
        lock(&self.machines).get(id).cloned()
    }

    /// Adds or removes the machine of an instance.
    pub fn set_machine(&self, id: &str, machine: Option<LabInstance>) {
        match machine {
            Some(machine) => lock(&self.machines).insert(id.to_owned(), machine),
            None => lock(&self.machines).remove(id),
        };
    }

    /// Records the error of an instance, for callers that wait for the instance.
    pub fn fail(&self, id: &str, error: &anyhow::Error) {
        lock(&self.failures).insert(id.to_owned(), format!("{error:#}"));
    }

    /// Queues reports on the health of targets for the emulator.
    pub fn report(&self, health: Vec<Health>) {
        lock(&self.reports).extend(health);
    }

    /// Takes the queued reports.
    pub fn take_reports(&self) -> Vec<Health> {
        std::mem::take(&mut *lock(&self.reports))
    }

    /// Records why the emulator cannot be read, or that it can.
    pub fn set_blindness(&self, why: Option<&anyhow::Error>) {
        *lock(&self.blindness) = why.map(|error| format!("{error:#}"));
    }

    /// Checks that an instance has no recorded error.
    ///
    /// # Errors
    /// The recorded error.
    pub fn check(&self, id: &str) -> Result<()> {
        if let Some(why) = lock(&self.blindness).as_deref() {
            bail!("the emulator cannot be looked at: {why}");
        }
        match lock(&self.failures).get(id) {
            Some(failure) => bail!("{id}: {failure}"),
            None => Ok(()),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
