//! Users of a cluster: pods on different nodes reach each other, Services have addresses and names, and
//! kubectl reaches all of them. The plan that created the cluster installed the pod network.

use std::path::Path;

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use slipway_testkit::Hosts;
use slipway_testkit::image::AGNHOST;
use slipway_testkit::wait::until;

/// Asks through a port that kubectl forwards, until the server answers.
const FORWARD: &str = r#""$@" & forward=$!
trap 'kill $forward' EXIT
until curl --silent --fail --max-time 5 http://127.0.0.1:18080/hostname; do
  kill -0 $forward || exit 1
  sleep 0.2
done"#;

#[test]
#[ignore = "needs root and namespaces"]
fn pods_reach_each_other_services_and_names_through_what_the_plan_installed() -> Result<()> {
    let program = Path::new(env!("CARGO_BIN_EXE_slipway-under-test"));
    let hosts = Hosts::new(program, "hosts-ha", &["cp-0", "worker-0"])?;
    hosts.edit("size: { fixed: 3 }", "size: { fixed: 1 }")?;
    hosts.edit("size: { fixed: 2 }", "size: { fixed: 1 }")?;
    let plan = hosts.expect(2, &["plan", "-f", "spec"])?;
    ensure!(plan.contains("kubernetes_object.DaemonSet/kube-flannel/kube-flannel-ds"), "{plan}");
    hosts.expect(0, &["apply", "-f", "spec", "--yes"])?;
    let kubeconfig = hosts.kubeconfig("hosts-ha")?;
    let kubectl = |arguments: &[&str]| hosts.ask(&kubeconfig, arguments);
    let objects = [
        pod("client", "cp-0", &["netexec", "--http-port=8080"]),
        pod("server", "worker-0", &["netexec", "--http-port=8080"]),
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": { "name": "server" },
            "spec": { "selector": { "name": "server" }, "ports": [{ "port": 80, "targetPort": 8080 }] },
        }),
    ];
    let file = hosts.file("../pods.json");
    std::fs::write(&file, json!({ "apiVersion": "v1", "kind": "List", "items": objects }).to_string())?;
    kubectl(&["apply", "-f", &file.display().to_string()])?;
    kubectl(&["wait", "--for=condition=Ready", "pod", "--all", "--timeout=180s"])?;
    kubectl(&["-n", "kube-system", "rollout", "status", "deployment/coredns", "--timeout=180s"])?;

    let get = |what: &str, path: &str| kubectl(&["get", what, "-o", &format!("jsonpath={{{path}}}")]);
    let (client, server) = (get("pod/client", ".status.podIP")?, get("pod/server", ".status.podIP")?);
    let range = |address: &str| address.rsplit_once('.').map(|(range, _)| range.to_owned());
    ensure!(range(&client) != range(&server), "{client} and {server} are of the same node");
    let service = get("service/server", ".spec.clusterIP")?;
    // From each node to the pod on the other, to the Service, and by the Service's names.
    for (from, url, answer) in [
        ("client", format!("{server}:8080"), "server"),
        ("server", format!("{client}:8080"), "client"),
        ("client", service.clone(), "server"),
        ("client", "server".to_owned(), "server"),
        ("client", "server.default.svc.cluster.local".to_owned(), "server"),
        ("server", "server.default.svc".to_owned(), "server"),
    ] {
        let url = format!("http://{url}/hostname");
        // kube-proxy programs Services in its own time.
        let said = until(&format!("{from} reaches {url}"), || {
            Ok(kubectl(&["exec", from, "--", "curl", "--silent", "--fail", "--max-time", "5", &url]).ok())
        })?;
        ensure!(said == answer, "{from} asks {url}: {said}");
    }
    let looked_up = kubectl(&["exec", "client", "--", "dig", "+short", "server.default.svc.cluster.local"])?;
    ensure!(looked_up.trim() == service, "{looked_up} is not {service}");

    let logs = kubectl(&["logs", "server"])?;
    ensure!(logs.contains("GET /hostname"), "{logs}");
    let nodes = kubectl(&["get", "nodes", "--no-headers"])?;
    ensure!(nodes.lines().count() == 2 && nodes.lines().all(|line| line.contains(" Ready ")), "{nodes}");
    let forward = hosts.kubectl(&kubeconfig, &["port-forward", "pod/server", "18080:8080"])?;
    // The arguments before `--` enter the network, which is done once already.
    let words = forward.get_args().skip_while(|word| *word != "--").skip(1);
    let words = ["bash", "-c", FORWARD, "bash"].iter().map(std::ffi::OsStr::new).chain(words);
    let output = hosts.network().run(words)?;
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(said.ends_with("server"), "{said}{}", String::from_utf8_lossy(&output.stderr));

    hosts.expect(0, &["plan", "-f", "spec"])?;
    Ok(())
}

/// A pod on a node of the test's choice, whatever the node is for.
fn pod(name: &str, node: &str, arguments: &[&str]) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name, "labels": { "name": name } },
        "spec": {
            "nodeName": node,
            "tolerations": [{ "operator": "Exists" }],
            "terminationGracePeriodSeconds": 0,
            "containers": [{ "name": "main", "image": AGNHOST, "args": arguments, "imagePullPolicy": "IfNotPresent" }],
        },
    })
}
