//! The virtual address of a control plane: the static pod of kube-vip, beside the bootstrap data.

use slipway_bootstrap::kube_vip::{DEFAULT_IMAGE, KubeVip, Mode, PATH};
use slipway_bootstrap::yaml;

use super::handlers::BootstrapFile;
use crate::api::VirtualAddress;
use crate::endpoint::DEFAULT_PORT;

/// The manifest for a host whose bootstrap data is this text; none without a virtual address.
pub(super) fn files(address: Option<&VirtualAddress>, data: &str) -> Vec<BootstrapFile> {
    let Some(address) = address else { return Vec::new() };
    let pod = KubeVip {
        image: address.image.clone().unwrap_or_else(|| DEFAULT_IMAGE.to_owned()),
        address: address.address.clone(),
        port: u16::try_from(address.port).or_else(|_| u16::try_from(DEFAULT_PORT)).unwrap_or_default(),
        interface: address.interface.clone(),
        mode: Mode::Arp,
    }
    .static_pod(creates_cluster(data));
    pod.map(|pod| BootstrapFile { path: PATH.to_owned(), content: yaml::to_string(&pod) })
        .into_iter()
        .collect()
}

/// Whether bootstrap data creates a cluster, and does not join one: kubeadm gives only the super administrator rights before the
/// API server answers. In Ignition the command is a part of a URL.
fn creates_cluster(data: &str) -> bool {
    ["kubeadm init", "kubeadm%20init"].iter().any(|command| data.contains(command))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_control_plane_uses_the_super_administrator() {
        let address = VirtualAddress {
            address: "10.0.0.100".to_owned(),
            port: 6443,
            image: Some("registry.example.com/kube-vip:1".to_owned()),
            interface: Some("eth0".to_owned()),
        };
        let content = |data: &str| {
            let [file] = files(Some(&address), data).try_into().unwrap();
            let BootstrapFile { path, content } = file;
            assert_eq!(path, "/etc/kubernetes/manifests/kube-vip.yaml");
            content
        };
        let first = content("runcmd: ['kubeadm init --config /run/kubeadm/kubeadm.yaml']");
        for part in ["10.0.0.100", "6443", "eth0", "registry.example.com/kube-vip:1", "super-admin.conf"] {
            assert!(first.contains(part), "{part}: {first}");
        }
        assert!(content("data:,kubeadm%20init%20--config").contains("super-admin.conf"));
        assert!(!content("runcmd: ['kubeadm join']").contains("super-admin.conf"));
        assert_eq!(files(None, "kubeadm init"), []);
    }
}
