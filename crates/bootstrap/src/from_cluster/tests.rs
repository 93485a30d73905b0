mod authorities;
mod balancer;
mod egress_proxy;
mod emulation;
mod etcd;
mod hooks;
mod images;
mod keys;
mod kubelets;
mod mirrors;
mod programs;

use std::collections::BTreeSet;

use slipway_cluster_input::{ClusterInput, Hosting};
use slipway_resource::{Address, Desired, Turn, Value};
use slipway_spec::source::SourceFile;

use super::{Founder, Machine, Placement, RotatedKey, Rotation, Stage, endpoint, expand};

fn cluster(wanted: &str) -> ClusterInput {
    with_pool(wanted, "")
}

/// The same with another document.
fn with_pool(wanted: &str, more: &str) -> ClusterInput {
    let text = format!(
        "apiVersion: slipway.dev/v1alpha1\nkind: Cluster\nmetadata: {{name: demo}}\nspec:\n  provider: {{name: hosts}}\n  \
         kubernetesVersion: 1.34.4\n  controlPlane:\n    endpoint: {{ {wanted} }}\n---\n\
         apiVersion: slipway.dev/v1alpha1\nkind: NodePool\nmetadata: {{name: control-plane}}\nspec:\n  \
         role: controlPlane\n  size: {{ fixed: 3 }}\n  hosts: {{ inventory: rack }}\n{more}"
    );
    let loaded = slipway_spec::load::load_files(vec![SourceFile::new("cluster.yaml", text)], &[]);
    loaded.clusters.into_iter().next().unwrap_or_else(|| panic!("{:#?}", loaded.diagnostics)).into()
}

/// Three control planes, of which the first `founding` ones are founding.
fn placement(founding: usize) -> Placement {
    let machine = |index: usize| -> Machine {
        let machine = serde_json::json!({
            "name": format!("cp-{index}"), "pool": "control-plane", "address": format!("192.0.2.1{index}"),
            "founding": index < founding,
        });
        serde_json::from_value(machine).unwrap()
    };
    Placement {
        machines: (0..3).map(machine).collect(),
        elected: Some("cp-0".to_owned()),
        ..Placement::default()
    }
}

fn find<'a>(resources: &'a [Desired], address: &str) -> &'a Desired {
    resources.iter().find(|desired| desired.address.to_string() == address).unwrap()
}

/// All direct and indirect dependencies of a resource.
fn stands_on(resources: &[Desired], address: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut stack = vec![address.parse::<Address>().unwrap()];
    while let Some(address) = stack.pop() {
        let Some(desired) = resources.iter().find(|desired| desired.address == address) else { continue };
        let mut needs = desired.depends_on.clone();
        desired.attributes.for_each_reference(&mut |reference| needs.push(reference.address.clone()));
        stack.extend(needs.into_iter().filter(|need| found.insert(need.to_string())));
    }
    found
}

/// A control plane whose machine lost its disks joins through those that stand, whichever founded the cluster.
#[test]
fn nothing_waits_for_the_api_of_a_control_plane_that_joins_again() {
    for (endpoint, founding) in
        [("elected: {}", 3), ("given: { host: api.example.com }", 3), ("given: { host: api.example.com }", 0)]
    {
        let mut placed = placement(founding);
        placed.elected = endpoint.starts_with("elected").then(|| "cp-1".to_owned());
        placed.machines[0].founding = false;
        placed.machines[0].rejoins = true;
        let resources = expand(&cluster(endpoint), &placed, &[]).unwrap().resources;
        let member = find(&resources, "etcd_member.cp-0/etcd");
        assert_eq!(member.attributes.get("learner_first"), Some(&Value::from(true)));
        let token =
            resources.iter().find(|desired| super::nodes::is_token(desired)).unwrap().address.to_string();
        let before = stands_on(&resources, &token);
        assert!(before.contains("static_pod.cp-1/kube-apiserver"), "{endpoint} {founding}: {before:#?}");
        assert!(!before.contains("static_pod.cp-0/kube-apiserver"), "{endpoint} {founding}");
        assert!(stands_on(&resources, "service.cp-0/kubelet").contains(&token), "{endpoint} {founding}");
    }
}

#[test]
fn nobody_is_elected_over_what_the_user_gives() {
    let placement = placement(3);
    let of = |wanted: &str| endpoint(&cluster(wanted), &placement).unwrap().to_string();
    assert_eq!(of("elected: {}"), "192.0.2.10:6443");
    assert_eq!(of("given: { host: api.example.com, port: 8443 }"), "api.example.com:8443");
    assert_eq!(of("virtualIp: { address: 192.0.2.40, interface: eth0 }"), "192.0.2.40:6443");
}

#[test]
fn the_endpoint_may_be_one_that_joined_later() {
    let mut placement = placement(1);
    placement.machines.remove(0);
    for elected in ["cp-1", "cp-2"] {
        placement.elected = Some(elected.to_owned());
        let resources = expand(&cluster("elected: {}"), &placement, &[]).unwrap().resources;
        for desired in &resources {
            let address = desired.address.to_string();
            assert!(!stands_on(&resources, &address).contains(&address), "{address} stands on itself");
        }
    }
}

