use std::{collections::BTreeMap, fs, process::Command};

use serde_json::Value;
use slipway_bootstrap::{
    discovery::{self, Error},
    kubeconfig::Kubeconfig,
    pki::Pin,
    token::Token,
};

use crate::support::{kubeadm, text};

const TOKEN: &str = "abcdef.abcdef0123456789";
const PIN: &str = "sha256:3b793efefe27a19f93b0fbe6e637e9c41d0dde8a377d6ab1c0f656bf1136dd8a";

/// kubeadm has a built-in cluster for joining in a dry run. Its signature is accepted here, and the
/// kubeconfig that kubeadm writes for the kubelet equals Slipway's.
#[test]
fn what_kubeadm_trusts_is_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("join.yaml");
    fs::write(
        &config,
        format!(
            "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\ndiscovery:\n  bootstrapToken:\n    token: {TOKEN}\n    \
             apiServerEndpoint: 192.168.0.101:6443\n    caCertHashes: [\"{PIN}\"]\n\
             nodeRegistration: {{name: w-0, criSocket: \"unix:///run/x.sock\"}}\ntimeouts: {{discovery: 15s}}\n"
        ),
    )
    .unwrap();
    let output = Command::new(kubeadm())
        .args(["join", "--dry-run", "--ignore-preflight-errors=all", "--config"])
        .arg(&config)
        .env("KUBEADM_JOIN_DRYRUN_DIR", folder.path())
        .output()
        .unwrap();
    let said = text(&output);
    assert!(output.status.success(), "{said}");
    let object = said.split("Attached object:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let object: Value = serde_yaml::from_str(object).unwrap();
    assert_eq!(object["metadata"]["name"], discovery::CONFIG_MAP);
    let data: BTreeMap<String, String> = serde_json::from_value(object["data"].clone()).unwrap();

    let token: Token = TOKEN.parse().unwrap();
    let pin: Pin = PIN.parse().unwrap();
    let trusted = discovery::trust(&data, &token, std::slice::from_ref(&pin)).unwrap();
    let cluster = trusted.kubeconfig.cluster().unwrap();
    let authority = cluster.authority.unwrap();
    // The signed text can be generated again, byte for byte.
    assert_eq!(Kubeconfig::cluster_info(&cluster.server, &authority).to_yaml().expose(), trusted.text);

    let wrong: Token = "abcdef.abcdef0123456780".parse().unwrap();
    assert!(matches!(discovery::trust(&data, &wrong, &[pin]), Err(Error::WrongSignature(_))));
    let other: Pin = format!("sha256:{}", "0".repeat(64)).parse().unwrap();
    assert!(matches!(discovery::trust(&data, &token, &[other]), Err(Error::NoPinFits { .. })));

    let written = fs::read_to_string(folder.path().join("bootstrap-kubelet.conf")).unwrap();
    let ours = Kubeconfig::bootstrap_kubelet("kubernetes", &cluster.server, &authority, &token.to_text());
    assert_eq!(ours.to_yaml().expose(), written);
}
