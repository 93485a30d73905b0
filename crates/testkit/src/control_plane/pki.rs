//! Certificates and kubeconfigs of a control plane of plain processes, as kubeadm makes them.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::cache;

/// The advertised address. kubeadm refuses a loopback address, so this is an address for documentation (RFC
/// 5737) that no host has.
pub const ADVERTISED: &str = "192.0.2.10";

/// Makes them in a folder.
///
/// # Errors
/// When kubeadm fails, with its output.
pub fn make(kubeadm: &Path, folder: &Path, port: u16) -> Result<()> {
    let configuration = folder.join("kubeadm.yaml");
    let text = format!(
        "apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
localAPIEndpoint: {{advertiseAddress: {ADVERTISED}, bindPort: {port}}}
nodeRegistration: {{name: plain, criSocket: unix:///run/containerd/containerd.sock}}
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: v{version}
certificatesDir: {folder}/pki
encryptionAlgorithm: ECDSA-P256
apiServer: {{certSANs: [127.0.0.1, localhost]}}
etcd: {{local: {{serverCertSANs: [127.0.0.1], peerCertSANs: [127.0.0.1]}}}}
controlPlaneEndpoint: 127.0.0.1:{port}
",
        version = crate::kubernetes::VERSION,
        folder = folder.display(),
    );
    fs::write(&configuration, text)?;
    let phase = |what: &str| {
        let mut command = Command::new(kubeadm);
        command.args(["init", "phase", what, "all", "--config"]).arg(&configuration);
        command
    };
    cache::run(&mut phase("certs"))?;
    cache::run(phase("kubeconfig").arg("--kubeconfig-dir").arg(folder))?;
    for name in ["controller-manager.conf", "scheduler.conf"] {
        // These two name the advertised address.
        let path = folder.join(name);
        let text = fs::read_to_string(&path).with_context(|| format!("kubeadm made no {name}"))?;
        fs::write(&path, text.replace(&format!("https://{ADVERTISED}:"), "https://127.0.0.1:"))?;
    }
    Ok(())
}
