//! What the parts of a laboratory know together.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use anyhow::{Result, bail};

use super::emulator::{Emulator, Health, Instance, State};
use super::inside::Inside;
use super::instance::LabInstance;
use crate::Network;
use crate::machine::MachineOptions;

/// What the parts of a laboratory know together.
pub struct Shared {
    pub network: Network,
    pub inside: Inside,
    pub emulator: Emulator,
    /// What machines have besides what their instances say.
    pub options: MachineOptions,
    pub is_over: AtomicBool,
    /// Told when the state is another one, or all is over.
    pub changed: Condvar,
    state: Mutex<Arc<State>>,
    machines: Mutex<BTreeMap<String, LabInstance>>,
    failures: Mutex<BTreeMap<String, String>>,
    /// What is to be reported to the emulator, which is not reached from the network.
    reports: Mutex<Vec<Health>>,
    /// Why the emulator could not be looked at the last time.
    blindness: Mutex<Option<String>>,
}

impl Shared {
    /// Without machines, and before the first look at the emulator.
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

    /// What the emulator had when somebody last looked.
    pub fn state(&self) -> Arc<State> {
        lock(&self.state).clone()
    }

    /// Keeps what the emulator has now.
    pub fn set_state(&self, state: State) {
        *lock(&self.state) = Arc::new(state);
        self.changed.notify_all();
    }

    /// Waits for another state than this one, for a moment at most.
    pub fn wait(&self, known: &Arc<State>) {
        let state = lock(&self.state);
        if Arc::ptr_eq(&state, known) {
            let pause = std::time::Duration::from_millis(200);
            drop(self.changed.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// The instance that a look at the emulator showed.
    pub fn instance(&self, is_wanted: impl Fn(&Instance) -> bool) -> Option<Instance> {
        self.state().instances.iter().find(|instance| is_wanted(instance)).cloned()
    }

    /// The machine of an instance.
    pub fn machine(&self, id: &str) -> Option<LabInstance> {
        lock(&self.machines).get(id).cloned()
    }

    /// Puts the machine of an instance there, or takes it away.
    pub fn set_machine(&self, id: &str, machine: Option<LabInstance>) {
        match machine {
            Some(machine) => lock(&self.machines).insert(id.to_owned(), machine),
            None => lock(&self.machines).remove(id),
        };
    }

    /// Keeps what went wrong with an instance, for whoever waits for it.
    pub fn fail(&self, id: &str, error: &anyhow::Error) {
        lock(&self.failures).insert(id.to_owned(), format!("{error:#}"));
    }

    /// Has the emulator told how healthy targets are.
    pub fn report(&self, health: Vec<Health>) {
        lock(&self.reports).extend(health);
    }

    /// What is to be reported.
    pub fn take_reports(&self) -> Vec<Health> {
        std::mem::take(&mut *lock(&self.reports))
    }

    /// Keeps why the emulator cannot be looked at, or that it can.
    pub fn set_blindness(&self, why: Option<&anyhow::Error>) {
        *lock(&self.blindness) = why.map(|error| format!("{error:#}"));
    }

    /// Whether all is well with an instance.
    ///
    /// # Errors
    /// When something went wrong with it.
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
