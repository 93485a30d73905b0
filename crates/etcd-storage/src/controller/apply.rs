//! Writes of the objects in the controller's namespace, by server-side apply: what others set beside our fields stays.

use std::collections::BTreeMap;
use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};
use slipway_controller::k8s_openapi::NamespaceResourceScope;
use slipway_controller::kube::Resource;
use slipway_controller::kube::api::{Api, Patch, PatchParams};

use crate::storage::EtcdStorage;

use super::failure::Failure;
use super::names::{MANAGER, Names, PREFIX};

/// The parameters of our applies. Fields that others have changed become ours again.
pub(crate) fn parameters() -> PatchParams {
    PatchParams::apply(MANAGER).force()
}

/// The metadata of an object that is deleted with its `EtcdStorage`.
pub(crate) fn metadata(storage: &EtcdStorage, names: &Names, name: &str) -> Json {
    json!({
        "name": name,
        "labels": names.labels(),
        "ownerReferences": [storage.controller_owner_ref(&())],
    })
}

/// Applies an object that belongs to an `EtcdStorage`.
///
/// # Errors
/// [`Failure::Foreign`] when an object of this name belongs to somebody else.
pub(crate) async fn apply<K>(api: &Api<K>, storage: &EtcdStorage, object: &Json) -> Result<K, Failure>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + DeserializeOwned
        + Serialize,
{
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    if let Some(existing) = api.get_opt(name).await? {
        check_owner(storage, &existing, object)?;
    }
    Ok(api.patch(name, &parameters(), &Patch::Apply(object)).await?)
}

/// Refuses an object of somebody else. An object without owner is taken over if it has nothing but what we write: the objects
/// of etcdproxy-controller have no owner.
pub(crate) fn check_owner<K>(storage: &EtcdStorage, existing: &K, object: &Json) -> Result<(), Failure>
where
    K: Resource<DynamicType = ()> + Serialize,
{
    let owners = existing.meta().owner_references.iter().flatten();
    let mut controllers = owners.filter(|owner| owner.controller == Some(true));
    let is_ours = match controllers.next() {
        Some(owner) => Some(&owner.uid) == storage.metadata.uid.as_ref(),
        None => {
            is_marked(existing.meta().labels.as_ref())
                || is_marked(existing.meta().annotations.as_ref())
                || has_only_keys_of(existing, object)
        }
    };
    if is_ours {
        return Ok(());
    }
    Err(Failure::Foreign {
        kind: K::kind(&()).into_owned(),
        name: existing.meta().name.clone().unwrap_or_default(),
    })
}

fn is_marked(texts: Option<&BTreeMap<String, String>>) -> bool {
    texts.is_some_and(|texts| texts.keys().any(|key| key.starts_with(PREFIX)))
}

fn has_only_keys_of<K: Serialize>(existing: &K, object: &Json) -> bool {
    let existing = serde_json::to_value(existing).unwrap_or_default();
    match (existing["data"].as_object(), object["data"].as_object()) {
        (Some(existing), Some(ours)) => existing.keys().all(|key| ours.contains_key(key)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use slipway_controller::k8s_openapi::api::core::v1::ConfigMap;

    use super::*;
    use crate::storage::{EtcdStorageSpec, Validity};

    fn storage(uid: &str) -> EtcdStorage {
        let hour = || Validity::new("1h");
        let spec: EtcdStorageSpec = serde_json::from_value(json!({
            "signingCertificateValidity": hour(), "servingCertificateValidity": hour(), "clientCertificateValidity": hour(),
        }))
        .unwrap();
        let mut storage = EtcdStorage::new("a", spec);
        storage.metadata.uid = Some(uid.to_owned());
        storage
    }

    #[test]
    fn objects_of_others_are_left_alone() {
        let storage = storage("1");
        let names = Names::new("a".parse().unwrap(), "ns", "cluster.local");
        let ours =
            json!({"metadata": metadata(&storage, &names, "a-ca-cert"), "data": {"client-ca.crt": ""}});
        let check = |existing: Json| {
            let existing: ConfigMap = serde_json::from_value(existing).unwrap();
            check_owner(&storage, &existing, &ours).is_ok()
        };
        let owned = |uid: &str| {
            json!({"metadata": {"ownerReferences": [
                {"apiVersion": "etcd.xmudrii.com/v1alpha1", "kind": "EtcdStorage", "name": "a", "uid": uid, "controller": true}]}})
        };
        assert!(check(owned("1")) && !check(owned("2")));
        assert!(check(json!({"metadata": {"annotations": {"etcd.xmudrii.com/certificate-signed-by": "b"}}})));
        assert!(check(json!({"data": {"client-ca.crt": "left by etcdproxy-controller"}})));
        assert!(!check(json!({"data": {"client-ca.crt": "a", "mine": "b"}})) && !check(json!({})));
    }
}
