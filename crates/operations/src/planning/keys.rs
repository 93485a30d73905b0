//! The keys of a cluster whose machines a provider makes.
//!
//! The provider returns them with its own resources, and its control planes depend on them: they read the keys from the
//! state of the cluster when they boot. A plan leaves them out where the control planes exist without them. Such a cluster
//! was adopted, and its machines have the keys of the tool that created it; or its keys were lost with its state. The plan
//! says that it leaves them out. Keys that an adoption found stay in the state.
//!
//! The keys may be encrypted also for a key of the cloud's key service ([`SEALED_FOR`]). A new cluster gets it. One that exists
//! without it stays as it is, unless a field of the spec asks for it.

use std::collections::BTreeSet;

use slipway_bootstrap::boot::{NOT_CARRIED_OUT, OTHER_ARCHITECTURE};
use slipway_generated_secrets::SEALED_FOR;
use slipway_plan::Snapshot;
use slipway_resource::provider::ExpandNote;
use slipway_resource::{Address, Desired, Path, Value};

use super::expansion::Expansion;
use crate::composition;

/// The remark of a plan on existing control planes whose keys the state does not have.
const WITHOUT_KEYS: &str = "the state does not have the keys that the control planes run with, and this plan generates no \
                            other keys. A control plane that boots by the user data of Slipway reads them from the state: \
                            if the state was lost, restore `secrets/` of the cluster in the state store from a backup or \
                            from earlier versions of the objects, and run `slipway state rebuild`";

impl Expansion {
    /// Adds the keys that an adoption found to the desired resources. They are encrypted for the keys of the state only.
    pub(crate) fn add_found_keys(&mut self, is_found: impl Fn(&Address) -> bool) {
        let keys = std::mem::take(&mut self.keys);
        for mut key in keys.into_iter().filter(|key| is_found(&key.address)) {
            if key.attributes.get(SEALED_FOR).is_some() {
                key.attributes.set(&Path::key(SEALED_FOR), Value::Null);
            }
            self.desired.push(key);
        }
    }

    /// Takes the key of the key service for which keys are encrypted out of the desired resources, with those that refer to it.
    pub(super) fn separate_reader(&mut self) {
        let services: BTreeSet<Address> = self.keys.iter().flat_map(readers).collect();
        if services.is_empty() {
            return;
        }
        let is_of_reader = |desired: &Desired| {
            services.contains(&desired.address) || refers_to(&desired.attributes, &services)
        };
        let (reader, others) = std::mem::take(&mut self.desired).into_iter().partition(is_of_reader);
        (self.reader, self.desired) = (reader, others);
    }

    /// Adds the key of the key service to the desired resources, if the keys are to be encrypted for it; else the keys are
    /// encrypted as they were.
    fn add_reader(&mut self, keys: &mut [Desired], prior: Option<&Snapshot>) {
        let reader = std::mem::take(&mut self.reader);
        let is_asked_for = keys.iter().any(|key| key.origins.contains_key(&Path::key(SEALED_FOR)));
        let services: BTreeSet<Address> = keys.iter().flat_map(readers).collect();
        if services.is_empty() {
            return;
        }
        let exists_without = prior.is_some_and(|prior| {
            composition::has_keys(prior)
                && services.iter().all(|service| !prior.resources.contains_key(service))
        });
        if !exists_without || is_asked_for {
            self.desired.extend(reader);
            return;
        }
        for key in keys {
            key.attributes.set(&Path::key(SEALED_FOR), Value::Null);
        }
        self.leave_out(&reader);
    }

    /// Takes references to resources that are left out of the others, and the remarks on their field.
    fn leave_out(&mut self, reader: &[Desired]) {
        let addresses: BTreeSet<&Address> = reader.iter().map(|desired| &desired.address).collect();
        for desired in &mut self.desired {
            desired.depends_on.retain(|before| !addresses.contains(before));
        }
        let fields: BTreeSet<&str> = reader.iter().filter_map(|one| one.origin(&Path::root())).collect();
        self.notes.retain(|note| !fields.contains(note.field.as_str()));
    }

