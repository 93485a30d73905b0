use super::*;
use crate::configuration::{Detected, Taint};
use crate::expand::Facts;
use crate::patch::Patches;
use serde_json::json;
use slipway_cluster_input::Profile;

fn node() -> (Configuration, Facts) {
    let detected = Detected { hostname: "n0".to_owned(), ..Detected::default() };
    let facts = Facts { hostname: "n0".to_owned(), ..Facts::default() };
    (Configuration::new(&detected), facts)
}

#[test]
fn what_is_generated_has_the_hash_that_kubeadm_gives_it() {
    let (configuration, facts) = node();
    let text = config_map_text(&configuration, &facts);
    assert_eq!(
        crate::objects::hash([text.as_str()]),
        "sha256:26488e9fc7c5cb5fdda9996cda2e6651a9af5febce07ea02de11bd3ef3f49e9c"
    );
}

#[test]
fn the_users_settings_are_written_as_kubernetes_has_them() {
    let (mut configuration, mut facts) = node();
    let user = json!({"syncFrequency": "90s", "clusterDNS": ["10.0.0.2"], "maxPods": 0, "seccompDefault": false,
        "authentication": {"webhook": {"cacheTTL": "120s"}}, "logging": {"flushFrequency": "90s"}});
    configuration.kubelet = user.as_object().cloned();
    facts.systemd_resolved = true;
    let text = config_file(&configuration, &facts, &Patches::default()).unwrap();
    for line in [
        "syncFrequency: 1m30s\n",
        "clusterDNS:\n- 10.0.0.2\n",
        "seccompDefault: false\n",
        "    cacheTTL: 2m0s\n",
        "  flushFrequency: 1m30s\n",
        "resolvConf: /run/systemd/resolve/resolv.conf\n",
        "containerRuntimeEndpoint: unix:///var/run/containerd/containerd.sock\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
    assert!(!text.contains("maxPods"), "{text}");
}

#[test]
fn flags_say_what_the_node_is() {
    let (mut configuration, mut facts) = node();
    assert_eq!(
        flags_file(&configuration, &facts),
        "KUBELET_KUBEADM_ARGS=\"--pod-infra-container-image=registry.k8s.io/pause:3.10.1\"\n"
    );
    facts.hostname = "other".to_owned();
    configuration.node.kubelet_extra_args = vec![Argument::new("node-labels", "a=\"b\"")];
    configuration.node.taints =
        Some(vec![Taint { key: "k".to_owned(), value: "v".to_owned(), effect: "NoSchedule".to_owned() }]);
    configuration.cluster.feature_gates.insert("NodeLocalCRISocket".to_owned(), false);
    assert_eq!(
        flags_file(&configuration, &facts),
        "KUBELET_KUBEADM_ARGS=\"--container-runtime-endpoint=unix:///var/run/containerd/containerd.sock \
         --hostname-override=n0 --pod-infra-container-image=registry.k8s.io/pause:3.10.1 --node-labels=a=\\\"b\\\"\"\n"
    );
    assert!(instance_config(&configuration).is_none());
}

#[test]
fn a_cloud_controller_of_its_own_is_waited_for() {
    let (mut configuration, facts) = node();
    use_external_cloud_provider(&mut configuration);
    use_external_cloud_provider(&mut configuration);
    let flags = arguments(&configuration, &facts);
    assert_eq!(flags.iter().filter(|flag| *flag == "--cloud-provider=external").count(), 1);
    assert_eq!(configuration.cluster.controller_manager.extra_args.len(), 1);
}

#[test]
fn serving_certificates_are_asked_for_by_default() {
    let (mut configuration, facts) = node();
    assert!(!config_map_text(&configuration, &facts).contains("serverTLSBootstrap"));
    configuration.profile = Profile::Slipway;
    assert!(config_map_text(&configuration, &facts).contains("serverTLSBootstrap: true\n"));
}
