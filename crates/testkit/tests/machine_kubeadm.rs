//! Machines carry real clusters: kubeadm makes one on them, and what it runs works.
#![cfg(test)]
#![allow(clippy::unwrap_used, reason = "what fails in a test ends it")]

use std::io::Write as _;
use std::process::Stdio;

use slipway_testkit::image::AGNHOST;
use slipway_testkit::kubeadm::Kubeadm;
use slipway_testkit::{MachineOptions, Network, flannel, kubernetes, wait};

fn said(cluster: &Kubeadm<'_>, arguments: &[&str]) -> String {
    let output = cluster.kubectl(arguments).unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn apply(cluster: &Kubeadm<'_>, network: &Network, manifest: &str) {
    let kubectl = kubernetes::install().unwrap().join("kubectl");
    let mut apply = network.command([kubectl.as_os_str()]);
    apply.arg("--kubeconfig").arg(cluster.kubeconfig()).args(["apply", "-f", "-"]);
    let mut apply = apply.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    apply.stdin.take().unwrap().write_all(manifest.as_bytes()).unwrap();
    assert!(apply.wait().unwrap().success());
}

/// From each node's pod to the other's through the Service, by its name.
fn pods_reach_each_other(cluster: &Kubeadm<'_>, network: &Network) {
    apply(cluster, network, &PODS.replace("IMAGE", AGNHOST));
    said(cluster, &["rollout", "status", "daemonset/web", "--timeout=120s"]);
    said(cluster, &["--namespace=kube-system", "rollout", "status", "deployment/coredns", "--timeout=120s"]);
    let pods = said(cluster, &["get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].metadata.name}"]);
    let pods: Vec<&str> = pods.split_whitespace().collect();
    assert_eq!(pods.len(), 2);
    for pod in &pods {
        let other = *pods.iter().find(|other| *other != pod).unwrap();
        wait::until("the other pod answers", || {
            let ask =
                ["exec", pod, "--", "wget", "-q", "-O-", "http://web.default.svc.cluster.local/hostname"];
            let output = cluster.kubectl(&ask)?;
            Ok((String::from_utf8_lossy(&output.stdout) == other).then_some(()))
        })
        .unwrap();
    }
    assert!(said(cluster, &["logs", pods[0]]).contains("Started HTTP server"));
}

#[test]
#[ignore = "needs root and namespaces"]
fn flannel_as_its_documentation_has_it_carries_pods_between_machines() {
    let network = Network::new().unwrap();
    let first = network.machine("cp-0", MachineOptions::default()).unwrap();
    let worker = network.machine("worker-0", MachineOptions::default()).unwrap();
    let cluster = Kubeadm::init(&first).unwrap();
    cluster.join(&worker).unwrap();
    let manifest = flannel::install().unwrap().join("kube-flannel.yml");
    apply(&cluster, &network, &std::fs::read_to_string(manifest).unwrap());
    said(
        &cluster,
        &["--namespace=kube-flannel", "rollout", "status", "daemonset/kube-flannel-ds", "--timeout=120s"],
    );
    cluster.wait_until_ready().unwrap();
    assert!(first.check(["ip", "link", "show", "flannel.1"]).unwrap().contains("flannel.1"));
    pods_reach_each_other(&cluster, &network);
}

const PODS: &str = "apiVersion: apps/v1
kind: DaemonSet
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 0
      tolerations: [{operator: Exists}]
      containers:
      - {name: web, image: \"IMAGE\", args: [netexec, --http-port=8080], readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
";
