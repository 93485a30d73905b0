//! The virtual address of a cluster on machines that exist: how kube-vip is rendered in each of its modes.

use slipway_bootstrap::from_cluster::{Machine, Placement, expand};
use slipway_resource::Value;
use slipway_spec::source::SourceFile;

/// The resources of one control plane whose spec has this endpoint, as addresses and attributes.
fn resources(virtual_ip: &str) -> Vec<(String, Value)> {
    let text = format!(
        "apiVersion: slipway.dev/v1alpha1\nkind: Cluster\nmetadata: {{name: vip}}\nspec:\n  provider: {{name: hosts}}\n  \
         kubernetesVersion: 1.34.4\n  controlPlane:\n    endpoint:\n      virtualIp: {virtual_ip}\n---\n\
         apiVersion: slipway.dev/v1alpha1\nkind: NodePool\nmetadata: {{name: control-plane}}\nspec:\n  \
         role: controlPlane\n  hosts:\n    count: 1\n"
    );
    let loaded = slipway_spec::load::load_files(vec![SourceFile::new("cluster.yaml", text)], &[]);
    let cluster = loaded.clusters.first().unwrap_or_else(|| panic!("{:#?}", loaded.diagnostics));
    let machine = Machine {
        name: "cp-0".to_owned(),
        pool: "control-plane".to_owned(),
        address: "192.0.2.2".parse().unwrap(),
        zone: None,
        region: None,
        node_labels: Default::default(),
        founding: true,
        rejoins: false,
        facts: Default::default(),
        cri_sockets: Vec::new(),
        kubelet_is_named: false,
        programs_from_start: None,
        found: None,
    };
    let placement = Placement { machines: vec![machine], ..Placement::default() };
    let expanded = expand(&cluster.into(), &placement, &[]).unwrap();
    let pairs = expanded.resources.into_iter().map(|one| (one.address.to_string(), one.attributes));
    pairs.filter(|(address, _)| address.contains("kube-vip") || address.contains("wireguard")).collect()
}

#[test]
fn by_arp_one_control_plane_holds_it() {
    let found = resources("{address: 192.0.2.40, interface: eth0}");
    let [(address, pod)] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(address, "static_pod.cp-0/kube-vip");
    let manifest = pod.get("manifest").unwrap().as_str().unwrap();
    assert!(manifest.contains("    - name: vip_arp\n      value: \"true\"\n"), "{manifest}");
    assert!(manifest.contains("    - name: address\n      value: 192.0.2.40\n"), "{manifest}");
}

#[test]
fn by_bgp_routers_are_told_by_every_node() {
    let peers = "{autonomousSystem: 65010, peers: [{address: 192.0.2.1, autonomousSystem: 65001}]}";
    let found =
        resources(&format!("{{address: 198.51.100.40, mode: bgp, image: mirror.test/vip:1, bgp: {peers}}}"));
    let [(_, pod)] = found.as_slice() else { panic!("{found:?}") };
    let manifest = pod.get("manifest").unwrap().as_str().unwrap();
    for variable in [
        "name: bgp_routerid\n      value: 192.0.2.2\n",
        "name: bgp_as\n      value: \"65010\"\n",
        "name: bgp_peers\n      value: 192.0.2.1:65001::false\n",
    ] {
        assert!(manifest.contains(variable), "{variable}{manifest}");
    }
    assert!(manifest.contains("image: mirror.test/vip:1\n"));
}

#[test]
fn by_wireguard_the_tunnels_are_a_secret() {
    let found = resources("{address: 198.51.100.40, mode: wireguard, wireguard: {tunnels: {env: TUNNELS}}}");
    let names: Vec<&str> = found.iter().map(|(address, _)| address.as_str()).collect();
    assert!(names.contains(&"kubernetes_object.DaemonSet/kube-system/kube-vip-ds"), "{names:?}");
    let secret = found.iter().find(|(address, _)| address.ends_with("Secret/kube-system/wireguard"));
    let tunnels = secret.unwrap().1.at(&"manifest.stringData.tunnels".parse().unwrap()).unwrap();
    assert!(matches!(tunnels, Value::Secret(secret) if secret.source == "env:TUNNELS"), "{tunnels:?}");
}