/// The machines in the order in which their resources change, those with the same turn sorted by name; with
/// the number that may change at once.
fn turns<'a>(resources: &'a [Desired], kinds: &[&str]) -> Vec<(&'a str, u32)> {
    let mut turns: Vec<&Turn> = resources
        .iter()
        .filter(|desired| kinds.contains(&desired.address.kind()))
        .filter_map(|desired| desired.lifecycle.turn.as_ref())
        .collect();
    turns.sort_by(|one, other| (one.rank, &one.unit).cmp(&(other.rank, &other.unit)));
    let mut order: Vec<(&str, u32)> = Vec::new();
    for turn in turns {
        assert_eq!(turn.group, "machines");
        if order.iter().all(|(unit, _)| *unit != turn.unit) {
            order.push((&turn.unit, turn.at_once));
        }
    }
    order
}

#[test]
fn machines_change_in_turn_and_the_one_of_the_endpoint_last() {
    let workers = "---\napiVersion: slipway.dev/v1alpha1\nkind: NodePool\nmetadata: {name: workers}\nspec:\n  role: worker\n  \
                   size: { fixed: 4 }\n  rollout: { maxUnavailable: 2 }\n  hosts: { inventory: rack }\n";
    for founding in [1, 3] {
        let mut placement = placement(founding);
        let worker = |index: usize| -> Machine {
            let machine = serde_json::json!({
                "name": format!("w-{index}"), "pool": "workers", "address": format!("192.0.2.2{index}"),
            });
            serde_json::from_value(machine).unwrap()
        };
        placement.machines.extend((0..4).map(worker));
        let resources = expand(&with_pool("elected: {}", workers), &placement, &[]).unwrap().resources;
        // Settings of kubelets: control planes one at a time, workers within their budget, the endpoint's
        // host at the end.
        let workers = [("w-0", 2), ("w-1", 2), ("w-2", 2), ("w-3", 2)];
        let kubelets = [&[("cp-1/node", 1), ("cp-2/node", 1)][..], &workers, &[("cp-0/node", 1)]].concat();
        assert_eq!(turns(&resources, &["service"]), kubelets);
        // Where the pods change too, all of them change before any kubelet.
        let all = [&[("cp-1", 1), ("cp-2", 1), ("cp-0", 1)][..], &kubelets].concat();
        assert_eq!(turns(&resources, &["service", "static_pod"]), all);
        // All other machines already use the settings for joining ones.
        let joining = ("ConfigMap/kube-system/kubelet-config", 1);
        let last = [&kubelets[..], &[joining]].concat();
        assert_eq!(turns(&resources, &["service", "kubernetes_object"]), last);
    }
}

#[test]
fn pods_of_one_machine_change_one_after_the_other() {
    for founding in [1, 3] {
        let resources = expand(&cluster("elected: {}"), &placement(founding), &[]).unwrap().resources;
        for machine in ["cp-0", "cp-1", "cp-2"] {
            let before = |pod: &str| -> Vec<String> {
                let desired = find(&resources, &format!("static_pod.{machine}/{pod}"));
                desired.lifecycle.update_after.iter().map(ToString::to_string).collect()
            };
            let pods = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"];
            for (index, pod) in pods.iter().enumerate() {
                let earlier: Vec<String> =
                    pods[..index].iter().map(|pod| format!("static_pod.{machine}/{pod}")).collect();
                assert_eq!(before(pod), earlier, "{machine}/{pod}");
            }
        }
    }
}

#[test]
fn what_can_break_a_machine_has_a_turn_and_keys_have_none() {
    let resources = expand(&cluster("elected: {}"), &placement(3), &[]).unwrap().resources;
    for desired in &resources {
        let has_turn = desired.lifecycle.turn.is_some();
        let address = desired.address.to_string();
        match desired.address.kind() {
            "service" | "static_pod" => assert!(has_turn, "{address}"),
            "kubernetes_object" if address.ends_with("/kubelet-config") => assert!(has_turn, "{address}"),
            "certificate" | "kubeconfig" | "kubernetes_object" | "kubernetes_node" | "etcd_member" => {
                assert!(!has_turn, "{address}");
            }
            "file" if address.contains("/kubelet-") => assert!(has_turn, "{address}"),
            "file" if address.contains("/pki/") || address.ends_with("/encryption-configuration") => {
                assert!(!has_turn, "{address}");
            }
            _ => {}
        }
    }
}

/// The same cluster with kubelets of these versions and architectures.
fn with_kubelets(files: &str) -> ClusterInput {
    let mut cluster = cluster("elected: {}");
    let programs = format!("{{\"mirrors\": [\"http://m/\"], \"files\": [{files}]}}");
    cluster.assets.programs = serde_json::from_str(&programs).unwrap();
    cluster
}

fn kubelet_file(version: &str, digit: &str, architecture: &str) -> String {
    let sha256 = digit.repeat(64);
    format!(
        "{{\"name\": \"kubelet\", \"version\": {version}, \"path\": \"k\", \"sha256\": \"{sha256}\", \"architecture\": \
         \"{architecture}\"}}"
    )
}

