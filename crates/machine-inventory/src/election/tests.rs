use serde_json::{Value as Json, json};

use super::*;
use crate::labels::{BOOTSTRAPPED, INSTALLED, NEEDS_RESET};

struct Case {
    cluster: Json,
    core: Json,
    hosts: Vec<Json>,
    machines: Vec<Json>,
    selector: Result<Option<LabelSelector>, String>,
}

fn host(name: &str, address: &str) -> Json {
    json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "ElementalHost",
        "metadata": {"name": name, "uid": format!("uid-{name}"), "labels": {"control-plane": "true", INSTALLED: "true"}},
        "spec": {}, "status": {"addresses": [{"type": "InternalIP", "address": address}], "conditions": []},
    })
}

/// A host that a machine of the control plane has claimed, and that has run its bootstrap data.
fn serving(name: &str, address: &str) -> Json {
    let mut host = host(name, address);
    host["metadata"]["labels"][BOOTSTRAPPED] = json!("true");
    host["spec"]["machineRef"] = json!({"name": name, "uid": format!("machine-{name}")});
    host
}

fn machine(name: &str) -> Json {
    json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "ElementalMachine",
        "metadata": {"name": name, "uid": format!("machine-{name}")}, "spec": {},
    })
}

fn elected(host: &str, endpoint: &str) -> Json {
    let (address, port) = endpoint.split_once(':').unwrap();
    json!({
        "metadata": {"annotations": {ELECTED_HOST: host, ELECTED_HOST_UID: format!("uid-{host}"), ELECTED_ENDPOINT: endpoint}},
        "spec": {"controlPlaneEndpoint": {"host": address, "port": port.parse::<i32>().unwrap()}},
    })
}

const INITIALISED: &str = r#"{"status": {"initialization": {"controlPlaneInitialized": true}}}"#;

impl Default for Case {
    fn default() -> Self {
        let selector = json!({"matchLabels": {"control-plane": "true"}});
        Self {
            cluster: json!({}),
            core: json!({}),
            hosts: vec![],
            machines: vec![],
            selector: Ok(Some(serde_json::from_value(selector).unwrap())),
        }
    }
}

impl Case {
    /// The decision in one line.
    fn decision(self) -> String {
        let mut cluster = self.cluster;
        cluster["apiVersion"] = json!("infrastructure.cluster.x-k8s.io/v1beta1");
        cluster["kind"] = json!("ElementalCluster");
        cluster["metadata"]["uid"] = json!("cluster");
        if cluster["spec"].is_null() {
            cluster["spec"] = json!({});
        }
        let mut core = self.core;
        if core["metadata"].is_null() {
            core["metadata"] = json!({"name": "demo"});
        }
        let infrastructure = serde_json::from_value(cluster).unwrap();
        let core: Cluster = serde_json::from_value(core).unwrap();
        let hosts: Vec<Arc<ElementalHost>> =
            self.hosts.into_iter().map(|host| Arc::new(serde_json::from_value(host).unwrap())).collect();
        let machines: Vec<Arc<ElementalMachine>> =
            self.machines.into_iter().map(|one| Arc::new(serde_json::from_value(one).unwrap())).collect();
        let question = Question {
            infrastructure: &infrastructure,
            cluster: &core,
            hosts: hosts.iter().collect(),
            machines: machines.iter().collect(),
            selector: self.selector,
        };
        match decide(&question) {
            Decision::Given => "given".to_owned(),
            Decision::Adopt(endpoint) => format!("adopt {}", endpoint.authority()),
            Decision::Keep(host) => format!("keep {}", name(&host.metadata)),
            Decision::Elect(host, endpoint) => {
                format!("elect {} {}", name(&host.metadata), endpoint.authority())
            }
            Decision::Wait(reason, _) => format!("wait {reason}"),
        }
    }
}

fn two_hosts() -> Vec<Json> {
    vec![host("a", "10.0.0.1"), host("b", "10.0.0.2")]
}

#[test]
fn a_blank_endpoint_is_elected_before_anything_has_bootstrapped() {
    assert_eq!(Case { hosts: two_hosts(), ..Case::default() }.decision(), "elect a 10.0.0.1:6443");
    let blank = json!({"spec": {"controlPlaneEndpoint": {"host": "", "port": 8443}}});
    assert_eq!(
        Case { cluster: blank, hosts: two_hosts(), ..Case::default() }.decision(),
        "elect a 10.0.0.1:8443"
    );
    let network = json!({"spec": {"clusterNetwork": {"apiServerPort": 9443}}});
    assert_eq!(
        Case { core: network, hosts: two_hosts(), ..Case::default() }.decision(),
        "elect a 10.0.0.1:9443"
    );
    assert_eq!(Case::default().decision(), "wait NoCandidate");
    let unknown = Err("waiting".to_owned());
    assert_eq!(
        Case { selector: unknown, hosts: two_hosts(), ..Case::default() }.decision(),
        "wait MissingControlPlaneEndpoint"
    );
}

