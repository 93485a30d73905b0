//! The balancer of each node, through which its components reach the API.

use super::*;

/// The resources of three control planes and a worker, with this decision about balancers.
fn with_balancer(balancer: Option<bool>) -> Vec<Desired> {
    let workers = "---\napiVersion: slipway.dev/v1alpha1\nkind: NodePool\nmetadata: {name: workers}\nspec:\n  role: worker\n  \
                   hosts: { inventory: rack }\n";
    let mut placement = Placement { balancer, ..placement(2) };
    let worker = serde_json::json!({ "name": "w-0", "pool": "workers", "address": "192.0.2.20" });
    placement.machines.push(serde_json::from_value(worker).unwrap());
    expand(&with_pool("elected: {}", workers), &placement, &[]).unwrap().resources
}

#[test]
fn components_reach_the_api_through_the_balancer_of_their_node() {
    let resources = with_balancer(Some(true));
    let local = Value::from("https://127.0.0.1:6444");
    let text = |address: &str, name: &str| find(&resources, address).attributes.get(name).cloned().unwrap();
    for machine in ["cp-0", "cp-1", "cp-2", "w-0"] {
        let balancer = format!("api_balancer.{machine}/node");
        let members = ["192.0.2.10:6443", "192.0.2.11:6443", "192.0.2.12:6443"];
        assert_eq!(text(&balancer, "members"), Value::list(members));
        assert_eq!(text(&balancer, "endpoint"), Value::from("https://192.0.2.10:6443"));
        assert_eq!(text(&format!("kubelet_credentials.{machine}/kubelet"), "server"), local);
        let before = stands_on(&resources, &format!("service.{machine}/kubelet"));
        assert!(before.contains(&balancer), "the kubelet starts after it: {before:#?}");
    }
    assert_eq!(text("api_balancer.cp-1/node", "own"), Value::from("192.0.2.11:6443"));
    assert_eq!(find(&resources, "api_balancer.w-0/node").attributes.get("own"), None);
    for kubeconfig in [
        "cp-0/kubelet",
        "cp-0/controller-manager",
        "cp-2/scheduler",
        "cp-2/bootstrap-kubelet",
        "w-0/bootstrap-kubelet",
    ] {
        assert_eq!(text(&format!("kubeconfig.{kubeconfig}"), "server"), local, "{kubeconfig}");
    }
    let names = text("certificate.cp-2/apiserver", "ip_addresses").to_json();
    assert!(names.as_array().unwrap().contains(&"127.0.0.1".into()), "{names}");
    let pod = format!("{:?}", find(&resources, "static_pod.cp-2/kube-apiserver").attributes);
    assert!(pod.contains("--shutdown-delay-duration=3s"), "{pod}");
    // People, and machines that join, have the endpoint.
    let object =
        |name: &str| format!("{:?}", find(&resources, &format!("kubernetes_object.{name}")).attributes);
    assert!(object("ConfigMap/kube-public/cluster-info").contains("https://192.0.2.10:6443"));
    assert!(object("ConfigMap/kube-system/kubeadm-config").contains("192.0.2.10:6443"));
    // kube-proxy, with one configuration for all nodes, waits for all balancers.
    assert!(object("ConfigMap/kube-system/kube-proxy").contains("https://127.0.0.1:6444"));
    let before = stands_on(&resources, "kubernetes_object.DaemonSet/kube-system/kube-proxy");
    assert!(before.contains("api_balancer.w-0/node") && before.contains("api_balancer.cp-2/node"));
    assert!(object("Role/default/slipway:api-servers").contains("endpointslices"));
    for desired in &resources {
        let address = desired.address.to_string();
        assert!(!stands_on(&resources, &address).contains(&address), "{address} stands on itself");
    }
}

#[test]
fn a_cluster_without_balancers_is_as_it_was_and_one_that_had_them_goes_back() {
    let never = with_balancer(None);
    assert!(never.iter().all(|desired| desired.address.kind() != "api_balancer"));
    let all = format!("{never:?}");
    for part in ["127.0.0.1:6444", "shutdown-delay-duration", "slipway:api-servers", "keep_server"] {
        assert!(!all.contains(part), "{part}");
    }
    let server = |resources: &[Desired], machine: &str| {
        let credentials = find(resources, &format!("kubelet_credentials.{machine}/kubelet"));
        credentials.attributes.get("server").and_then(Value::as_str).map(str::to_owned)
    };
    assert_eq!(server(&never, "cp-1"), None);
    let back = with_balancer(Some(false));
    assert!(back.iter().all(|desired| desired.address.kind() != "api_balancer"));
    assert_eq!(server(&back, "cp-1").as_deref(), Some("https://192.0.2.11:6443"));
    assert_eq!(server(&back, "w-0").as_deref(), Some("https://192.0.2.10:6443"));
    let settings = find(&back, "kubernetes_object.ConfigMap/kube-system/kube-proxy");
    assert!(format!("{settings:?}").contains("https://192.0.2.10:6443"));
}

#[test]
fn kubelets_move_to_their_balancer_one_first_and_after_the_certificates() {
    let resources = with_balancer(Some(true));
    let order = [("cp-1/node", 1), ("cp-2/node", 1), ("w-0", 1), ("cp-0/node", 1)];
    assert_eq!(turns(&resources, &["kubelet_credentials"]), order);
    assert_eq!(turns(&with_balancer(None), &["kubelet_credentials"]), []);
    for address in ["kubelet_credentials.w-0/kubelet", "kubeconfig.cp-1/scheduler"] {
        let before: Vec<String> =
            find(&resources, address).lifecycle.update_after.iter().map(ToString::to_string).collect();
        let all = ["cp-0", "cp-1", "cp-2"].map(|machine| format!("certificate.{machine}/apiserver"));
        assert_eq!(before, all);
    }
    let made = find(&resources, "kubeconfig.cp-0/kubelet");
    assert_eq!(made.attributes.get("keep_server"), Some(&Value::Bool(true)));
}
