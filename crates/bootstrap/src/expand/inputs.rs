use std::collections::BTreeMap;

use jiff::Timestamp;
use slipway_resource::{Address, Value};

use crate::addon::flannel::Flannel;
use crate::kube_vip::KubeVip;
use crate::static_pod::Member;

/// What an expansion is given beside a configuration and facts: what others have made or found, secrets among it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inputs {
    /// Now, for the ends of tokens; without it tokens with a time to live have no end.
    pub now: Option<Timestamp>,
    /// Files below the folder of certificates that are given, not made on the node: `ca.crt`, `ca.key`, `sa.pub`, …. A
    /// value is a text, a secret, or a reference to another resource's output.
    pub shared_files: BTreeMap<String, Value>,
    /// What stands before the shared files, as the keys that they are made of.
    pub shared_after: Vec<Address>,
    /// The PEM of the cluster's CA in base64, where it is known: text, or a reference.
    pub authority_base64: Option<Value>,
    /// Bootstrap tokens to be made, in place of those of the configuration.
    pub tokens: Option<Tokens>,
    /// The text of the `EncryptionConfiguration`, a secret.
    pub encryption: Option<Value>,
    /// The audit policy, where requests are logged.
    pub audit: Option<crate::audit::Audit>,
    /// The network of pods, where flannel is to be it.
    pub flannel: Option<Flannel>,
    /// The virtual address of the control plane, where kube-vip is to hold it.
    pub kube_vip: Option<KubeVip>,
    /// What discovery found out, for a node that joins.
    pub discovered: Option<Discovered>,
    /// The URLs of the members of etcd that are there, for a control plane that joins.
    pub etcd_endpoints: Vec<String>,
    /// The members of etcd, where they are known before the node joins, itself among them.
    pub etcd_members: Option<Vec<Member>>,
    /// Snapshots that control planes take of their etcd; none where nobody asked for them.
    pub etcd_backup: Option<EtcdBackup>,
    /// Names and addresses for which this node's kubelet may get a serving certificate.
    pub serving_names: Vec<String>,
    /// The kubelet that the node fetches, in place of one that is on it already.
    pub kubelet: Option<KubeletProgram>,
    /// Whether an addition to the kubelet's unit that a package brought names the kubelet's program.
    pub kubelet_is_named: bool,
    /// Labels of the node beside those of its role.
    pub node_labels: BTreeMap<String, String>,
}

/// Snapshots that control planes take of their etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdBackup {
    /// The cluster: its snapshots are below this name in the store.
    pub cluster: String,
    /// Where snapshots are kept; the folder of the node provider unless it is given.
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
    /// Where it is put. The path has version and digest in it: another kubelet has another path, and the one that runs stays
    /// in place until the other one runs well.
    pub path: String,
    /// Where it is fetched from, tried in this order.
    pub urls: Vec<String>,
    /// The SHA-256 of its bytes, 64 hexadecimal digits.
    pub sha256: String,
    /// The Kubernetes version that it has, without a `v`.
    pub version: String,
}

/// Bootstrap tokens whose text others keep.
#[derive(Clone, Debug, PartialEq)]
pub struct Tokens {
    /// Each token: the part before the dot, and the part behind it as a secret.
    pub tokens: Vec<(String, Value)>,
    /// What stands before them.
    pub after: Vec<Address>,
}

/// What discovery found out about a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discovered {
    /// The URL of its API.
    pub server: String,
    /// Its CA, as PEM.
    pub authority: String,
    /// The path of a file with a client certificate and its key, with which the kubelet asks for its own certificate in place
    /// of a token.
    pub client_certificate: Option<String>,
}
