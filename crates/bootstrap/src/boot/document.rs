use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::Deserialize;
use serde_json::Value as Json;
use slipway_resource::Digest;
use slipway_spec::model::{
    Architecture, Assets, Audit, Authentication, Component, ComponentName, ContainerRuntime, EgressProxy,
    EtcdCluster, EtcdMember, FileAsset, Hook, IpFamily, Kubelet, PodSecurityLevel, ProxyMode, Role, Taint,
};
use slipway_spec::value::{Cidr, KubernetesVersion, PortRange};

use super::Programs;

/// The version of the document that is read.
const API_VERSION: &str = "slipway.dev/v1alpha1";
/// The etcd cluster that the machines run: it has all objects.
pub const ETCD: &str = "main";
/// The kind of the document.
const KIND: &str = "NodeBootstrap";

/// Why a document cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// The bytes are not those that were promised.
    #[error("the bootstrap document has the digest {found}, and {expected} was expected")]
    OtherDigest {
        /// The digest that the user data names.
        expected: String,
        /// The digest of the bytes that were found.
        found: String,
    },
    /// It is not JSON, or has other fields.
    #[error("the bootstrap document cannot be read: {0}")]
    Unreadable(String),
    /// It is of another kind or version.
    #[error(
        "the bootstrap document is a {kind} of {version}, and this program reads {KIND} of {API_VERSION}"
    )]
    OtherKind {
        /// Its kind.
        kind: String,
        /// Its version.
        version: String,
    },
    /// The machine cannot have this role.
    #[error("machines of the role {0} cannot boot from a document")]
    Role(String),
}

/// The document from which a machine of a cloud boots: the settings of its pool, without any secret.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeBootstrap {
    #[serde(rename = "apiVersion")]
    _api_version: String,
    #[serde(rename = "kind")]
    _kind: String,
    pub(super) cluster: About,
    pub(super) node: Node,
    /// Where further settings of the pool are; the document has all of them without it.
    #[serde(default)]
    pub(super) settings: Option<SettingsObject>,
    #[serde(default)]
    pub(super) runtime: ContainerRuntime,
    #[serde(default)]
    pub(super) egress_proxy: Option<EgressProxy>,
    #[serde(default)]
    pub(super) assets: Assets,
    #[serde(default)]
    pub(super) programs: Programs,
    #[serde(default)]
    pub(super) components: BTreeMap<ComponentName, Component>,
    #[serde(default)]
    pub(super) addons: Vec<Setting>,
    #[serde(default)]
    pub(super) control_plane: Option<ControlPlane>,
}

/// The object in the cluster with further settings of the pool.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SettingsObject {
    /// The name of a ConfigMap in `kube-system`.
    pub config_map: String,
    /// On control planes the text of the settings when the document was written. A machine that begins the cluster has them.
    #[serde(default)]
    pub first: Option<String>,
}

/// The cluster.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct About {
    pub name: String,
    pub provider: String,
    #[serde(default)]
    pub region: Option<String>,
    pub ip_family: IpFamily,
    pub domain: String,
    pub dns_address: IpAddr,
    /// Empty where the cloud gives each node a range.
    #[serde(default)]
    pub pod_cidrs: Vec<Cidr>,
    pub service_cidrs: Vec<Cidr>,
    pub cni: Plugin,
    #[serde(default)]
    pub proxy_mode: ProxyMode,
    #[serde(default)]
    pub store: Option<String>,
    #[serde(default)]
    pub internal_endpoint: Option<String>,
    /// The port of the API servers and of the endpoint.
    #[serde(default = "https")]
    pub api_port: u16,
    /// The configuration of the cloud controller manager. `apply` installs that behind the API, and the other add-ons with it.
    #[serde(default)]
    pub cloud_controller: Option<String>,
    #[serde(default)]
    pub cloud_config: Json,
    #[serde(default)]
    pub registries: Json,
}

const fn https() -> u16 {
    443
}

/// The pods' network and its settings.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Plugin {
    pub name: String,
    #[serde(default)]
    pub config: Json,
}

/// The machine.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Node {
    pub pool: String,
    pub role: Role,
    pub architecture: Architecture,
    pub kubernetes_version: KubernetesVersion,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    #[serde(default)]
    pub taints: Vec<Taint>,
    #[serde(default)]
    pub kubelet: Kubelet,
    #[serde(default)]
    pub packages: Vec<String>,
    #[serde(default)]
    pub sysctls: BTreeMap<String, String>,
    #[serde(default)]
    pub files: Vec<FileAsset>,
    #[serde(default)]
    pub hooks: Vec<Hook>,
    #[serde(default)]
    pub mounts: Vec<Json>,
    #[serde(default)]
    pub warm_images: Vec<String>,
}

/// An add-on and its settings.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Setting {
    pub name: String,
    #[serde(default)]
    pub version: Option<String>,
    #[serde(default)]
    pub replicas: Option<u32>,
    #[serde(default)]
    pub config: Json,
}

/// Settings for machines with an API server only.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ControlPlane {
    #[serde(default)]
    pub names: Vec<String>,
    pub node_port_range: PortRange,
    #[serde(default)]
    pub schedulable: bool,
    #[serde(default)]
    pub authentication: Authentication,
    pub service_accounts: Issuer,
    #[serde(default)]
    pub encrypted: Vec<String>,
    #[serde(default)]
    pub audit: Audit,
    #[serde(default)]
    pub pod_security: Option<Standards>,
    #[serde(default)]
    pub etcd: Vec<EtcdCluster>,
    /// Whether members of etcd keep their data on volumes of the cloud.
    #[serde(default)]
    pub etcd_volumes: bool,
    #[serde(default)]
    pub autoscaling: BTreeMap<String, Json>,
}

