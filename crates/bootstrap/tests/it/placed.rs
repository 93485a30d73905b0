//! Clusters of specs on machines: those that another tool has made nodes of already, and a cloud controller of the user's.

use std::collections::BTreeMap;

use slipway_bootstrap::from_cluster::{FoundNode, Founder, Machine, Placement, expand, settings_of_proxies};
use slipway_cluster_input::{ClusterInput, Profile};
use slipway_resource::{Desired, Value};
use slipway_spec::source::SourceFile;

fn cluster(further: &str) -> ClusterInput {
    let text = format!(
        "apiVersion: slipway.dev/v1alpha1\nkind: Cluster\nmetadata: {{name: taken}}\nspec:\n  profile: kubeadm\n  \
         provider: {{name: hosts}}\n  kubernetesVersion: 1.34.4\n  controlPlane:\n    endpoint: {{given: {{host: 192.0.2.1}}}}\n\
         {further}---\napiVersion: slipway.dev/v1alpha1\nkind: NodePool\nmetadata: {{name: control-plane}}\nspec:\n  \
         role: controlPlane\n  hosts: {{count: 1}}\n---\napiVersion: slipway.dev/v1alpha1\nkind: NodePool\n\
         metadata: {{name: workers}}\nspec:\n  role: worker\n  hosts: {{count: 1}}\n"
    );
    let loaded = slipway_spec::load::load_files(vec![SourceFile::new("cluster.yaml", text)], &[]);
    loaded.clusters.first().unwrap_or_else(|| panic!("{:#?}", loaded.diagnostics)).into()
}

fn machine(name: &str, last: u8, founding: bool, members: Option<&[(&str, u8)]>) -> Machine {
    let pool = if name.starts_with("worker") { "workers" } else { "control-plane" };
    let founder = |(name, last): &(&str, u8)| Founder {
        name: (*name).to_owned(),
        address: format!("192.0.2.{last}").parse().unwrap(),
    };
    Machine {
        name: name.to_owned(),
        pool: pool.to_owned(),
        address: format!("192.0.2.{last}").parse().unwrap(),
        zone: None,
        region: None,
        node_labels: Default::default(),
        founding,
        rejoins: false,
        facts: Default::default(),
        cri_sockets: Vec::new(),
        kubelet_is_named: false,
        programs_from_start: None,
        found: members.map(|members| FoundNode {
            etcd_members: members.iter().map(founder).collect(),
            ..FoundNode::default()
        }),
    }
}

/// Two control planes, the second of which has joined the first, and a worker; kubeadm has made them all.
fn found() -> Placement {
    let first = [("cp-0", 1)];
    Placement {
        machines: vec![
            machine("cp-0", 1, true, Some(&first)),
            machine("cp-1", 2, false, Some(&[("cp-0", 1), ("cp-1", 2)])),
            machine("worker-0", 3, true, Some(&[])),
        ],
        founders: vec![Founder { name: "cp-0".to_owned(), address: "192.0.2.1".parse().unwrap() }],
        ..Placement::default()
    }
}

fn resources(cluster: &ClusterInput, placement: &Placement) -> BTreeMap<String, Desired> {
    let expanded = expand(cluster, placement, &[]).unwrap();
    expanded.resources.into_iter().map(|one| (one.address.to_string(), one)).collect()
}

fn text<'a>(resources: &'a BTreeMap<String, Desired>, address: &str, attribute: &str) -> &'a str {
    resources[address].attributes.get(attribute).and_then(Value::as_str).unwrap()
}