#[test]
fn only_a_free_host_with_an_address_is_a_candidate() {
    let without = |change: fn(&mut Json)| {
        let mut hosts = two_hosts();
        change(&mut hosts[0]);
        Case { hosts, ..Case::default() }.decision()
    };
    let changes: [fn(&mut Json); 7] = [
        |host| host["metadata"]["labels"]["control-plane"] = json!("false"),
        |host| host["metadata"]["labels"][INSTALLED] = json!("false"),
        |host| host["metadata"]["labels"][NEEDS_RESET] = json!("true"),
        |host| host["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"),
        |host| host["spec"]["machineRef"] = json!({"name": "other", "uid": "other"}),
        |host| host["spec"]["endpointReservation"] = json!({"name": "other", "uid": "other"}),
        |host| host["status"]["addresses"] = json!([]),
    ];
    for change in changes {
        assert_eq!(without(change), "elect b 10.0.0.2:6443");
    }
}

#[test]
fn an_interrupted_election_finds_its_reservation() {
    let mut hosts = two_hosts();
    hosts[1]["spec"]["endpointReservation"] = json!({"name": "demo", "uid": "cluster"});
    assert_eq!(Case { hosts, ..Case::default() }.decision(), "elect b 10.0.0.2:6443");
}

#[test]
fn an_endpoint_of_the_user_is_never_changed() {
    let given = || json!({"spec": {"controlPlaneEndpoint": {"host": "api.example.com", "port": 6443}}});
    assert_eq!(Case { cluster: given(), ..Case::default() }.decision(), "given");
    assert_eq!(Case { cluster: given(), hosts: two_hosts(), ..Case::default() }.decision(), "given");
    let mut replaced = elected("a", "10.0.0.1:6443");
    replaced["spec"] = given()["spec"].clone();
    assert_eq!(Case { cluster: replaced, hosts: two_hosts(), ..Case::default() }.decision(), "given");
    let core = given();
    assert_eq!(Case { core, hosts: two_hosts(), ..Case::default() }.decision(), "adopt api.example.com:6443");
}

#[test]
fn an_elected_endpoint_stays_while_its_host_does() {
    let cluster = || elected("b", "10.0.0.2:6443");
    assert_eq!(Case { cluster: cluster(), hosts: two_hosts(), ..Case::default() }.decision(), "keep b");
    let claimed = vec![host("a", "10.0.0.1"), serving("b", "10.0.0.2")];
    let machines = vec![machine("b")];
    assert_eq!(Case { cluster: cluster(), hosts: claimed, machines, ..Case::default() }.decision(), "keep b");
    // The address of the host has changed: certificates name the old one, so the endpoint stays.
    let changed = vec![host("a", "10.0.0.1"), host("b", "10.0.0.9")];
    assert_eq!(Case { cluster: cluster(), hosts: changed, ..Case::default() }.decision(), "keep b");
}

#[test]
fn a_lost_endpoint_moves_to_a_host_that_serves_the_api() {
    let core: Json = serde_json::from_str(INITIALISED).unwrap();
    let moved = |hosts: Vec<Json>, machines: Vec<Json>| {
        let (cluster, core) = (elected("a", "10.0.0.1:6443"), core.clone());
        Case { cluster, core, hosts, machines, ..Case::default() }.decision()
    };
    let both = || vec![machine("a"), machine("b")];
    assert_eq!(moved(vec![serving("b", "10.0.0.2")], both()), "elect b 10.0.0.2:6443");
    let mut leaving = vec![serving("a", "10.0.0.1"), serving("b", "10.0.0.2")];
    leaving[0]["metadata"]["labels"][NEEDS_RESET] = json!("true");
    assert_eq!(moved(leaving, both()), "elect b 10.0.0.2:6443");
    let mut deleted = both();
    deleted[0]["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    assert_eq!(
        moved(vec![serving("a", "10.0.0.1"), serving("b", "10.0.0.2")], deleted),
        "elect b 10.0.0.2:6443"
    );
    // A free host does not serve the API of this cluster.
    assert_eq!(moved(vec![host("b", "10.0.0.2")], vec![]), "wait NoCandidate");
    // A host that is registered again is another one.
    let mut again = host("a", "10.0.0.1");
    again["metadata"]["uid"] = json!("another");
    assert_eq!(moved(vec![again, serving("b", "10.0.0.2")], both()), "elect b 10.0.0.2:6443");
}

#[test]
fn a_cluster_that_is_deleted_elects_nothing() {
    let core = json!({"metadata": {"name": "demo", "deletionTimestamp": "2026-01-01T00:00:00Z"}});
    let cluster = elected("gone", "10.0.0.3:6443");
    assert_eq!(
        Case { cluster, core, hosts: two_hosts(), ..Case::default() }.decision(),
        "wait ClusterDeleting"
    );
}

#[test]
fn before_the_first_bootstrap_a_lost_host_is_replaced_by_a_free_one() {
    let cluster = elected("gone", "10.0.0.3:6443");
    assert_eq!(Case { cluster, hosts: two_hosts(), ..Case::default() }.decision(), "elect a 10.0.0.1:6443");
}
