//! The life of one resource.

use serde_json::Value as Json;
use slipway_resource::diff::diff;
use slipway_resource::{Address, Identity, Observation, Value};

use crate::support::Cloud;

/// The existing object, as a plan reads it.
pub async fn observed(cloud: &Cloud, name: &str, identity: &Identity) -> Value {
    match cloud.read(name, identity).await.observation {
        Observation::Present(attributes) => attributes,
        other => panic!("{name} {identity}: {other:?}"),
    }
}

/// Makes a resource and reads it back.
pub async fn create(cloud: &Cloud, name: &str, attributes: &Json) -> Identity {
    let attributes = Value::from_json(attributes);
    let identity = cloud.create(name, attributes.clone()).await.identity.unwrap();
    let read = observed(cloud, name, &identity).await;
    cloud.assert_no_change(&name.parse().unwrap(), &attributes, &read).await;
    identity
}

/// Changes each of some attributes alone, and back again: each plan shows that attribute and no other.
pub async fn change_each(cloud: &Cloud, name: &str, identity: &Identity, base: &Json, changes: &Json) {
    let address: Address = name.parse().unwrap();
    let schema = cloud.provider().schema().await.unwrap();
    let kind = &schema.types[address.kind()];
    for (attribute, value) in changes.as_object().unwrap() {
        let mut changed = base.clone();
        if value.is_null() {
            changed.as_object_mut().unwrap().remove(attribute);
        } else {
            changed[attribute] = value.clone();
        }
        for wanted in [&changed, base] {
            let wanted = Value::from_json(wanted);
            let prior = observed(cloud, name, identity).await;
            let planned = cloud.plan(&address, Some(wanted.clone()), Some(prior.clone())).await;
            let changes = diff(kind, &prior, &planned.normalised, None);
            let write_only = kind.attributes[attribute].write_only;
            assert!(write_only || !changes.is_empty(), "{name}: {attribute} shows no change");
            for change in &changes {
                assert!(change.path.to_string().starts_with(attribute), "{name}: {attribute}: {changes:#?}");
                assert!(!change.replaces, "{name}: {attribute} replaces");
            }
            cloud.update(name, identity, &prior, wanted).await;
        }
    }
}
