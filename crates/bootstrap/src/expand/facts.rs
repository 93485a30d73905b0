use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use slipway_cluster_input::Architecture;

/// Facts that an expansion takes from its host: plain values, so that the expansion stays pure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Facts {
    /// The host's name, in lower case.
    pub hostname: String,
    /// The init system.
    pub init_system: InitSystem,
    /// Whether systemd-resolved is active: the kubelet then needs the resolver's own file.
    pub systemd_resolved: bool,
    /// Those of [`Facts::CA_FOLDERS`] that are there.
    pub ca_folders: BTreeSet<String>,
    /// Proxy settings in the environment, `http_proxy` and the like, by the names they have there.
    pub proxy_environment: BTreeMap<String, String>,
    /// The texts of the patch files, by their names.
    pub patches: BTreeMap<String, String>,
    /// Authorities whose certificate is there and whose key is not: `ca`, `front-proxy-ca`, `etcd/ca`.
    pub external_authorities: BTreeSet<String>,
    /// Its processors; none where that was not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<Architecture>,
    /// The folder of programs that do not come with the operating system; `/usr/local/bin` unless known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program_folder: Option<String>,
    /// Where the kubelet's program is; `/usr/bin/kubelet` unless known.
    pub kubelet: Option<String>,
    /// Whether systemd has no unit for the kubelet: no package brought one.
    pub kubelet_unit_missing: bool,
    /// Whether the addition to that unit is missing that takes the node's flags.
    pub kubelet_drop_in_missing: bool,
    /// Whether systemd has no unit for containerd: no package brought one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub containerd_unit_missing: bool,
    /// The variables of the kubelet's service beyond those that belong to it: the PATH of a host without an init system.
    pub kubelet_environment: BTreeMap<String, String>,
}

impl Facts {
    /// Folders of CA certificates beside `/etc/ssl/certs`: its files may be links into them, so containers see them too.
    pub const CA_FOLDERS: [&'static str; 5] = [
        "/etc/pki/ca-trust",
        "/etc/pki/tls/certs",
        "/etc/ca-certificates",
        "/usr/share/ca-certificates",
        "/usr/local/share/ca-certificates",
    ];

    /// Whether the cluster's CA has its key elsewhere.
    #[must_use]
    pub fn external_ca(&self) -> bool {
        self.external_authorities.contains("ca")
    }
}

/// The init system of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InitSystem {
    /// systemd.
    #[default]
    Systemd,
    /// OpenRC.
    Openrc,
    /// Nothing: the node provider starts and watches the kubelet itself.
    None,
}
