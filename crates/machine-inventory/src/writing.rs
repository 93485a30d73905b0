//! Writes to objects. Each names the version of the object that was read: if it has changed since, nothing is written.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};
use slipway_controller::kube::api::{Patch, PatchParams};
use slipway_controller::kube::core::NamespaceResourceScope;
use slipway_controller::kube::{self, Api, Resource};

use crate::context::Context;
use crate::world::{name, namespace};

/// An object was not reconciled.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The object has changed since it was read, or is gone: it is looked at again.
    #[error("it has changed since it was read")]
    Changed,
    /// The API refused, or gave no answer.
    #[error("the API of the management cluster refused")]
    Api(#[source] kube::Error),
    /// A document of a cluster cannot be used.
    #[error("{0}")]
    Unusable(String),
}

impl From<kube::Error> for Failure {
    fn from(error: kube::Error) -> Self {
        match &error {
            kube::Error::Api(status) if matches!(status.code, 404 | 409) => Self::Changed,
            _ => Self::Api(error),
        }
    }
}

/// A kind of this group.
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

impl Context {
    /// The objects of a kind in a namespace.
    pub(crate) fn api<K: Kind>(&self, namespace: &str) -> Api<K> {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// Patches an object that is as it was read; returns the object after that.
    pub(crate) async fn patch<K: Kind>(&self, object: &K, patch: Json) -> Result<K, Failure> {
        let api = self.api::<K>(namespace(object.meta()));
        let patch = versioned(object.meta().resource_version.as_deref(), patch);
        Ok(api.patch(name(object.meta()), &PatchParams::default(), &Patch::Merge(&patch)).await?)
    }

    /// Patches the status of an object that is as it was read; returns the object after that.
    pub(crate) async fn patch_status<K: Kind>(&self, object: &K, status: Json) -> Result<K, Failure> {
        let api = self.api::<K>(namespace(object.meta()));
        let patch = versioned(object.meta().resource_version.as_deref(), json!({ "status": status }));
        Ok(api.patch_status(name(object.meta()), &PatchParams::default(), &Patch::Merge(&patch)).await?)
    }
}

/// A patch that applies to one version of an object only.
pub(crate) fn versioned(version: Option<&str>, mut patch: Json) -> Json {
    patch["metadata"]["resourceVersion"] = json!(version);
    patch
}
