use std::net::{IpAddr, Ipv4Addr};

use serde::{Deserialize, Serialize};

/// The CRI socket when none is found on the host: containerd's.
pub const DEFAULT_CRI_SOCKET: &str = "unix:///var/run/containerd/containerd.sock";

/// Detected facts about a host, used for fields that its configuration does not set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Detected {
    /// The host's name, in lower case; the node's name unless one is given.
    pub hostname: String,
    /// The address of the interface with the default route; the advertised address unless one is given.
    pub address: IpAddr,
    /// The existing CRI sockets, as `unix://` URLs, in kubeadm's order.
    pub cri_sockets: Vec<String>,
}

impl Default for Detected {
    /// An unknown host, for reading documents elsewhere: `node`, `1.2.3.4`, as kubeadm prints them in its own
    /// examples.
    fn default() -> Self {
        Self {
            hostname: "node".to_owned(),
            address: IpAddr::V4(Ipv4Addr::new(1, 2, 3, 4)),
            cri_sockets: Vec::new(),
        }
    }
}

impl Detected {
    /// The CRI socket to use when none is given: the only existing one, or containerd's when there is none.
    /// `None` when there are several: then the user has to choose.
    #[must_use]
    pub fn cri_socket(&self) -> Option<&str> {
        match self.cri_sockets.as_slice() {
            [] => Some(DEFAULT_CRI_SOCKET),
            [only] => Some(only),
            _ => None,
        }
    }
}
