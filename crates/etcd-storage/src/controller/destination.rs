//! The objects of API servers that the controller writes to: ConfigMaps for authorities, Secrets for client certificates.
//!
//! Their owners create them and allow the controller get, update and patch. The controller writes its own keys and annotations
//! by server-side apply. Other keys stay, and no object is ever created.

use std::collections::BTreeMap;
use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};
use slipway_controller::k8s_openapi::NamespaceResourceScope;
use slipway_controller::kube::api::{Api, Patch};
use slipway_controller::kube::{Client, Error, Resource};

use crate::storage::{Destination, EtcdStorage};

use super::apply::parameters;
use super::failure::explained;
use super::names::STORAGE;

/// Why a destination was not written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unwritten {
    #[error("it does not exist: create it in the namespace of the API server")]
    Missing,
    #[error("the controller needs the rights get, update and patch on it: {0}")]
    Forbidden(String),
    #[error("it already belongs to the EtcdStorage {0}: use another object")]
    Taken(String),
    #[error("the API refused its new content: {0}")]
    Refused(String),
    #[error("{0}")]
    Pki(#[from] slipway_bootstrap::pki::Error),
}

impl From<Error> for Unwritten {
    fn from(error: Error) -> Self {
        match &error {
            Error::Api(status) if status.code == 404 => Self::Missing,
            Error::Api(status) if status.code == 403 => Self::Forbidden(status.message.clone()),
            _ => Self::Refused(explained(&error)),
        }
    }
}

impl Unwritten {
    /// The reason in the condition.
    pub(crate) const fn reason(&self) -> &'static str {
        match self {
            Self::Missing => "DestinationMissing",
            Self::Forbidden(_) => "DestinationForbidden",
            Self::Taken(_) => "DestinationTaken",
            Self::Refused(_) | Self::Pki(_) => "DestinationRefused",
        }
    }
}

/// What the controller writes into a destination.
#[derive(Debug)]
pub(crate) struct Content {
    /// The values of `data`, as JSON has them: those of a Secret in Base64.
    pub(crate) data: BTreeMap<&'static str, Json>,
    pub(crate) annotations: BTreeMap<&'static str, String>,
}

/// A kind of destinations.
pub(crate) trait Kind:
    Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned + Serialize
{
}

impl<K> Kind for K where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + DeserializeOwned
        + Serialize
{
}

/// Reads a destination, and refuses one that another `EtcdStorage` uses.
pub(crate) async fn read<K: Kind>(
    client: &Client,
    destination: &Destination,
    storage: &EtcdStorage,
) -> Result<K, Unwritten> {
    let api: Api<K> = Api::namespaced(client.clone(), &destination.namespace);
    let object = api.get(&destination.name).await?;
    match annotation(&object, STORAGE) {
        Some(other) if Some(other) != storage.metadata.name.as_deref() => {
            let storages: Api<EtcdStorage> = Api::all(client.clone());
            let is_used = storages.get_opt(other).await?.is_some_and(|other| uses::<K>(&other, destination));
            if is_used { Err(Unwritten::Taken(other.to_owned())) } else { Ok(object) }
        }
        _ => Ok(object),
    }
}

fn uses<K: Kind>(storage: &EtcdStorage, destination: &Destination) -> bool {
    let spec = &storage.spec;
    let list = if K::kind(&()) == "Secret" { &spec.client_cert_secret } else { &spec.ca_cert_config_map };
    list.contains(destination)
}

/// The value of an annotation.
pub(crate) fn annotation<'a, K: Resource>(object: &'a K, name: &str) -> Option<&'a str> {
    object.meta().annotations.as_ref()?.get(name).map(String::as_str)
}

/// Writes our content into a destination as it was read, if it has another one.
pub(crate) async fn write<K: Kind>(
    client: &Client,
    existing: &K,
    destination: &Destination,
    content: &Content,
) -> Result<(), Unwritten> {
    if is_written(existing, content) {
        return Ok(());
    }
    let patch = patch(existing, json!(content.annotations), json!(content.data));
    let api: Api<K> = Api::namespaced(client.clone(), &destination.namespace);
    api.patch(&destination.name, &parameters(), &Patch::Apply(patch)).await?;
    Ok(())
}

/// Whether a destination has the content.
fn is_written<K: Kind>(existing: &K, content: &Content) -> bool {
    let data = serde_json::to_value(existing).unwrap_or_default();
    content.data.iter().all(|(key, value)| data["data"][key] == *value)
        && content.annotations.iter().all(|(key, value)| annotation(existing, key) == Some(value))
}

/// Removes our content from a destination, as far as it is still ours. A destination that does not exist or may not be written
/// any more is left.
pub(crate) async fn clean<K: Kind>(
    client: &Client,
    destination: &Destination,
    storage: &EtcdStorage,
    keys: &[&str],
) -> Result<(), Unwritten> {
    let api: Api<K> = Api::namespaced(client.clone(), &destination.namespace);
    let Some(existing) = api.get_opt(&destination.name).await? else { return Ok(()) };
    if annotation(&existing, STORAGE) != storage.metadata.name.as_deref() {
        return Ok(());
    }
    let none = patch(&existing, json!({}), json!({}));
    match api.patch(&destination.name, &parameters(), &Patch::Apply(none)).await {
        // The API demands both keys of a Secret for TLS, so they become empty.
        Err(Error::Api(status)) if status.code == 422 => {
            let empty: BTreeMap<&str, &str> = keys.iter().map(|key| (*key, "")).collect();
            let empty = patch(&existing, json!({}), json!(empty));
            api.patch(&destination.name, &parameters(), &Patch::Apply(empty)).await?;
        }
        answer => {
            answer?;
        }
    }
    Ok(())
}

/// An apply to the object that was read and no other one: applying to a missing object would create it.
fn patch<K: Kind>(existing: &K, annotations: Json, data: Json) -> Json {
    json!({
        "apiVersion": K::api_version(&()),
        "kind": K::kind(&()),
        "metadata": {
            "name": existing.meta().name,
            "namespace": existing.meta().namespace,
            "uid": existing.meta().uid,
            "annotations": annotations,
        },
        "data": data,
    })
}
