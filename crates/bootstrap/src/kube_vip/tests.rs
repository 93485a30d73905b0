use super::*;
use slipway_resource::Secret;

fn kube_vip(mode: Mode) -> KubeVip {
    KubeVip {
        image: DEFAULT_IMAGE.to_owned(),
        address: "192.0.2.40".to_owned(),
        port: 6443,
        interface: Some("eth0".to_owned()),
        mode,
    }
}

fn variable<'a>(pod: &'a Value, name: &str) -> Option<&'a str> {
    let variables = pod["spec"]["containers"][0]["env"].as_array()?;
    variables.iter().find(|variable| variable["name"] == name)?["value"].as_str()
}

#[test]
fn one_of_the_control_planes_holds_the_address() {
    let vip = kube_vip(Mode::Arp);
    let pod = vip.static_pod(true).unwrap();
    assert_eq!(variable(&pod, "vip_arp"), Some("true"));
    assert_eq!(variable(&pod, "vip_leaderelection"), Some("true"));
    assert_eq!(variable(&pod, "address"), Some("192.0.2.40"));
    assert_eq!(variable(&pod, "vip_subnet"), Some("32"));
    assert!(vip.objects().is_empty());
}

#[test]
fn all_control_planes_announce_it() {
    let peer =
        |address: &str| Peer { address: address.to_owned(), autonomous_system: 65001, multihop: false };
    let pod = kube_vip(Mode::Bgp(Bgp {
        router_id: "192.0.2.2".to_owned(),
        autonomous_system: 65000,
        peers: vec![peer("192.0.2.10"), peer("fd00::10")],
    }))
    .static_pod(true)
    .unwrap();
    assert_eq!(variable(&pod, "bgp_peers"), Some("192.0.2.10:65001::false,[fd00::10]:65001::false"));
    assert_eq!(variable(&pod, "vip_leaderelection"), None);
}

#[test]
fn tunnels_are_a_secret_for_pods_in_networks_of_their_own() {
    let settings = Attribute::from(Secret::new("env:TUNNELS"));
    let vip = kube_vip(Mode::Wireguard(settings.clone()));
    assert!(vip.static_pod(true).is_none());
    let objects = vip.objects();
    let secret = objects.last().unwrap();
    assert_eq!(secret.at(&"stringData.tunnels".parse().unwrap()), Some(&settings));
    let pod = objects[3].at(&"spec.template.spec".parse().unwrap()).unwrap();
    assert_eq!(pod.get("hostNetwork").unwrap().as_bool(), Some(false));
}
