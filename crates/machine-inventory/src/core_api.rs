//! Cluster and Machine of Cluster API: the fields that its infrastructure contract names.
//!
//! Versions v1beta1 and v1beta2 of the group are read into the same types. A field that moved between them has both
//! places.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use slipway_controller::k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use slipway_controller::kube::Resource;
use slipway_controller::kube::core::DynamicResourceScope;

use crate::api::Endpoint;

/// The group of Cluster API.
pub const GROUP: &str = "cluster.x-k8s.io";

/// A version of the group of Cluster API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CoreVersion {
    /// `v1beta1`
    V1Beta1,
    /// `v1beta2`
    #[default]
    V1Beta2,
}

impl CoreVersion {
    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V1Beta1 => "v1beta1",
            Self::V1Beta2 => "v1beta2",
        }
    }
}

/// A cluster.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Cluster {
    /// Metadata.
    pub metadata: ObjectMeta,
    /// Specification.
    #[serde(default)]
    pub spec: ClusterSpec,
    /// Status.
    #[serde(default)]
    pub status: ClusterStatus,
}

/// Specification of a cluster.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterSpec {
    /// Whether controllers leave the cluster alone.
    #[serde(default)]
    pub paused: Option<bool>,
    /// Endpoint of the control plane.
    #[serde(default)]
    pub control_plane_endpoint: Option<Endpoint>,
    /// Networks of the cluster.
    #[serde(default)]
    pub cluster_network: Option<ClusterNetwork>,
    /// The object of the control plane provider.
    #[serde(default)]
    pub control_plane_ref: Option<ContractReference>,
}

/// Networks of a cluster.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterNetwork {
    /// Port of the API server.
    #[serde(default)]
    pub api_server_port: Option<i32>,
}

/// A reference to an object of another provider.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContractReference {
    /// API group; in version v1beta2.
    #[serde(default)]
    pub api_group: Option<String>,
    /// API group and version; in version v1beta1.
    #[serde(default)]
    pub api_version: Option<String>,
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: String,
}

impl ContractReference {
    /// The API group.
    #[must_use]
    pub fn group(&self) -> &str {
        let by_version =
            || self.api_version.as_deref().and_then(|text| text.split_once('/')).map(|(group, _)| group);
        self.api_group.as_deref().or_else(by_version).unwrap_or_default()
    }
}

/// Status of a cluster.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterStatus {
    /// Facts about the creation; in version v1beta2.
    #[serde(default)]
    pub initialization: Option<ClusterInitialization>,
    /// Whether the infrastructure is ready; in version v1beta1.
    #[serde(default)]
    pub infrastructure_ready: Option<bool>,
    /// Conditions.
    #[serde(default)]
    pub conditions: Vec<AnyCondition>,
}

/// Facts about the creation of a cluster.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterInitialization {
    /// Whether the infrastructure was provisioned.
    #[serde(default)]
    pub infrastructure_provisioned: Option<bool>,
    /// Whether the API server of the control plane has answered.
    #[serde(default)]
    pub control_plane_initialized: Option<bool>,
}

/// A condition of either version.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct AnyCondition {
    /// Type.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
}

impl Cluster {
    /// Whether the infrastructure was provisioned.
    #[must_use]
    pub fn has_infrastructure(&self) -> bool {
        let new = self.status.initialization.and_then(|status| status.infrastructure_provisioned);
        new.or(self.status.infrastructure_ready).unwrap_or_default()
    }

    /// Whether the API server of the control plane has answered.
    #[must_use]
    pub fn has_control_plane(&self) -> bool {
        let new = self.status.initialization.and_then(|status| status.control_plane_initialized);
        let is_it = |condition: &AnyCondition| {
            condition.kind == "ControlPlaneInitialized" && condition.status == "True"
        };
        new.unwrap_or_default() || self.status.conditions.iter().any(is_it)
    }

    /// The endpoint of the control plane; `None` while it is blank.
    #[must_use]
    pub fn endpoint(&self) -> Option<&Endpoint> {
        self.spec.control_plane_endpoint.as_ref().filter(|endpoint| endpoint.is_given())
    }

