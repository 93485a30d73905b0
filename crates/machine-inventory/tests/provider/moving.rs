//! An elected endpoint whose host is lost.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use serde_json::{Value as Json, json};

use crate::lab::{Lab, condition, eventually, message};
use crate::objects::{CLUSTER, CLUSTERS, ELEMENTAL_CLUSTER, ELEMENTAL_MACHINE, SECRETS, Space};
use crate::processes::manager;

pub fn moved(lab: &Lab) {
    let space = Space::new(lab, "moved");
    let _manager = manager(lab, &space.name, &[]);
    // The second host serves the API: its address is the one of the API server.
    let (role, port) = (json!({"role": "control-plane"}), lab.port());
    for (name, address) in [("moved-a", "127.0.0.2"), ("moved-b", "127.0.0.1"), ("moved-c", "127.0.0.3")] {
        space.host(name, address, role.clone());
    }
    space.cluster(json!({"controlPlaneEndpoint": {"port": port}}));
    let cluster = space.cluster_is_provisioned();
    let before = format!("127.0.0.2:{port}");
    let now = format!("127.0.0.1:{port}");
    assert_eq!(cluster["spec"]["controlPlaneEndpoint"], json!({"host": "127.0.0.2", "port": port}));
    let document = |data: Json| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cluster-info"}, "data": data});
    let public = "/api/v1/namespaces/kube-public/configmaps";
    let info = document(json!({"kubeconfig": format!("server: https://{before}\n"), "other": before}));
    let _ = lab.request(Method::DELETE, &format!("{public}/cluster-info"), None);
    lab.request(Method::POST, public, Some(&info)).unwrap();
    space.machine("cp-1", true, json!({"matchLabels": role}));
    assert_eq!(space.claims("cp-1"), "moved-a");
    space.bootstrapped("moved-a");
    space.machine("cp-2", true, json!({"matchLabels": role}));
    assert_eq!(space.claims("cp-2"), "moved-b");
    // The kubeconfig names the address of the host that will be lost.
    space.control_plane_is_initialised(&format!("https://{before}"));

    // Nothing moves while no other host serves the API.
    space.delete(ELEMENTAL_MACHINE, "cp-1");
    space.vanishes(ELEMENTAL_MACHINE, "cp-1");
    let stays = space.becomes(ELEMENTAL_CLUSTER, CLUSTER, "has no candidate", |object| {
        condition(object, "ControlPlaneEndpointReady") == "False/NoCandidate"
    });
    assert_eq!(stays["spec"]["controlPlaneEndpoint"]["host"], "127.0.0.2");
    assert_eq!(stays["status"]["ready"], true, "a provisioned cluster stays provisioned");
    space.bootstrapped("moved-b");
    let cluster = space.becomes(ELEMENTAL_CLUSTER, CLUSTER, "moves", |object| {
        object["spec"]["controlPlaneEndpoint"]["host"] == "127.0.0.1"
            && condition(object, "ControlPlaneEndpointFollowed") == "False/NodesUseOldEndpoint"
    });
    assert!(message(&cluster, "ControlPlaneEndpointFollowed").ends_with(": moved-b"), "{cluster}");
    let core = space.get(CLUSTERS, CLUSTER).unwrap();
    assert_eq!(core["spec"]["controlPlaneEndpoint"], json!({"host": "127.0.0.1", "port": port}));
    let secret = space.get(SECRETS, &format!("{CLUSTER}-kubeconfig")).unwrap();
    let kubeconfig = STANDARD.decode(secret["data"]["value"].as_str().unwrap()).unwrap();
    let kubeconfig = String::from_utf8(kubeconfig).unwrap();
    assert!(kubeconfig.contains(&format!("https://{now}")) && !kubeconfig.contains(&before), "{kubeconfig}");
    let info = lab.request(Method::GET, &format!("{public}/cluster-info"), None).unwrap();
    assert_eq!(info["data"], json!({"kubeconfig": format!("server: https://{now}\n"), "other": before}));

    // A machine whose data names the old endpoint cannot use it.
    space.machine("late", false, json!({"matchLabels": {"role": "none"}}));
    let annotation = "elementalmachine.infrastructure.cluster.x-k8s.io/bootstrap-endpoint";
    space.becomes(ELEMENTAL_MACHINE, "late", "has its endpoint", |object| {
        object["metadata"]["annotations"][annotation] == now
    });
    space.patch(ELEMENTAL_MACHINE, "late", json!({"metadata": {"annotations": {annotation: before}}}));
    eventually("the data is outdated", || {
        let machine = space.get(ELEMENTAL_MACHINE, "late")?;
        (machine["status"]["failureReason"] == "BootstrapDataOutdated").then_some(())
    });
    lab.request(Method::DELETE, &format!("{public}/cluster-info"), None).unwrap();
}