#[test]
fn nodes_that_are_there_need_nothing_to_join() {
    let cluster = cluster("");
    let resources = resources(&cluster, &found());
    let joining = |name: &&String| name.contains("bootstrap") && !name.contains("kubeadm:");
    assert_eq!(resources.keys().filter(joining).collect::<Vec<_>>(), Vec::<&String>::new());
    assert!(!resources.contains_key("token.join"));
    assert!(!resources.contains_key("directory.worker-0/manifests"));
    for one in resources.values() {
        for other in one.dependencies() {
            assert!(resources.contains_key(&other.to_string()), "{} needs {other}", one.address);
        }
    }
    // Each etcd keeps its initial members.
    let first = text(&resources, "static_pod.cp-0/etcd", "manifest");
    assert!(first.contains("    - --initial-cluster=cp-0=https://192.0.2.1:2380\n"), "{first}");
    assert!(!first.contains("initial-cluster-state"), "{first}");
    let second = text(&resources, "static_pod.cp-1/etcd", "manifest");
    let members = "--initial-cluster=cp-0=https://192.0.2.1:2380,cp-1=https://192.0.2.2:2380\n";
    assert!(second.contains(members) && second.contains("--initial-cluster-state=existing\n"), "{second}");
    // kubeadm leaves the address to the kubelet.
    assert!(!text(&resources, "file.worker-0/kubelet-flags", "content").contains("node-ip"));
}

#[test]
fn who_joins_them_gets_a_token() {
    let cluster = cluster("");
    let mut placement = found();
    placement.machines.push(machine("worker-1", 4, false, None));
    let resources = resources(&cluster, &placement);
    assert!(resources.contains_key("token.join"));
    assert!(resources.contains_key("kubeconfig.worker-1/bootstrap-kubelet"));
    assert!(!resources.contains_key("kubeconfig.worker-0/bootstrap-kubelet"));
}

#[test]
fn proxies_stay_until_their_settings_change() {
    let cluster = cluster("");
    let mut placement = found();
    let marked = |placement: &Placement| {
        let proxies = &resources(&cluster, placement)["kubernetes_object.DaemonSet/kube-system/kube-proxy"];
        proxies.attributes.to_json().to_string().contains("slipway.dev/configuration")
    };
    assert!(marked(&placement));
    let expanded = expand(&cluster, &placement, &[]).unwrap();
    let digest = settings_of_proxies(&expanded.resources).unwrap();
    placement.proxies_found = Some(digest.as_str().to_owned());
    assert!(!marked(&placement));
    placement.proxies_found = Some("sha256:other".to_owned());
    assert!(marked(&placement));
}

#[test]
fn kubelets_wait_for_a_cloud_controller_of_the_users() {
    let plain = resources(&cluster(""), &found());
    let external = "  components:\n    kubelet: {extraArgs: {cloud-provider: external}}\n";
    let waiting = resources(&cluster(external), &found());
    let flag = "--cloud-provider=external";
    for (resources, wanted) in [(&plain, false), (&waiting, true)] {
        let kubelet = text(resources, "file.worker-0/kubelet-flags", "content");
        let manager = text(resources, "static_pod.cp-0/kube-controller-manager", "manifest");
        assert_eq!((kubelet.contains(flag), manager.contains(flag)), (wanted, wanted));
    }
}

#[test]
fn nodes_are_labelled_with_where_their_machines_stand() {
    let (zone, region) = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region");
    let mut placement = Placement {
        machines: vec![machine("cp-0", 1, true, None), machine("worker-0", 3, true, None)],
        ..Placement::default()
    };
    for machine in &mut placement.machines {
        machine.zone = Some("a".to_owned());
        machine.region = Some("north".to_owned());
        machine.node_labels = BTreeMap::from([("example.com/rack".to_owned(), "r1".to_owned())]);
    }
    let mut cluster = cluster("");
    for pool in &mut cluster.pools {
        let labels = [("example.com/rack", "none"), ("example.com/tier", "general")];
        pool.node_labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    }
    for profile in [Profile::Slipway, Profile::Kubeadm] {
        cluster.profile = profile;
        let resources = resources(&cluster, &placement);
        for name in ["cp-0", "worker-0"] {
            let labels = resources[&format!("kubernetes_node.{name}")].attributes.get("labels").unwrap();
            let label = |key: &str| labels.get(key).and_then(Value::as_str);
            // A machine's own label takes precedence over that of its pool.
            assert_eq!(label("example.com/rack"), Some("r1"));
            assert_eq!(label("example.com/tier"), Some("general"));
            // kubeadm does not set the location of a node.
            let told = (profile == Profile::Slipway).then_some(("a", "north"));
            assert_eq!(label(zone).zip(label(region)), told, "{name}: {profile:?}");
        }
    }
}