/// The Pod Security Standards of namespaces without labels of their own. The document leaves an empty list out, so that a
/// missing list exempts nothing.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Standards {
    pub enforce: PodSecurityLevel,
    pub audit: PodSecurityLevel,
    pub warn: PodSecurityLevel,
    #[serde(default)]
    pub exempt_namespaces: Vec<String>,
}

/// The issuer of service-account tokens; empty fields are left out.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Issuer {
    pub issuer: String,
    #[serde(default)]
    pub discovery_store: Option<String>,
    #[serde(default)]
    pub additional_audiences: Vec<String>,
}

/// The JSON of a file whose digest is known.
pub(super) fn json_of(bytes: &[u8], digest: &str) -> Result<Json, DocumentError> {
    let found = Digest::of_bytes(bytes).to_string();
    if found != digest {
        return Err(DocumentError::OtherDigest { expected: digest.to_owned(), found });
    }
    serde_json::from_slice(bytes).map_err(unreadable)
}

/// Refuses a file of another kind or version.
pub(super) fn has_kind(json: &Json, expected: &str) -> Result<(), DocumentError> {
    let text = |key: &str| json.get(key).and_then(Json::as_str).unwrap_or("nothing").to_owned();
    let (kind, version) = (text("kind"), text("apiVersion"));
    if kind != expected || version != API_VERSION {
        return Err(DocumentError::OtherKind { kind, version });
    }
    Ok(())
}

fn unreadable(error: serde_json::Error) -> DocumentError {
    DocumentError::Unreadable(error.to_string())
}

impl NodeBootstrap {
    /// Reads a document whose digest is known, as `sha256:` and 64 hexadecimal digits.
    ///
    /// # Errors
    /// When the bytes have another digest, or are no document that this program reads.
    pub fn read(bytes: &[u8], digest: &str) -> Result<Self, DocumentError> {
        let json = json_of(bytes, digest)?;
        has_kind(&json, KIND)?;
        let document: Self = serde_json::from_value(json).map_err(unreadable)?;
        match document.node.role {
            Role::ControlPlane if document.control_plane.is_none() => {
                Err(DocumentError::Unreadable("a control plane needs the field controlPlane".to_owned()))
            }
            Role::ControlPlane | Role::Worker => Ok(document),
            other => Err(DocumentError::Role(other.as_str().to_owned())),
        }
    }

    /// The name of the cluster.
    #[must_use]
    pub fn cluster_name(&self) -> &str {
        &self.cluster.name
    }

    /// The provider of the cloud.
    #[must_use]
    pub fn provider(&self) -> &str {
        &self.cluster.provider
    }

    /// The region of the cloud, where it has regions.
    #[must_use]
    pub fn region(&self) -> Option<&str> {
        self.cluster.region.as_deref()
    }

    /// The name of the API for the nodes, where it is another one than for people.
    #[must_use]
    pub fn internal_endpoint(&self) -> Option<&str> {
        self.cluster.internal_endpoint.as_deref()
    }

    /// The pool of the machine.
    #[must_use]
    pub fn pool(&self) -> &str {
        &self.node.pool
    }

    /// The processor architecture that the machine must have.
    #[must_use]
    pub fn architecture(&self) -> Architecture {
        self.node.architecture
    }

    /// Whether the machine runs the control plane.
    #[must_use]
    pub fn is_control_plane(&self) -> bool {
        self.node.role == Role::ControlPlane
    }

    /// The URL of the state store from which control planes read the keys of the cluster.
    #[must_use]
    pub fn store(&self) -> Option<&str> {
        self.cluster.store.as_deref()
    }

    /// The members of etcd that machines of this pool run and whose data is on volumes of the cloud, by name.
    #[must_use]
    pub fn members_on_volumes(&self) -> Vec<String> {
        let has_volumes = self.control_plane.as_ref().is_some_and(|own| own.etcd_volumes);
        let members = self.all_members().filter(|member| has_volumes && member.pool == self.node.pool);
        members.map(|member| member.name.clone()).collect()
    }

    /// The members of etcd on all machines, by name.
    pub(super) fn names_of_members(&self) -> Vec<String> {
        self.all_members().map(|member| member.name.clone()).collect()
    }

    /// Whether etcd has one member only: nothing else has its data, and no other member has to know its address.
    #[must_use]
    pub fn has_one_member(&self) -> bool {
        self.all_members().count() == 1
    }

    fn all_members(&self) -> impl Iterator<Item = &EtcdMember> {
        let own = self.control_plane.iter().flat_map(|own| &own.etcd);
        own.filter(|cluster| cluster.name == ETCD).flat_map(|cluster| &cluster.members)
    }

    /// The port of the API servers and of the endpoint.
    #[must_use]
    pub fn api_port(&self) -> u16 {
        self.cluster.api_port
    }

    /// Whether objects are encrypted before they are stored in etcd.
    #[must_use]
    pub fn encrypts(&self) -> bool {
        self.control_plane.as_ref().is_some_and(|control_plane| !control_plane.encrypted.is_empty())
    }
}
