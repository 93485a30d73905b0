use super::flannel::{Flannel, flannel};
use super::*;
use crate::configuration::{Configuration, Detected};
use crate::expand::Facts;
use crate::objects::HASH_ANNOTATION;

#[test]
fn flannel_takes_the_pods_ranges() {
    let ranges = ["10.244.0.0/16".parse().unwrap(), "fd00:244::/56".parse().unwrap()];
    let objects = flannel(&Flannel { plugin_image: None, ..Flannel::default() }, &ranges);
    let kinds: Vec<&str> = objects.iter().filter_map(|object| object["kind"].as_str()).collect();
    assert_eq!(
        kinds,
        ["Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "ConfigMap", "DaemonSet"]
    );
    let network: serde_json::Value =
        serde_json::from_str(objects[4]["data"]["net-conf.json"].as_str().unwrap()).unwrap();
    assert_eq!(network["Network"], "10.244.0.0/16");
    assert_eq!(network["IPv6Network"], "fd00:244::/56");
    let pod = &objects[5]["spec"]["template"]["spec"];
    assert_eq!(pod["initContainers"].as_array().unwrap().len(), 1);
    assert!(pod["volumes"].as_array().unwrap().iter().all(|volume| volume["name"] != "cni-plugin"));
}

#[test]
fn only_what_is_generated_has_a_hash() {
    let mut configuration = Configuration::new(&Detected::default());
    let hashed =
        |objects: &[serde_json::Value]| objects[0]["metadata"]["annotations"].get(HASH_ANNOTATION).is_some();
    assert!(hashed(&kube_proxy(&configuration, &Facts::default())));
    configuration.kube_proxy = serde_json::json!({"mode": "nftables"}).as_object().cloned();
    let objects = kube_proxy(&configuration, &Facts::default());
    assert!(!hashed(&objects));
    assert!(objects[0]["data"]["config.conf"].as_str().unwrap().contains("\nmode: nftables\n"));
}
