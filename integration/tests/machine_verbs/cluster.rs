//! Commands on the machines of a cluster: credentials, tokens, joins by file and by URL, phases, other
//! settings.

use anyhow::{Context as _, Result, ensure};
use slipway_testkit::Machine;
use slipway_testkit::kubeadm::Kubeadm;
use slipway_testkit::network::Network;
use slipway_testkit::wait::until;

use crate::place::{CONFIG, CRI, call, files, machine, node, unchanged};

fn kubectl(machine: &Machine, kubeconfig: &str, arguments: &[&str]) -> Result<String> {
    machine.check(["kubectl", "--kubeconfig", kubeconfig].iter().chain(arguments))
}

const ADMIN: &str = "/etc/kubernetes/admin.conf";

#[test]
#[ignore = "needs root and namespaces"]
fn a_cluster_is_entered_joined_and_set_otherwise() -> Result<()> {
    let network = Network::new()?;
    let (first, second) = (machine(&network, "n1")?, machine(&network, "n2")?);
    first.write(CONFIG, "600", Kubeadm::configuration(&first))?;
    node(&first, 0, &["init", "--config", CONFIG])?;

    let mode = first.check(["stat", "-c", "%a", "/var/lib/slipway/state"])?;
    ensure!(mode.lines().all(|mode| mode == "700"), "{mode}");

    credentials(&first)?;
    tokens(&first)?;
    settings(&first)?;
    joins(&first, &second)?;
    Ok(())
}

/// A kubeconfig has the permissions of its user, and no others.
fn credentials(first: &Machine) -> Result<()> {
    let make = ["kubeconfig", "--client-name", "ada", "--org", "developers", "--validity-period", "1h"];
    let made = node(first, 0, &make)?;
    first.write("/root/ada.conf", "600", made.out)?;
    let who = kubectl(first, "/root/ada.conf", &["auth", "whoami", "-o", "json"])?;
    ensure!(who.contains("\"ada\"") && who.contains("\"developers\""), "{who}");
    let refused = first.run(["kubectl", "--kubeconfig", "/root/ada.conf", "get", "nodes"])?;
    ensure!(String::from_utf8_lossy(&refused.stderr).contains("forbidden"));
    Ok(())
}

/// A token is made, listed by both tools, and withdrawn with its signature.
fn tokens(first: &Machine) -> Result<()> {
    let text = node(first, 0, &["token", "create", "--ttl", "1h", "--description", "for a while"])?;
    let token = text.out.trim();
    let id = token.split('.').next().context("no token")?;
    let list = node(first, 0, &["token", "list"])?;
    ensure!(list.out.contains(token) && list.out.contains("for a while"), "{}", list.out);
    let json = node(first, 0, &["token", "list", "-o", "json"])?;
    let json: serde_json::Value = serde_json::from_str(&json.out)?;
    ensure!(json.to_string().contains(token), "{json}");
    let theirs = first.check(["kubeadm", "token", "list", "--kubeconfig", ADMIN])?;
    ensure!(theirs.contains(token), "{theirs}");
    let info = || kubectl(first, ADMIN, &["-n", "kube-public", "get", "cm", "cluster-info", "-o", "yaml"]);
    ensure!(info()?.contains(&format!("jws-kubeconfig-{id}")));
    node(first, 0, &["token", "delete", id])?;
    ensure!(!node(first, 0, &["token", "list"])?.out.contains(id));
    until("the signature goes with its token", || {
        Ok((!info()?.contains(&format!("jws-kubeconfig-{id}"))).then_some(()))
    })?;
    // None of this is the machine's own to plan about.
    unchanged(first)?;
    Ok(())
}

/// Other documents: a flag and a setting are planned, applied, and nothing else is.
fn settings(first: &Machine) -> Result<()> {
    let documents = Kubeadm::configuration(first)
        .replace("networking:", "apiServer: {extraArgs: [{name: v, value: \"1\"}]}\nnetworking:")
        .replace("failSwapOn: false", "failSwapOn: false\nmaxPods: 99");
    first.write("/root/other.yaml", "600", documents)?;
    let before = files(first, &["/etc/kubernetes"])?;
    let plan = node(first, 2, &["plan", "--config", "/root/other.yaml"])?;
    for wanted in ["- --v=1", "+ maxPods: 99"] {
        ensure!(plan.out.contains(wanted), "{wanted} is not in {}", plan.out);
    }
    ensure!(!plan.out.contains("static_pod.etcd") && !plan.out.contains("certificate."), "{}", plan.out);
    unchanged(first)?;
    node(first, 0, &["apply", "--config", "/root/other.yaml", "--yes"])?;
    // The apply ends when the new API server answers, not the old one.
    for _ in 0..20 {
        kubectl(first, ADMIN, &["get", "--raw", "/readyz"])?;
    }
    ensure!(first.check(["pgrep", "-af", "^kube-apiserver"])?.contains("--v=1"));
    unchanged(first)?;
    ensure!(files(first, &["/etc/kubernetes"])? == before);
    let config = kubectl(first, ADMIN, &["get", "--raw", "/api/v1/nodes/n1/proxy/configz"])?;
    ensure!(config.contains("\"maxPods\":99"), "{config}");
    // Drift, as a plan for programs.
    first.check(["sed", "-i", "s/^maxPods: .*/maxPods: 7/", "/var/lib/kubelet/config.yaml"])?;
    let plan = node(first, 2, &["plan", "-o", "json"])?;
    let plan: serde_json::Value = serde_json::from_str(&plan.out)?;
    let changed: Vec<&str> = plan["resource_changes"]
        .as_array()
        .context("no changes")?
        .iter()
        .filter(|change| change["change"]["actions"] != serde_json::json!(["no-op"]))
        .filter_map(|change| change["address"].as_str())
        .collect();
    ensure!(changed == ["file.kubelet-config"], "{changed:?}");
    node(first, 0, &["apply", "--yes"])?;
    unchanged(first)?;
    Ok(())
}