    /// Takes references to keys that are left out of the desired resources, and says so.
    fn leave_keys_out(&mut self, keys: &[Desired], are_all: bool) {
        let left: BTreeSet<&Address> = keys.iter().map(|key| &key.address).collect();
        for desired in &mut self.desired {
            desired.depends_on.retain(|before| !left.contains(before));
        }
        let message = if are_all {
            let reader = std::mem::take(&mut self.reader);
            self.leave_out(&reader);
            WITHOUT_KEYS.to_owned()
        } else {
            let names: Vec<String> = left.iter().map(ToString::to_string).collect();
            format!(
                "the state does not have {}: the machines get it from the tool that created the cluster, and this plan generates \
                 no other one",
                names.join(", ")
            )
        };
        if !keys.is_empty() {
            self.notes.push(ExpandNote { field: "controlPlane".to_owned(), message });
        }
    }

    /// Adds the keys to the desired resources, unless the machines that would read them exist without them.
    pub(crate) fn add_keys(&mut self, prior: Option<&Snapshot>) {
        let mut keys = std::mem::take(&mut self.keys);
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
        let booted = prior.filter(|&prior| !composition::gives_keys(prior) && is_read_by_existing(prior));
        if let Some(prior) = booted {
            // Another tool boots its machines, and that tool carries these fields out.
            let is_of_slipway = |note: &ExpandNote| {
                [NOT_CARRIED_OUT, OTHER_ARCHITECTURE].iter().any(|start| note.message.starts_with(start))
            };
            self.notes.retain(|note| !is_of_slipway(note));
            let is_kept = |key: &Desired| prior.resources.contains_key(&key.address);
            let (kept, left): (Vec<Desired>, Vec<Desired>) = keys.into_iter().partition(is_kept);
            keys = kept;
            self.leave_keys_out(&left, keys.is_empty());
            if keys.is_empty() {
                return;
            }
        }
        self.add_reader(&mut keys, prior);
        self.desired.extend(keys);
    }
}

/// The keys of key services for which a key is encrypted.
fn readers(key: &Desired) -> Vec<Address> {
    let mut addresses = Vec::new();
    if let Some(reader) = key.attributes.get(SEALED_FOR) {
        reader.for_each_reference(&mut |reference| addresses.push(reference.address.clone()));
    }
    addresses
}