/// The resources of three control planes in a stage of a rotation.
fn rotated(subject: RotatedKey, rotation: Rotation) -> Vec<Desired> {
    let mut placed = placement(3);
    placed.rotations.insert(subject, rotation);
    expand(&cluster("elected: {}"), &placed, &[]).unwrap().resources
}

fn kept_by(desired: &Desired) -> String {
    match desired.attributes.get("content") {
        Some(Value::Secret(secret)) => secret.source.trim_start_matches("state:").to_owned(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn daemon_sets_take_over_one_component_after_the_other_and_the_endpoint_last() {
    let mut wanted = cluster("elected: {}");
    wanted.control_plane.hosting = Hosting::SelfHosted;
    for founding in [1, 3] {
        let resources = expand(&wanted, &placement(founding), &[]).unwrap().resources;
        let mut before: Option<String> = None;
        for machine in ["cp-1", "cp-2", "cp-0"] {
            let recovery = format!("control_plane_recovery.{machine}/control-plane");
            for component in ["kube-apiserver", "kube-controller-manager", "kube-scheduler"] {
                let address = format!("self_hosted_pod.{machine}/{component}");
                let pod = find(&resources, &format!("static_pod.{machine}/{component}"));
                let hosted = find(&resources, &address);
                for name in ["host", "path", "ready_url", "ready_timeout_seconds"] {
                    assert_eq!(hosted.attributes.get(name), pod.attributes.get(name), "{address}: {name}");
                }
                let needs = stands_on(&resources, &address);
                for need in [
                    recovery.clone(),
                    format!("kubernetes_node.{machine}"),
                    format!("static_pod.{machine}/kube-controller-manager"),
                    "kubernetes_object.ClusterRoleBinding//kubeadm:cluster-admins".to_owned(),
                ]
                .into_iter()
                .chain(before)
                {
                    assert!(needs.contains(&need), "{address} does not wait for {need}");
                }
                assert!(!needs.contains(&address), "{address} stands on itself");
                before = Some(address);
            }
        }
        // The manifest is the same in both cases: only what runs it changes.
        let others = expand(&cluster("elected: {}"), &placement(founding), &[]).unwrap().resources;
        assert!(others.iter().all(|desired| desired.address.kind() != "self_hosted_pod"));
        for desired in &others {
            assert_eq!(find(&resources, &desired.address.to_string()), desired);
        }
    }
}

#[test]
fn control_planes_elect_the_one_with_the_virtual_address() {
    let wanted = cluster("virtualIp: { address: 192.0.2.40, interface: eth1, holder: slipway }");
    let resources = expand(&wanted, &placement(2), &[]).unwrap().resources;
    let text = |address: &str, name: &str| find(&resources, address).attributes.get(name).cloned().unwrap();
    for (machine, own) in [("cp-0", "192.0.2.10"), ("cp-1", "192.0.2.11"), ("cp-2", "192.0.2.12")] {
        let service = format!("virtual_address.{machine}/virtual-address");
        for (name, value) in
            [("address", "192.0.2.40"), ("interface", "eth1"), ("node", machine), ("node_address", own)]
        {
            assert_eq!(text(&service, name), Value::from(value), "{machine}: {name}");
        }
        // Its identity is its own, for the API server of its own machine.
        let kubeconfig = format!("kubeconfig.{machine}/virtual-address");
        assert_eq!(text(&kubeconfig, "server"), Value::from(format!("https://{own}:6443")));
        assert_eq!(text(&kubeconfig, "common_name"), Value::from("slipway:virtual-address"));
        let before = stands_on(&resources, &service);
        assert!(
            before.contains(&kubeconfig) && before.contains(&format!("static_pod.{machine}/kube-apiserver"))
        );
        let names = text(&format!("certificate.{machine}/apiserver"), "ip_addresses").to_json();
        assert!(names.as_array().unwrap().contains(&"192.0.2.40".into()), "{names}");
    }
    let role = find(&resources, "kubernetes_object.Role/kube-system/slipway:virtual-address");
    let rules = role.attributes.get("manifest").unwrap().to_json()["rules"].clone();
    assert_eq!(
        rules,
        serde_json::json!([
            { "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "update"],
              "resourceNames": ["slipway-virtual-address"] },
            { "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"] },
        ])
    );
    let flow = find(&resources, "kubernetes_object.FlowSchema//slipway-virtual-address");
    assert!(format!("{flow:?}").contains("leader-election"), "{flow:?}");
    // Nothing needs the credentials of an administrator on a machine.
    let all: Vec<String> = resources.iter().map(|desired| desired.address.to_string()).collect();
    for part in ["kube-vip", "/admin", "/super-admin"] {
        assert!(all.iter().all(|address| !address.contains(part)), "{part} in {all:?}");
    }
    // Others have none of it.
    let others =
        expand(&cluster("virtualIp: { address: 192.0.2.40 }"), &placement(2), &[]).unwrap().resources;
    assert!(others.iter().all(|desired| !desired.address.to_string().contains("virtual-address")));
}
