//! Keys of another tool that an adoption has stored, in a state that is rebuilt.

use slipway_engine::Rebuilt;
use slipway_plan::Record;
use slipway_resource::{Address, Desired, Digest, Path, Value};

use crate::composition;
use crate::error::Error;

/// Lets adopted keys keep the attributes that their types keep on adoption (`kept`), until the spec asks for other ones.
///
/// # Errors
/// When nothing but adopted keys was found: the objects of the other tool have no ownership tags before the first apply, and a plan
/// from such a state would create them a second time.
pub(super) fn settle(
    rebuilt: &mut Rebuilt,
    desired: &[Desired],
    kept: impl Fn(&Address) -> Vec<String>,
) -> Result<(), Error> {
    let state = &mut rebuilt.snapshot;
    let is_nothing = |record: &Record| record.existing || composition::is_adopted_key(record);
    if state.resources.values().all(is_nothing) {
        return Err(slipway_engine::Error::NothingOwned { cluster: state.cluster.clone() }.into());
    }
    for desired in desired {
        let Some(record) = state.resources.get_mut(&desired.address) else { continue };
        if !composition::is_adopted_key(record) {
            continue;
        }
        for name in kept(&desired.address) {
            let wanted = desired.attributes.get(&name).unwrap_or(&Value::Null);
            let digest = Digest::of(wanted);
            let digest = digest.map_err(|error| Error::internal("a desired value has no digest", error))?;
            record.as_found.insert(Path::key(name), digest);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use slipway_plan::Snapshot;
    use slipway_resource::{ClusterUid, Identity};

    use super::*;

    /// A state with resources of providers, by their addresses and identities.
    fn state(resources: &[(&str, &str, &str)]) -> Rebuilt {
        let mut snapshot = Snapshot::empty("a", ClusterUid::new("u1"));
        for (address, provider, identity) in resources {
            let record = Record {
                provider: (*provider).to_owned(),
                schema_version: 1,
                identity: Identity::new(*identity),
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
        Rebuilt { snapshot, doubled: Vec::new(), missing: Vec::new() }
    }

    const KEYS: &str = slipway_generated_secrets::NAME;

    #[test]
    fn adopted_keys_keep_their_attributes_and_others_follow_the_spec() {
        let mut rebuilt = state(&[
            ("cloud_network.a", "cloud", "n-1"),
            ("keypair.kubernetes-ca", KEYS, "keypair.kubernetes-ca/000000000001-adopt"),
            ("keypair.etcd-ca", KEYS, "keypair.etcd-ca/000000000001-3f0c"),
        ]);
        let key =
            |name: &str| Desired::new(Address::new("keypair", name), Value::map([("algorithm", "RSA-2048")]));
        let desired = [key("kubernetes-ca"), key("etcd-ca"), key("front-proxy-ca")];
        settle(&mut rebuilt, &desired, |_| vec!["algorithm".to_owned()]).unwrap();
        let found =
            |address: &str| &rebuilt.snapshot.resources[&address.parse::<Address>().unwrap()].as_found;
        let digest = Digest::of(&Value::from("RSA-2048")).unwrap();
        assert_eq!(found("keypair.kubernetes-ca"), &BTreeMap::from([(Path::key("algorithm"), digest)]));
        assert!(found("keypair.etcd-ca").is_empty());
    }

    #[test]
    fn no_state_is_made_of_adopted_keys_alone() {
        let key = ("keypair.kubernetes-ca", KEYS, "keypair.kubernetes-ca/000000000001-adopt");
        let alone = settle(&mut state(&[key]), &[], |_| Vec::new()).unwrap_err();
        assert_eq!(alone.code(), Some("RUN0021"));
        assert!(settle(&mut state(&[key, ("cloud_network.a", "cloud", "n-1")]), &[], |_| Vec::new()).is_ok());
    }
}