fn refers_to(attributes: &Value, addresses: &BTreeSet<Address>) -> bool {
    let mut refers = false;
    attributes.for_each_reference(&mut |reference| refers |= addresses.contains(&reference.address));
    refers
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

    /// The same state, with the keys as an adoption stores them.
    pub(in crate::planning) fn adopted(mut state: Snapshot) -> Snapshot {
        for (address, record) in &mut state.resources {
            if record.provider == slipway_generated_secrets::NAME {
                record.identity = Identity::new(format!("{address}/000000000001-{}", composition::ADOPTED));
            }
        }
        state
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
        let made = state(&[
            ("cloud_group.masters", "cloud"),
            ("keypair.kubernetes-ca", slipway_generated_secrets::NAME),
        ]);
        assert_eq!(names(Some(&made)), (all, 2));
    }

    /// A key that is encrypted for a key of the cloud, with the permission that the group needs.
    fn sealed(field: Option<&str>) -> Expansion {
        let mut expansion = expansion();
        let service: Address = "cloud_key.a".parse().unwrap();
        let reference = || Value::reference(service.clone(), "arn");
        let key = expansion.keys.first_mut().unwrap();
        key.attributes = Value::map([(SEALED_FOR, reference())]);
        if let Some(field) = field {
            key.origins.insert(Path::key(SEALED_FOR), field.to_owned());
        }
        let mut own = desired("cloud_key.a");
        own.origins.insert(Path::root(), "keyService".to_owned());
        let mut policy = desired("cloud_policy.key");
        policy.attributes = Value::map([("on", reference())]);
        expansion.desired.first_mut().unwrap().depends_on.push(policy.address.clone());
        expansion.desired.extend([own, policy]);
        let note = ExpandNote { field: "keyService".to_owned(), message: "about the key".to_owned() };
        expansion.notes.push(note);
        expansion.separate_reader();
        expansion
    }

    #[test]
    fn a_cluster_gets_the_key_of_the_cloud_when_it_is_new_has_it_or_asks_for_it() {
        let machines = ("cloud_group.masters", "cloud");
        let made = ("keypair.kubernetes-ca", slipway_generated_secrets::NAME);
        let without = state(&[machines, made]);
        let with = state(&[machines, made, ("cloud_key.a", "cloud")]);
        let adopted = state(&[machines]);
        for (prior, field, expected) in [
            (None, None, true),
            (Some(&with), None, true),
            (Some(&without), None, false),
            (Some(&without), Some("keyService"), true),
            (Some(&adopted), None, false),
            (Some(&adopted), Some("keyService"), false),
        ] {
            let mut expansion = sealed(field);
            assert!(expansion.desired.iter().all(|one| one.address.kind() == "cloud_group"));
            expansion.add_keys(prior);
            let has = |address: &str| expansion.desired.iter().any(|one| one.address.to_string() == address);
            let label = format!("{field:?} {prior:?}");
            assert_eq!((has("cloud_key.a"), has("cloud_policy.key")), (expected, expected), "{label}");
            let keys = expansion.desired.iter().filter(|one| one.address.kind() == "keypair");
            assert!(keys.clone().all(|key| readers(key).is_empty() != expected), "{label}");
            let needs = |one: &Desired| one.depends_on.iter().any(|before| before.kind() == "cloud_policy");
            assert_eq!(expansion.desired.iter().any(needs), expected, "{label}");
            let remarks = expansion.notes.iter().filter(|note| note.field == "keyService").count();
            assert_eq!(remarks, usize::from(expected), "{label}");
        }
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

        // The tool that boots the machines carries out what Slipway's do not.
        for start in [NOT_CARRIED_OUT, OTHER_ARCHITECTURE] {
            let unused = ExpandNote { field: "pools[a]".to_owned(), message: format!("{start}packages") };
            for (prior, remarks) in [(Some(&adopted), 0), (None, 1)] {
                let mut expanded = expansion();
                expanded.notes.push(unused.clone());
                expanded.add_keys(prior);
                assert_eq!(expanded.notes.iter().filter(|note| **note == unused).count(), remarks);
            }
        }
        assert_eq!(names(Some(&adopted)), (vec!["cloud_group.masters".to_owned()], 1));
    }

    #[test]
    fn keys_of_an_adopted_cluster_stay_and_no_others_are_made() {
        let (machines, key) =
            (("cloud_group.masters", "cloud"), ("keypair.kubernetes-ca", slipway_generated_secrets::NAME));
        let with = adopted(state(&[machines, key]));
        let planned = |prior: &Snapshot| {
            let mut expansion = expansion();
            expansion.keys.push(desired("encryption_key.at-rest"));
            expansion.desired[0].depends_on.push("encryption_key.at-rest".parse().unwrap());
            let message = format!("{NOT_CARRIED_OUT}packages");
            expansion.notes.push(ExpandNote { field: "pools[a]".to_owned(), message });
            expansion.add_keys(Some(prior));
            expansion
        };
        let expansion = planned(&with);
        let names: Vec<String> = expansion.desired.iter().map(|one| one.address.to_string()).collect();
        assert_eq!(names, ["cloud_group.masters", "keypair.kubernetes-ca"]);
        assert_eq!(expansion.desired[0].depends_on.len(), 2, "the key at rest is left out");
        let [note] = expansion.notes.as_slice() else { panic!("{:?}", expansion.notes) };
        assert!(
            note.message.starts_with("the state does not have encryption_key.at-rest: "),
            "{}",
            note.message
        );

        // With its API in the state, the machines get the keys from there.
        let api = ("kubernetes_api.a", "kubernetes");
        assert_eq!(planned(&adopted(state(&[machines, key, api]))).desired.len(), 3);
        assert_eq!(planned(&state(&[machines, key])).desired.len(), 3);
    }

    #[test]
    fn keys_that_an_adoption_finds_have_no_other_reader() {
        let mut expansion = sealed(None);
        expansion.keys.push(desired("keypair.etcd-ca"));
        expansion.add_found_keys(|address| address.name() == "kubernetes-ca");
        let names: Vec<String> = expansion.desired.iter().map(|one| one.address.to_string()).collect();
        assert_eq!(names, ["cloud_group.masters", "keypair.kubernetes-ca"]);
        assert!(expansion.desired.iter().all(|one| readers(one).is_empty()));
    }
}
