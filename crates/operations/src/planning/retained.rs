//! Resources that a deletion keeps by the spec, whatever the state says.

use std::collections::{BTreeMap, BTreeSet};

use slipway_engine::{Observed, State};
use slipway_plan::Snapshot;
use slipway_resource::Address;
use slipway_resource::provider::Catalog;
use slipway_spec::model::{Cluster, EtcdCluster};

use crate::error::Error;
use crate::opened::Opened;

/// Refuses a deletion whose spec keeps backups that the hosts delete: they follow the settings of the last apply.
///
/// # Errors
/// [`Error::BackupsNotKept`].
pub(super) fn check_hosts(applied: &Cluster, named: &Cluster) -> Result<(), Error> {
    let is_lost = |etcd: &&EtcdCluster| {
        let backups = &etcd.backups;
        let before = applied.etcd.iter().find(|before| before.name == etcd.name);
        backups.enabled
            && backups.keep_on_delete
            && before.is_some_and(|before| before.backups.enabled && !before.backups.keep_on_delete)
    };
    match named.etcd.iter().find(is_lost) {
        Some(etcd) => Err(Error::BackupsNotKept { cluster: named.name.to_string(), etcd: etcd.name.clone() }),
        None => Ok(()),
    }
}

impl Opened {
    /// The resources that the spec keeps on deletion; `None` where the spec can say nothing that the state does not say.
    ///
    /// The recorded spec of a complete run says the same as the state. It is asked where a run did not complete, and where an
    /// object was found that the state does not have: an earlier deletion has forgotten it, and was killed before its commit or
    /// is repeated. A spec that the caller names may be newer than the state, and is always asked.
    ///
    /// # Errors
    /// When the spec cannot be expanded.
    pub(super) async fn retained(
        &self,
        observed: &Observed,
        prior: Option<&Snapshot>,
        pinned: BTreeMap<String, Catalog>,
    ) -> Result<Option<BTreeSet<Address>>, Error> {
        let is_recorded =
            |address: &Address| prior.is_some_and(|prior| prior.resources.contains_key(address));
        let is_complete = !self.state.as_ref().is_some_and(State::is_interrupted);
        if self.spec.recorded && is_complete && observed.observations.addresses().all(is_recorded) {
            return Ok(None);
        }
        let desired = self.expand(pinned).await?.desired;
        let kept = desired.into_iter().filter(|one| one.lifecycle.retain).map(|one| one.address);
        Ok(Some(kept.collect()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SPEC: &str = "
apiVersion: slipway.dev/v1alpha1
kind: Cluster
metadata: {name: demo}
spec: {provider: {name: sim}, region: sim-1, kubernetesVersion: 1.35.2, zones: [sim-1a]}
---
apiVersion: slipway.dev/v1alpha1
kind: NodePool
metadata: {name: control-plane}
spec: {role: controlPlane, machineType: sim.medium}
";

    /// A cluster whose etcd has backups of this kind.
    fn cluster(enabled: bool, keep_on_delete: bool) -> Cluster {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("spec.yaml");
        std::fs::write(&file, SPEC).unwrap();
        let policy = slipway_trust::Policy::new(slipway_trust::Settings::default(), slipway_trust::Mode::Own);
        let cluster = crate::Specs::read(&policy, &[file]).unwrap().clusters.remove(0).cluster;
        let mut cluster = serde_json::to_value(cluster).unwrap();
        let backups = json!({ "enabled": enabled, "keepOnDelete": keep_on_delete });
        cluster["etcd"] = json!([{ "name": "main", "members": [], "backups": backups }]);
        serde_json::from_value(cluster).unwrap()
    }

    #[test]
    fn hosts_keep_only_what_was_applied() {
        let check = |applied: (bool, bool), named: (bool, bool)| {
            check_hosts(&cluster(applied.0, applied.1), &cluster(named.0, named.1)).is_ok()
        };
        assert!(!check((true, false), (true, true)), "the file was not applied");
        assert!(check((true, true), (true, true)) && check((true, false), (true, false)));
        assert!(check((true, true), (true, false)), "the hosts keep them");
        assert!(check((false, false), (true, true)), "there are none");
    }
}
