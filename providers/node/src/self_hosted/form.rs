//! The two forms of a component's manifest while a DaemonSet runs it: the pod for the kubelet's folder, and the DaemonSet.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};
use slipway_resource::{Digest, ProviderError};

use crate::error::invalid;

/// Lets several processes listen on one port (`SO_REUSEPORT`): one pod begins before the other one ends.
const PORT_SHARING: &str = "--permit-port-sharing=true";

/// The label with the component of a self-hosted pod.
pub(super) const COMPONENT: &str = "slipway.dev/self-hosted";

/// The label with its node.
const NODE: &str = "slipway.dev/self-hosted-on";

/// The annotation with the revision of a pod.
pub(crate) const REVISION: &str = "slipway.dev/revision";

const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];

/// The revision of a pod: another manifest has another one, and the same manifest with other inputs too.
///
/// # Errors
/// Never for texts.
pub(crate) fn revision_of(manifest: &str, inputs: &str) -> Result<String, ProviderError> {
    let digest = Digest::of(&(manifest, inputs)).map_err(|error| invalid(error.to_string()))?;
    Ok(digest.as_str().to_owned())
}

/// The manifest for the kubelet's folder: a pod that lets the self-hosted one listen beside it.
///
/// # Errors
/// When the manifest is not the YAML of a pod.
pub(crate) fn shared(manifest: &str) -> Result<String, ProviderError> {
    serde_yaml::to_string(&sharing(manifest)?).map_err(|error| invalid(format!("manifest: {error}")))
}

/// The name of the DaemonSet of a component on a node.
pub(crate) fn daemon_set_name(component: &str, node: &str) -> String {
    format!("{component}-{node}")
}

/// The DaemonSet that runs the pod of a manifest on one node, and is deleted with it.
///
/// The pod names its node, so that it starts without a scheduler. It has no ports: the kubelet does not run two pods with the same
/// port of the host. It reads files of the host only, and nothing of the API.
///
/// # Errors
/// When the manifest is not the YAML of a pod with a name.
pub(crate) fn daemon_set(
    manifest: &str,
    (node, node_uid): (&str, &str),
    revision: &str,
) -> Result<Json, ProviderError> {
    let pod = sharing(manifest)?;
    let text = |pointer: &str| pod.pointer(pointer).and_then(Json::as_str).unwrap_or_default().to_owned();
    let (component, namespace) = (text("/metadata/name"), text("/metadata/namespace"));
    let map = |pointer: &str| pod.pointer(pointer).and_then(Json::as_object).cloned().unwrap_or_default();
    let mut selected = Map::new();
    selected.insert(COMPONENT.to_owned(), component.clone().into());
    selected.insert(NODE.to_owned(), node.into());
    let mut labels = map("/metadata/labels");
    labels.extend(selected.clone());
    let mut annotations = map("/metadata/annotations");
    annotations.insert(REVISION.to_owned(), revision.into());
    Ok(json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {
            "name": daemon_set_name(&component, node),
            "namespace": namespace,
            "labels": labels,
            "annotations": {REVISION: revision},
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": node, "uid": node_uid}],
        },
        "spec": {
            "selector": {"matchLabels": selected},
            "updateStrategy": {"type": "RollingUpdate"},
            "template": {
                "metadata": {"labels": labels, "annotations": annotations},
                "spec": pod_spec(map("/spec"), node),
            },
        },
    }))
}

/// The specification of a static pod for a pod of a DaemonSet.
fn pod_spec(mut spec: Map<String, Json>, node: &str) -> Map<String, Json> {
    // The priority is that of its class.
    spec.remove("priority");
    for (key, value) in [
        ("nodeName", Json::from(node)),
        ("automountServiceAccountToken", false.into()),
        ("enableServiceLinks", false.into()),
        ("tolerations", json!([{"operator": "Exists"}])),
    ] {
        spec.insert(key.to_owned(), value);
    }
    spec.entry("dnsPolicy").or_insert_with(|| "Default".into());
    for container in spec.get_mut("containers").and_then(Json::as_array_mut).into_iter().flatten() {
        without_ports(container);
    }
    spec
}

/// Removes the ports of a container, and writes their numbers where probes have their names.
fn without_ports(container: &mut Json) {
    let Some(container) = container.as_object_mut() else { return };
    let ports = container.remove("ports");
    let ports = ports.as_ref().and_then(Json::as_array).into_iter().flatten();
    let numbers: BTreeMap<String, Json> = ports
        .filter_map(|port| Some((port.get("name")?.as_str()?.to_owned(), port.get("containerPort")?.clone())))
        .collect();
    for probe in PROBES {
        let Some(probe) = container.get_mut(probe) else { continue };
        for action in ["httpGet", "tcpSocket"] {
            let Some(port) = probe.get_mut(action).and_then(|action| action.get_mut("port")) else {
                continue;
            };
            if let Some(number) = port.as_str().and_then(|name| numbers.get(name)) {
                *port = number.clone();
            }
        }
    }
}

