//! The keys of a cluster whose machines a provider makes.
//!
//! The provider returns them with its own resources, and its control planes depend on them: they read the keys from the
//! state of the cluster when they boot. A plan leaves them out where the control planes exist without them. Such a cluster
//! was adopted, and its machines have the keys of the tool that created it; or its keys were lost with its state. The plan
//! says that it leaves them out.

use std::collections::BTreeSet;

use slipway_plan::Snapshot;
use slipway_resource::Address;
use slipway_resource::provider::ExpandNote;

use super::expansion::Expansion;
use crate::composition;

/// The remark of a plan on existing control planes whose keys the state does not have.
const WITHOUT_KEYS: &str = "the state does not have the keys that the control planes run with, and this plan generates no \
                            other keys. A control plane that boots by the user data of Slipway reads them from the state: \
                            if the state was lost, restore `secrets/` of the cluster in the state store from a backup or \
                            from earlier versions of the objects, and run `slipway state rebuild`";

impl Expansion {
    /// Adds the keys to the desired resources, unless the machines that would read them exist without them.
    pub(crate) fn add_keys(&mut self, prior: Option<&Snapshot>) {
        let keys = std::mem::take(&mut self.keys);
        if keys.is_empty() {
            return;
        }
        let addresses: BTreeSet<Address> = keys.iter().map(|key| key.address.clone()).collect();
        let is_read_by_existing = |prior: &Snapshot| {
            let mut readers = self
                .desired
                .iter()
                .filter(|desired| desired.depends_on.iter().any(|before| addresses.contains(before)));
            readers.any(|reader| prior.resources.contains_key(&reader.address))
        };
        if prior.is_some_and(|prior| !composition::has_keys(prior) && is_read_by_existing(prior)) {
            for desired in &mut self.desired {
                desired.depends_on.retain(|before| !addresses.contains(before));
            }
            let note = ExpandNote { field: "controlPlane".to_owned(), message: WITHOUT_KEYS.to_owned() };
            self.notes.push(note);
            return;
        }
        self.desired.extend(keys);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeMap;

    use slipway_plan::Record;
    use slipway_resource::{ClusterUid, Desired, Identity, Value};

    use super::*;

    fn desired(address: &str) -> Desired {
        Desired::new(address.parse().unwrap(), Value::Null)
    }

    /// A key, and the group of machines that reads it.
    fn expansion() -> Expansion {
        let mut group = desired("cloud_group.masters");
        group.depends_on = vec!["keypair.kubernetes-ca".parse().unwrap(), "cloud_network.a".parse().unwrap()];
        Expansion {
            keys: vec![desired("keypair.kubernetes-ca")],
            desired: vec![group],
            ..Expansion::default()
        }
    }

    /// A state with resources of providers.
    pub(in crate::planning) fn state(resources: &[(&str, &str)]) -> Snapshot {
        let mut snapshot = Snapshot::empty("a", ClusterUid::new("u1"));
        for (address, provider) in resources {
            let record = Record {
                provider: (*provider).to_owned(),
                schema_version: 1,
                identity: Identity::new(*address),
                applied: None,
                depends_on: Vec::new(),
                retain: false,
                protected: false,
                existing: false,
                as_found: BTreeMap::new(),
                untagged: false,
                deposed: Vec::new(),
            };
            snapshot.resources.insert(address.parse().unwrap(), record);
        }
        snapshot
    }

    fn names(prior: Option<&Snapshot>) -> (Vec<String>, usize) {
        let mut expansion = expansion();
        expansion.add_keys(prior);
        let names = expansion.desired.iter().map(|desired| desired.address.to_string()).collect();
        (names, expansion.desired.first().unwrap().depends_on.len())
    }

    #[test]
    fn a_new_cluster_gets_keys_and_keeps_them() {
        let all = ["cloud_group.masters".to_owned(), "keypair.kubernetes-ca".to_owned()].to_vec();
        assert_eq!(names(None), (all.clone(), 2));
        // The first apply was interrupted before the machines.
        assert_eq!(names(Some(&state(&[("cloud_network.a", "cloud")]))), (all.clone(), 2));
        let made =
            state(&[("cloud_group.masters", "cloud"), ("keypair.kubernetes-ca", slipway_builtin::NAME)]);
        assert_eq!(names(Some(&made)), (all, 2));
    }

    #[test]
    fn keys_that_the_state_does_not_have_are_left_out_with_a_note() {
        let adopted = state(&[("cloud_group.masters", "cloud"), ("cloud_network.a", "cloud")]);
        let mut expanded = expansion();
        expanded.add_keys(Some(&adopted));
        assert_eq!(expanded.notes.len(), 1);
        let mut new = expansion();
        new.add_keys(None);
        assert!(new.notes.is_empty());
        assert_eq!(names(Some(&adopted)), (vec!["cloud_group.masters".to_owned()], 1));
    }
}
