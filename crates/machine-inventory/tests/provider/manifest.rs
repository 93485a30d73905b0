//! The manifest, and the rules of the definitions.

use std::fs;
use std::process::Command;

use http::Method;
use serde_json::{Value as Json, json};

use crate::lab::{INFRASTRUCTURE, Lab, path};
use crate::objects::{ELEMENTAL_CLUSTER, ELEMENTAL_MACHINE, ELEMENTAL_MACHINE_TEMPLATE, Space};

pub fn applied(lab: &Lab) {
    let again = lab.install();
    assert!(again.lines().count() > 12, "{again}");
    assert!(again.lines().all(|line| line.ends_with("serverside-applied")), "{again}");
    for name in ["elementalclusters", "elementalmachines", "elementalhosts", "elementalregistrations"] {
        let definition =
            lab.kubectl(&["get", "crd", &format!("{name}.infrastructure.cluster.x-k8s.io"), "--output=json"]);
        let definition: Json = serde_json::from_str(&definition).unwrap();
        let conditions = definition["status"]["conditions"].as_array().unwrap();
        assert!(!conditions.iter().any(|one| one["type"] == "NonStructuralSchema"), "{conditions:?}");
        assert_eq!(definition["metadata"]["labels"]["cluster.x-k8s.io/v1beta2"], "v1beta1");
        assert_eq!(definition["metadata"]["labels"]["cluster.x-k8s.io/v1beta1"], "v1beta1");
    }
}

pub fn templated(lab: &Lab) {
    let space = Space::new(lab, "templated");
    let folder = lab.folder.path().join("repository");
    let arguments = ["manifest", "--image=registry.example.com/inventory:1", "--clusterctl"];
    let program = env!("CARGO_BIN_EXE_slipway-machine-inventory");
    let output = Command::new(program).args(arguments).arg(&folder).output().unwrap();
    assert!(output.status.success());
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(
        printed.contains("name: elemental") && printed.contains("type: InfrastructureProvider"),
        "{printed}"
    );
    let template = folder.join("infrastructure-elemental/v0.1.0/cluster-template.yaml");
    // Its variables are replaced as clusterctl does it.
    let mut text = fs::read_to_string(template).unwrap();
    for (name, value) in
        [("CLUSTER_NAME", "demo"), ("NAMESPACE", &space.name), ("KUBERNETES_VERSION", "v1.34.4")]
    {
        text = text.replace(&format!("${{{name}}}"), value);
    }
    while let Some((before, after)) = text.split_once("${") {
        let (variable, after) = after.split_once('}').unwrap();
        let (_, default) = variable.split_once(":=").unwrap();
        text = format!("{before}{default}{after}");
    }
    let file = lab.folder.path().join("cluster.yaml");
    fs::write(&file, text).unwrap();
    let applied = lab.kubectl(&["apply", "--server-side", "--filename", file.to_str().unwrap()]);
    assert_eq!(applied.lines().count(), 7, "{applied}");
    let cluster = space.get(ELEMENTAL_CLUSTER, "demo").unwrap();
    assert_eq!(cluster["spec"]["controlPlaneEndpoint"], json!({"host": "", "port": 6443}));
}

pub fn validated(lab: &Lab) {
    let space = Space::new(lab, "validated");
    let refused = |kind: &str, spec: Json| {
        lab.refusal(&json!({"apiVersion": INFRASTRUCTURE, "kind": kind,
            "metadata": {"name": "a", "namespace": space.name}, "spec": spec}))
    };
    let text = refused("ElementalCluster", json!({"controlPlaneEndpoint": {"host": "10.0.0.1"}}));
    assert!(text.contains("port is required with host"), "{text}");
    let text = refused("ElementalCluster", json!({"controlPlaneEndpoint": {"host": "a", "port": 70000}}));
    assert!(text.contains("65535"), "{text}");
    let text = refused("ElementalCluster", json!({"endpointElection": {"addressTypes": ["Loopback"]}}));
    assert!(text.contains("Unsupported value"), "{text}");
    let text = refused(
        "ElementalMachine",
        json!({"selector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}),
    );
    assert!(text.contains("Unsupported value"), "{text}");
    let text = refused("ElementalMachine", json!({"hostSelector": {}}));
    assert!(text.contains("unknown field"), "{text}");

    space.create(ELEMENTAL_MACHINE, "a", json!({"spec": {"providerID": "elemental://a/b"}}));
    let other = json!({"spec": {"providerID": "elemental://a/c"}});
    assert_eq!(lab.request(Method::PATCH, &space.path(ELEMENTAL_MACHINE, "a"), Some(&other)), Err(422));

    // The topology controller of Cluster API asks with a dry run whether a template would change.
    let template = space.create(
        ELEMENTAL_MACHINE_TEMPLATE,
        "a",
        json!({"spec": {"template": {"spec": {"selector": {}}}}}),
    );
    let mut changed = template;
    changed["spec"]["template"]["spec"]["selector"] = json!({"matchLabels": {"a": "b"}});
    changed["metadata"] = json!({"name": "a", "namespace": space.name,
        "annotations": {"topology.cluster.x-k8s.io/dry-run": ""}});
    let file = lab.folder.path().join("template.json");
    fs::write(&file, changed.to_string()).unwrap();
    let dry = lab.kubectl(&[
        "apply",
        "--server-side",
        "--force-conflicts",
        "--dry-run=server",
        "--output=json",
        "--filename",
        file.to_str().unwrap(),
    ]);
    assert!(dry.contains("matchLabels"), "{dry}");
    let kept = lab
        .request(Method::GET, &path(INFRASTRUCTURE, &space.name, "elementalmachinetemplates", "a"), None)
        .unwrap();
    assert_eq!(kept["spec"]["template"]["spec"]["selector"], json!({}));
}