/// A machine joins by a file and leaves by phases, and joins by a URL and by phases.
fn joins(first: &Machine, second: &Machine) -> Result<()> {
    let token = node(first, 0, &["token", "create"])?;
    let token = token.out.trim();
    let info = ["-n", "kube-public", "get", "cm", "cluster-info", "-o", "jsonpath={.data.kubeconfig}"];
    let discovery = kubectl(first, ADMIN, &info)?;
    second.write("/root/discovery.conf", "600", &discovery)?;
    let by_file =
        ["--discovery-file", "/root/discovery.conf", "--tls-bootstrap-token", token, "--cri-socket", CRI];
    let join: Vec<&str> = ["join"].into_iter().chain(by_file).collect();
    let dry: Vec<&str> = join.iter().copied().chain(["--dry-run"]).collect();
    let shown = node(second, 2, &dry)?;
    ensure!(shown.out.contains("kubelet_credentials.kubelet"), "{}", shown.out);
    ensure!(!shown.out.contains(token), "a token is shown: {}", shown.out);
    ensure!(files(second, &["/etc/kubernetes", "/var/lib/slipway"])?.is_empty());
    node(second, 0, &join)?;
    unchanged(second)?;
    let nodes = || kubectl(first, ADMIN, &["get", "nodes", "-o", "name"]);
    // The machine has joined; its kubelet registers the node.
    until("n2 is a node", || Ok(nodes()?.contains("node/n2").then_some(())))?;

    // The machine leaves phase by phase. `--dry-run` changes nothing.
    let shown = node(second, 2, &["reset", "--dry-run"])?;
    ensure!(shown.out.contains("service.kubelet"), "{}", shown.out);
    unchanged(second)?;
    for nothing in ["preflight", "remove-etcd-member"] {
        node(second, 0, &["phase", "reset", nothing, "--force"])?;
    }
    unchanged(second)?;
    node(second, 0, &["phase", "reset", "cleanup-node", "--force"])?;
    let left = files(second, &["/etc/kubernetes", "/var/lib/kubelet", "/var/lib/slipway/owned"])?;
    ensure!(left.is_empty(), "{left:?}");
    let again = node(second, 1, &["reset", "--force", "--offline"])?;
    ensure!(again.err.contains("NODE0004"), "{}", again.err);
    kubectl(first, ADMIN, &["delete", "node", "n2", "--ignore-not-found"])?;

    // The same file at a URL, whose server the machine trusts by the system's CAs.
    first.write("/srv/discovery.conf", "600", &discovery)?;
    let serve = "cd /srv && exec openssl s_server -WWW -accept 8443 -cert /etc/kubernetes/pki/apiserver.crt \
                 -key /etc/kubernetes/pki/apiserver.key";
    let _server = first.spawn(["sh", "-c", serve])?;
    let authority = first.read("/etc/kubernetes/pki/ca.crt")?;
    second.write("/root/ca.crt", "600", authority)?;
    let url = format!("https://{}:8443/discovery.conf", first.address());
    let by_url = ["--discovery-file", &url, "--tls-bootstrap-token", token, "--cri-socket", CRI];
    let phase = |phase: &[&str]| -> Result<()> {
        let words = ["env", "SSL_CERT_FILE=/root/ca.crt", "slipway", "node", "phase", "join"];
        let words: Vec<&str> = words.iter().chain(phase).chain(&by_url).copied().collect();
        call(second, 0, &words).map(drop)
    };
    for one in ["preflight", "kubelet-start", "kubelet-wait-bootstrap"] {
        phase(&[one])?;
    }
    until("the node has registered", || Ok(nodes()?.contains("node/n2").then_some(())))?;
    phase(&["kubelet-start"])?;
    Ok(())
}
