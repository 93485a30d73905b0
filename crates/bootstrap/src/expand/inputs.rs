use std::collections::BTreeMap;
use std::net::IpAddr;

use jiff::Timestamp;
use slipway_resource::{Address, Value};

use crate::addon::flannel::Flannel;
use crate::kube_vip::KubeVip;
use crate::static_pod::Member;

/// Inputs of an expansion beside the configuration and facts: results of other resources and of discovery,
/// including secrets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inputs {
    /// The present time, for the ends of tokens. Without it tokens with a time to live have no end.
    pub now: Option<Timestamp>,
    /// Files below the folder of certificates that are given, not made on the node: `ca.crt`, `ca.key`, `sa.pub`, …. A
    /// value is a text, a secret, or a reference to another resource's output.
    pub shared_files: BTreeMap<String, Value>,
    /// The resources before the shared files, such as the keys that they contain.
    pub shared_after: Vec<Address>,
    /// The PEM of the cluster's CA in base64, where it is known: text, or a reference.
    pub authority_base64: Option<Value>,
    /// Bootstrap tokens to make, instead of those of the configuration.
    pub tokens: Option<Tokens>,
    /// The text of the `EncryptionConfiguration`, a secret.
    pub encryption: Option<Value>,
    /// The audit policy, where requests are logged.
    pub audit: Option<crate::audit::Audit>,
    /// The Pod Security Standards of namespaces without labels, where the API server has any.
    pub pod_security: Option<slipway_cluster_input::PodSecurity>,
    /// The network of pods, if it is flannel.
    pub flannel: Option<Flannel>,
    /// The virtual address of the control plane, if kube-vip holds it.
    pub kube_vip: Option<KubeVip>,
    /// The virtual address of the control plane, if a service of Slipway holds it.
    pub virtual_address: Option<VirtualAddress>,
    /// The results of discovery, for a node that joins.
    pub discovered: Option<Discovered>,
    /// The URLs of the existing members of etcd, for a control plane that joins.
    pub etcd_endpoints: Vec<String>,
    /// The names of all members of etcd whose data is on volumes, for a control plane that joins with a volume. Members with other
    /// names have their data on the disks of their nodes, and are lost with them.
    pub members_on_volumes: Vec<String>,
    /// Whether the node continues a cluster with the data of a member of etcd: the objects of the cluster exist.
    pub continues: bool,
    /// The members of etcd, including this one, where they are known before the node joins.
    pub etcd_members: Option<Vec<Member>>,
    /// Snapshots that control planes take of their etcd; `None` where none are requested.
    pub etcd_backup: Option<EtcdBackup>,
    /// Names and addresses for which this node's kubelet may get a serving certificate.
    pub serving_names: Vec<String>,
    /// The kubelet that the node fetches, instead of an installed one.
    pub kubelet: Option<KubeletProgram>,
    /// Whether a drop-in of the kubelet's packaged unit names the kubelet's program.
    pub kubelet_is_named: bool,
    /// Labels of the node beside those of its role.
    pub node_labels: BTreeMap<String, String>,
}

/// A virtual address that a service on each control plane hands over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VirtualAddress {
    /// The address.
    pub address: IpAddr,
    /// The interface that gets it; absent for the one with the address of the node.
    pub interface: Option<String>,
}

/// Snapshots that control planes take of their etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdBackup {
    /// The cluster: its snapshots are below this name in the store.
    pub cluster: String,
    /// The store of the snapshots; the folder of the node provider unless it is given.
    pub store: Option<String>,
    /// The time between two snapshots, in seconds.
    pub interval_seconds: u64,
    /// How long snapshots are kept, in seconds.
    pub retention_seconds: u64,
    /// Whether they stay when the cluster is deleted.
    pub keep_on_delete: bool,
}

/// A kubelet that a node fetches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubeletProgram {
    /// Its path. The path contains version and digest: another kubelet has another path, and the running
    /// kubelet stays in place until the other one runs well.
    pub path: String,
    /// The URLs, tried in this order.
    pub urls: Vec<String>,
    /// The SHA-256 of its bytes, 64 hexadecimal digits.
    pub sha256: String,
    /// The Kubernetes version that it has, without a `v`.
    pub version: String,
}

/// Bootstrap tokens whose texts other resources keep.
#[derive(Clone, Debug, PartialEq)]
pub struct Tokens {
    /// Each token: the part before the dot, and the part after it as a secret.
    pub tokens: Vec<(String, Value)>,
    /// The resources before them.
    pub after: Vec<Address>,
}

/// The results of discovery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discovered {
    /// The URL of its API.
    pub server: String,
    /// Its CA, as PEM.
    pub authority: String,
    /// The path of a file with a client certificate and its key, with which the kubelet requests its own
    /// certificate instead of with a token.
    pub client_certificate: Option<String>,
}
