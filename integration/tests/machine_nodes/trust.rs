//! A machine joins only a cluster that it can trust, and does not take the name of another node.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use slipway_testkit::machine::Machine;
use slipway_testkit::network::Network;

use crate::place::{Begun, become_ready, expect, kubectl, machine};

#[test]
#[ignore = "needs root and namespaces"]
fn what_cannot_be_trusted_is_refused_with_the_reason() -> Result<()> {
    let network = Network::new()?;
    let (first, second) = (machine(&network, "n1")?, machine(&network, "n2")?);
    let begun = Begun::new(&first)?;
    become_ready(&first, &first)?;
    let join = |token: &str, pin: &str| {
        let words = ["join", &begun.endpoint, "--token", token, "--discovery-token-ca-cert-hash", pin];
        words.map(str::to_owned)
    };
    let refused = |words: &[String], more: &[&str], wanted: &str| -> Result<()> {
        let words: Vec<&str> = words.iter().map(String::as_str).chain(more.iter().copied()).collect();
        let said = expect(&second, 1, &words)?;
        ensure!(said.err.contains(wanted), "{wanted} is not in {}", said.err);
        let made = second.run(["ls", "/etc/kubernetes/kubelet.conf"])?;
        ensure!(!made.status.success(), "something was made");
        Ok(())
    };

    let wrong = format!("sha256:{}", "0".repeat(64));
    refused(&join(&begun.token, &wrong), &[], "none of the cluster's CAs is pinned")?;
    let (id, _) = begun.token.split_once('.').unwrap_or_default();
    let forged = format!("{id}.{}", "0".repeat(16));
    refused(&join(&forged, &begun.pin), &[], "does not know the token's secret")?;
    refused(&join(&begun.token, &begun.pin), &["--node-name", "n1"], "NODE0007")?;

    // Another server is put into cluster-info, with the signature of the old text.
    let kubeconfig = told(&first, "kubeconfig")?;
    let altered = kubeconfig.replace(&first.address(), "10.150.0.250");
    let signature = told(&first, &format!("jws-kubeconfig-{id}"))?;
    // Without the controller manager, cluster-info is not signed again.
    first.check(["mv", "/etc/kubernetes/manifests/kube-controller-manager.yaml", "/root/"])?;
    first.check(["sh", "-c", "while pgrep kube-controller >/dev/null; do sleep 0.2; done"])?;
    change(&first, &json!({"kubeconfig": altered, format!("jws-kubeconfig-{id}"): signature}))?;
    refused(&join(&begun.token, &begun.pin), &[], "the signed data was changed")?;

    // Slipway's own signer needs no controller.
    change(&first, &json!({"kubeconfig": kubeconfig}))?;
    let token = first.check(["slipway", "node", "token", "create"])?;
    first.check(["mv", "/root/kube-controller-manager.yaml", "/etc/kubernetes/manifests/"])?;
    let words = join(token.trim(), &begun.pin);
    expect(&second, 0, &words.iter().map(String::as_str).collect::<Vec<_>>())?;
    Ok(())
}

/// The value of a key in cluster-info.
fn told(control_plane: &Machine, name: &str) -> Result<String> {
    let path = format!("jsonpath={{.data.{name}}}");
    kubectl(control_plane, &["-n", "kube-public", "get", "configmap", "cluster-info", "-o", &path])
}

/// Changes cluster-info.
fn change(control_plane: &Machine, data: &Value) -> Result<String> {
    let patch = json!({"data": data}).to_string();
    kubectl(
        control_plane,
        &["-n", "kube-public", "patch", "configmap", "cluster-info", "--type", "merge", "-p", &patch],
    )
}
