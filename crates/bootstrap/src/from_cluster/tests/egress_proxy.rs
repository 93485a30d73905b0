//! The proxy of the spec on machines.

use slipway_cluster_input::EgressProxy;

use super::*;
use crate::expand::InitSystem;

fn proxied(exclusions: &[&str]) -> ClusterInput {
    let mut cluster = cluster("elected: {}");
    cluster.egress_proxy = Some(EgressProxy {
        url: "http://proxy.example.com:3128/100%25".to_owned(),
        exclusions: exclusions.iter().map(|name| (*name).to_owned()).collect(),
    });
    cluster.pools[0].packages = vec!["htop".to_owned()];
    cluster
}

fn text(resources: &[Desired], address: &str, name: &str) -> String {
    find(resources, address).attributes.get(name).unwrap().to_plain_text()
}

#[test]
fn components_and_the_runtime_get_the_proxy_and_reach_the_cluster_without_it() {
    let resources = expand(&proxied(&["registry.example.com"]), &placement(3), &[]).unwrap().resources;
    let content = text(&resources, "file.cp-1/egress-proxy", "content");
    assert!(
        content.contains("Environment=\"HTTPS_PROXY=http://proxy.example.com:3128/100%%25\"\n"),
        "{content}"
    );
    let direct = content.lines().find(|line| line.contains("NO_PROXY=")).unwrap();
    for name in ["registry.example.com", "localhost", ".svc", ".cluster.local", "192.0.2.10", "192.0.2.12"] {
        assert!(direct.contains(name), "{name} in {direct}");
    }
    assert_eq!(
        text(&resources, "file.cp-1/egress-proxy", "path"),
        "/etc/systemd/system/containerd.service.d/21-slipway-egress-proxy.conf"
    );
    let pod = format!("{:?}", find(&resources, "static_pod.cp-0/kube-apiserver").attributes);
    assert!(pod.contains("HTTPS_PROXY") && pod.contains("proxy.example.com:3128"), "{pod}");
    let restarts = "service.cp-1/slipway-egress-proxy";
    let mark =
        content.lines().find_map(|line| line.strip_prefix("Environment=SLIPWAY_EGRESS_PROXY=")).unwrap();
    assert!(text(&resources, restarts, "unit").contains(mark), "{content}");
    assert!(stands_on(&resources, restarts).contains("file.cp-1/egress-proxy"));
    let packages = "service.cp-1/slipway-packages";
    assert!(text(&resources, packages, "unit").contains("HTTP_PROXY=http://proxy.example.com:3128"));
    assert!(stands_on(&resources, packages).contains(restarts));
    assert!(stands_on(&resources, "service.cp-1/kubelet").contains(restarts));
}

#[test]
fn machines_in_an_excluded_range_are_not_named() {
    let content = |placement: &Placement| {
        let resources = expand(&proxied(&["192.0.2.0/24"]), placement, &[]).unwrap().resources;
        text(&resources, "file.cp-0/egress-proxy", "content")
    };
    let mut elected = placement(3);
    let all = content(&elected);
    elected.machines.pop();
    assert_eq!(content(&elected), all, "a machine less changes the variables of others");
}

#[test]
fn a_cluster_without_a_proxy_has_none_and_machines_need_systemd_for_one() {
    let resources = expand(&cluster("elected: {}"), &placement(3), &[]).unwrap().resources;
    assert!(resources.iter().all(|desired| !desired.address.name().ends_with("egress-proxy")));
    let mut placement = placement(3);
    placement.machines[1].facts.init_system = InitSystem::None;
    assert_eq!(expand(&proxied(&[]), &placement, &[]).unwrap_err().code(), "CLUSTER0005");
}
