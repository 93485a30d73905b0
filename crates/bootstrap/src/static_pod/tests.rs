use super::*;
use crate::configuration::{Argument, Detected, Etcd, LocalEtcd};

fn configuration() -> Configuration {
    let detected = Detected {
        hostname: "cp0".to_owned(),
        address: "192.0.2.10".parse().unwrap(),
        ..Detected::default()
    };
    let mut configuration = Configuration::new(&detected);
    configuration.cluster.networking.pod_subnet = "10.244.0.0/16".to_owned();
    configuration
}

#[test]
fn older_etcd_has_its_older_flags() {
    let mut older = configuration();
    older.cluster.kubernetes_version = "1.33.0".parse().unwrap();
    let command = etcd(&older, &InitialCluster::New)["spec"]["containers"][0]["command"].to_string();
    assert!(command.contains("--experimental-initial-corrupt-check=true"), "{command}");
    assert!(!command.contains("feature-gates"), "{command}");
}

#[test]
fn a_member_that_joins_names_all_members() {
    let member = |name: &str, ip: &str| Member { name: name.to_owned(), peer_url: etcd::url(ip, 2380) };
    let initial = InitialCluster::Existing(vec![member("a", "192.0.2.1"), member("b", "fd00::1")]);
    let command = etcd(&configuration(), &initial)["spec"]["containers"][0]["command"].to_string();
    assert!(
        command.contains("--initial-cluster=a=https://192.0.2.1:2380,b=https://[fd00::1]:2380"),
        "{command}"
    );
    assert!(command.contains("--initial-cluster-state=existing"), "{command}");
}

#[test]
fn probes_follow_the_users_metrics() {
    let mut other = configuration();
    let extra_args = vec![Argument::new("listen-metrics-urls", "https://[::]:9999,http://10.0.0.1:1")];
    other.cluster.etcd = Etcd::Local(LocalEtcd { extra_args, ..LocalEtcd::default() });
    let pod = etcd(&other, &InitialCluster::New);
    let container = &pod["spec"]["containers"][0];
    assert_eq!(container["ports"][0]["containerPort"], 9999);
    assert_eq!(container["livenessProbe"]["httpGet"]["host"], "::");
    assert_eq!(container["livenessProbe"]["httpGet"]["scheme"], "HTTPS");
}
