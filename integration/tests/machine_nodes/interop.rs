//! Machines join what kubeadm began.

use anyhow::{Result, ensure};
use slipway_testkit::kubeadm::Kubeadm;
use slipway_testkit::network::Network;

use crate::place::{CRI, become_ready, expect, kubectl, machine, unchanged};

#[test]
#[ignore = "needs root and namespaces"]
fn we_join_what_kubeadm_began() -> Result<()> {
    let network = Network::new()?;
    let (first, second, third) =
        (machine(&network, "n1")?, machine(&network, "n2")?, machine(&network, "n3")?);
    let cluster = Kubeadm::init(&first)?;
    // `kubeadm join <endpoint> --token <token> --discovery-token-ca-cert-hash <pin>`
    let words: Vec<&str> = cluster.join_command().iter().skip(1).map(String::as_str).collect();
    let worker: Vec<&str> = words.iter().copied().chain(["--cri-socket", CRI]).collect();
    expect(&second, 0, &worker)?;
    become_ready(&first, &second)?;
    let key = first.check(["slipway", "node", "certs", "certificate-key"])?;
    let key = key.trim();
    first.check(["kubeadm", "init", "phase", "upload-certs", "--upload-certs", "--certificate-key", key])?;
    let address = third.address();
    let more = ["--control-plane", "--certificate-key", key, "--apiserver-advertise-address", &address];
    let control_plane: Vec<&str> = worker.into_iter().chain(more).collect();
    expect(&third, 0, &control_plane)?;
    unchanged(&third)?;
    ensure!(kubectl(&first, &["get", "nodes", "-o", "name"])?.lines().count() == 3);
    Ok(())
}