/// The pod of a manifest, whose component lets others listen on its port.
fn sharing(manifest: &str) -> Result<Json, ProviderError> {
    let mut pod: Json =
        serde_yaml::from_str(manifest).map_err(|error| invalid(format!("manifest: {error}")))?;
    let name = pod.pointer("/metadata/name").and_then(Json::as_str).unwrap_or_default().to_owned();
    if name.is_empty() {
        return Err(invalid("manifest: it is not the YAML of a pod with a name"));
    }
    let containers = pod.pointer_mut("/spec/containers").and_then(Json::as_array_mut);
    for container in containers.into_iter().flatten() {
        if container.get("name").and_then(Json::as_str) != Some(name.as_str()) {
            continue;
        }
        // The last flag of a name counts.
        let field = if container.get("args").is_some_and(Json::is_array) { "args" } else { "command" };
        let Some(words) = container.get_mut(field).and_then(Json::as_array_mut) else { continue };
        if words.last().and_then(Json::as_str) != Some(PORT_SHARING) {
            words.push(PORT_SHARING.into());
        }
    }
    Ok(pod)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "\
apiVersion: v1
kind: Pod
metadata:
  annotations: {example.com/note: kept}
  labels: {component: kube-apiserver, tier: control-plane}
  name: kube-apiserver
  namespace: kube-system
spec:
  containers:
  - name: kube-apiserver
    image: kube-apiserver:v1
    command: [kube-apiserver, --secure-port=6443]
    ports: [{containerPort: 6443, name: probe-port, protocol: TCP}]
    livenessProbe: {httpGet: {path: /livez, port: probe-port}}
    startupProbe: {httpGet: {path: /livez, port: 6443}}
  - name: helper
    command: [helper]
  hostNetwork: true
  priority: 2000001000
  priorityClassName: system-node-critical
status: {}
";

    #[test]
    fn the_pod_of_a_file_shares_its_port() {
        let text = shared(MANIFEST).unwrap();
        let pod: Json = serde_yaml::from_str(&text).unwrap();
        let command = &pod["spec"]["containers"][0]["command"];
        assert_eq!(*command, json!(["kube-apiserver", "--secure-port=6443", PORT_SHARING]));
        assert_eq!(pod["spec"]["containers"][1]["command"], json!(["helper"]));
        assert_eq!(pod["spec"]["containers"][0]["ports"][0]["containerPort"], 6443);
        assert_eq!(shared(&text).unwrap(), text);
        assert!(shared("kind: Pod\n").is_err());
    }

    #[test]
    fn the_pod_of_a_daemon_set_needs_no_scheduler_and_nothing_of_the_api() {
        let object = daemon_set(MANIFEST, ("cp-0", "uid-of-node"), "one").unwrap();
        assert_eq!(object["metadata"]["name"], "kube-apiserver-cp-0");
        assert_eq!(object["metadata"]["ownerReferences"][0]["uid"], "uid-of-node");
        let template = &object["spec"]["template"];
        let labels = template["metadata"]["labels"].as_object().unwrap();
        for (key, value) in object["spec"]["selector"]["matchLabels"].as_object().unwrap() {
            assert_eq!(labels.get(key), Some(value));
        }
        assert_eq!(labels["component"], "kube-apiserver");
        assert_eq!(template["metadata"]["annotations"][REVISION], "one");
        assert_eq!(template["metadata"]["annotations"]["example.com/note"], "kept");
        let spec = &template["spec"];
        assert_eq!(spec["nodeName"], "cp-0");
        assert_eq!(spec["automountServiceAccountToken"], false);
        assert_eq!(spec["priorityClassName"], "system-node-critical");
        assert!(spec.get("priority").is_none());
        let container = &spec["containers"][0];
        assert!(container.get("ports").is_none());
        assert_eq!(container["livenessProbe"]["httpGet"]["port"], 6443);
        assert_eq!(container["startupProbe"]["httpGet"]["port"], 6443);
    }

    #[test]
    fn inputs_are_part_of_the_revision() {
        let one = revision_of(MANIFEST, "one").unwrap();
        assert_eq!(revision_of(MANIFEST, "one").unwrap(), one);
        assert_ne!(revision_of(MANIFEST, "two").unwrap(), one);
        assert_ne!(revision_of("", "one").unwrap(), one);
    }
}