    /// Whether controllers leave the cluster alone.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.spec.paused.unwrap_or_default()
    }
}

/// A machine.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Machine {
    /// Metadata.
    pub metadata: ObjectMeta,
    /// Specification.
    #[serde(default)]
    pub spec: MachineSpec,
}

/// Specification of a machine.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineSpec {
    /// Name of its cluster.
    #[serde(default)]
    pub cluster_name: String,
    /// Its bootstrap data.
    #[serde(default)]
    pub bootstrap: Bootstrap,
    /// Its failure domain.
    #[serde(default)]
    pub failure_domain: Option<String>,
}

/// The bootstrap data of a machine.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Bootstrap {
    /// Name of its secret, once it exists.
    #[serde(default)]
    pub data_secret_name: Option<String>,
}

impl Machine {
    /// Whether it belongs to a control plane.
    #[must_use]
    pub fn is_control_plane(&self) -> bool {
        self.metadata.labels.iter().flatten().any(|(key, _)| key == crate::labels::CONTROL_PLANE)
    }
}

macro_rules! resource {
    ($kind:ident, $plural:literal) => {
        impl Resource for $kind {
            type DynamicType = CoreVersion;
            // The version is chosen when the program runs.
            type Scope = DynamicResourceScope;

            fn kind(_: &CoreVersion) -> Cow<'_, str> {
                stringify!($kind).into()
            }

            fn group(_: &CoreVersion) -> Cow<'_, str> {
                GROUP.into()
            }

            fn version(version: &CoreVersion) -> Cow<'_, str> {
                version.as_str().into()
            }

            fn plural(_: &CoreVersion) -> Cow<'_, str> {
                $plural.into()
            }

            fn meta(&self) -> &ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }
        }
    };
}

resource!(Cluster, "clusters");
resource!(Machine, "machines");

/// The owner of a kind of Cluster API in the metadata of an object.
#[must_use]
pub fn owner<'a>(metadata: &'a ObjectMeta, kind: &str) -> Option<&'a str> {
    let of_group = |version: &str| version.split_once('/').is_some_and(|(group, _)| group == GROUP);
    let mut owners = metadata.owner_references.iter().flatten();
    owners.find(|owner| owner.kind == kind && of_group(&owner.api_version)).map(|owner| owner.name.as_str())
}

/// A condition by its type.
#[must_use]
pub fn condition<'a>(conditions: &'a [Condition], kind: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == kind)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_versions_of_a_cluster_are_read() {
        let read = |text| -> Cluster { serde_json::from_value(text).unwrap() };
        let old = read(json!({"metadata": {"name": "a"}, "spec": {"controlPlaneRef": {
            "apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "KubeadmControlPlane", "name": "cp"},
            "controlPlaneEndpoint": {"host": "", "port": 0}},
            "status": {"infrastructureReady": true, "conditions": [{"type": "ControlPlaneInitialized", "status": "True"}]}}));
        let new = read(json!({"metadata": {"name": "a"}, "spec": {"controlPlaneRef": {
            "apiGroup": "controlplane.cluster.x-k8s.io", "kind": "KubeadmControlPlane", "name": "cp"}},
            "status": {"initialization": {"infrastructureProvisioned": true, "controlPlaneInitialized": true}}}));
        for cluster in [old, new] {
            assert!(
                cluster.has_infrastructure() && cluster.has_control_plane() && cluster.endpoint().is_none()
            );
            assert_eq!(cluster.spec.control_plane_ref.unwrap().group(), "controlplane.cluster.x-k8s.io");
        }
        let bare = read(json!({"metadata": {"name": "a"}}));
        assert!(!bare.has_infrastructure() && !bare.has_control_plane());
    }

    #[test]
    fn an_owner_is_of_the_group_of_cluster_api() {
        let metadata: ObjectMeta = serde_json::from_value(json!({"ownerReferences": [
            {"apiVersion": "example.com/v1", "kind": "Machine", "name": "other", "uid": "1"},
            {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": "mine", "uid": "2"}]}))
        .unwrap();
        assert_eq!(owner(&metadata, "Machine"), Some("mine"));
        assert_eq!(owner(&metadata, "Cluster"), None);
    }
}
