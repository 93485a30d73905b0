//! The tools of a leader.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use slipway_controller::Events;
use slipway_controller::k8s_openapi::NamespaceResourceScope;
use slipway_controller::kube::{Api, Client, Resource};

use crate::storage::EtcdStorage;

use super::failure::Failure;
use super::metrics::Metrics;
use super::names::Names;
use super::settings::Settings;

/// The time after the first failure. It doubles with each further one.
const FIRST: Duration = Duration::from_secs(1);
/// The longest time. A destination may not be watched, so this is also how late one that was created is seen.
const LONGEST: Duration = Duration::from_secs(30);

/// The tools of a leader.
pub(crate) struct Context {
    pub(crate) client: Client,
    pub(crate) settings: Settings,
    pub(crate) events: Events,
    pub(crate) metrics: Metrics,
    /// How often each `EtcdStorage` has failed in a row, by its name.
    failures: Mutex<HashMap<String, u32>>,
}

impl Context {
    pub(crate) fn new(client: Client, settings: Settings, events: Events, metrics: Metrics) -> Self {
        Self { client, settings, events, metrics, failures: Mutex::default() }
    }

    /// Objects of the controller's namespace.
    pub(crate) fn namespaced<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), &self.settings.namespace)
    }

    /// All `EtcdStorage` objects.
    pub(crate) fn storages(&self) -> Api<EtcdStorage> {
        Api::all(self.client.clone())
    }

    /// The names of what belongs to an `EtcdStorage`.
    pub(crate) fn names(&self, storage: &EtcdStorage) -> Result<Names, Failure> {
        let name = storage.metadata.name.clone().unwrap_or_default();
        let tenant =
            name.parse().map_err(|error: crate::proxy::InvalidTenant| Failure::Spec(error.to_string()))?;
        Ok(Names::new(tenant, &self.settings.namespace, &self.settings.cluster_domain))
    }

    /// An `EtcdStorage` is not as desired. Returns when the next attempt is made.
    pub(crate) fn failed(&self, name: &str) -> Duration {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let count = failures.entry(name.to_owned()).or_default();
        let wait = wait(*count);
        *count = count.saturating_add(1);
        wait
    }

    /// An `EtcdStorage` is as desired, or gone.
    pub(crate) fn succeeded(&self, name: &str) {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }
}

fn wait(failures: u32) -> Duration {
    FIRST.saturating_mul(1 << failures.min(16)).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_become_rare_and_never_end() {
        let waits: Vec<u64> = (0..7).map(|count| wait(count).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30]);
        assert_eq!(wait(u32::MAX), LONGEST);
    }
}
