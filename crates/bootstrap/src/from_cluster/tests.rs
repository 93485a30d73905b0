mod authorities;
mod emulation;
mod hooks;
mod programs;

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use slipway_cluster_input::{ClusterInput, Hosting};
use slipway_resource::{Address, Desired, Turn, Value};
use slipway_spec::source::SourceFile;

use super::{Founder, Machine, Placement, Rotation, Stage, Subject, endpoint, expand};

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

#[test]
fn control_planes_that_come_later_join_etcd_one_after_the_other() {
    let resources = expand(&cluster("elected: {}"), &placement(1), &[]).unwrap().resources;
    let before = stands_on(&resources, "etcd_member.cp-2/etcd");
    assert!(before.contains("etcd_voter.cp-1/etcd"), "{before:#?}");
    assert!(!stands_on(&resources, "etcd_member.cp-1/etcd").contains("etcd_member.cp-2/etcd"));
    // Resources that do not change etcd are in parallel.
    assert!(!stands_on(&resources, "service.cp-2/kubelet").contains("etcd_voter.cp-1/etcd"));
}

#[test]
fn a_control_plane_that_joins_several_founders_starts_with_the_members_that_are_there() {
    let mut placed = placement(2);
    let founder = |machine: &Machine| Founder { name: machine.name.clone(), address: machine.address };
    placed.founders = placed.machines.iter().take(2).map(founder).collect();
    let resources = expand(&cluster("elected: {}"), &placed, &[]).unwrap().resources;
    let pod =
        |machine: &str| format!("{:?}", find(&resources, &format!("static_pod.{machine}/etcd")).attributes);
    let founders = "--initial-cluster=cp-0=https://192.0.2.10:2380,cp-1=https://192.0.2.11:2380";
    assert!(pod("cp-0").contains(founders) && pod("cp-1").contains(founders), "{}", pod("cp-0"));
    assert!(!pod("cp-2").contains("--initial-cluster=cp-0"), "{}", pod("cp-2"));
    assert!(stands_on(&resources, "static_pod.cp-2/etcd").contains("etcd_member.cp-2/etcd"));
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
fn every_member_of_etcd_knows_all_others() {
    for founding in [1, 3] {
        let resources = expand(&cluster("elected: {}"), &placement(founding), &[]).unwrap().resources;
        for machine in ["cp-0", "cp-1", "cp-2"] {
            let member = find(&resources, &format!("etcd_member.{machine}/etcd"));
            let Some(Value::List(endpoints)) = member.attributes.get("endpoints") else {
                panic!("{member:?}")
            };
            let known: Vec<&str> = endpoints.iter().filter_map(Value::as_str).collect();
            for other in 0..3 {
                let url = format!("https://192.0.2.1{other}:2379");
                // A joining control plane is not a member yet, and has its own URL besides.
                let expected = machine != format!("cp-{other}") || known.len() == 3;
                assert_eq!(known.contains(&url.as_str()), expected, "{machine}: {known:?}");
            }
        }
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
fn the_token_ends_and_is_renewed_for_those_who_join() {
    let time = |text: &str| text.parse::<Timestamp>().unwrap();
    let end = |pinned: Option<&str>, now: &str| Placement::end_of_join_token(pinned.map(time), time(now));
    let first = end(None, "2026-03-01T10:00:00Z").unwrap();
    assert_eq!(first, time("2026-03-03T00:00:00Z"));
    assert_eq!(end(None, "2026-03-01T23:59:59Z"), Some(first), "plans of a day are the same");
    assert_eq!(
        end(Some("2026-03-03T00:00:00Z"), "2026-03-02T21:00:00Z"),
        Some(first),
        "it lasts long enough"
    );
    // A join that is planned shortly before the token's end, or after it, gets another token.
    for now in ["2026-03-02T22:30:00Z", "2026-03-04T00:00:00Z"] {
        let later = end(Some("2026-03-03T00:00:00Z"), now).unwrap();
        let left = later.duration_since(time(now));
        assert!(left >= SignedDuration::from_hours(24) && left <= SignedDuration::from_hours(48), "{now}");
    }
    let secret = |placement: &Placement| {
        let resources = expand(&cluster("elected: {}"), placement, &[]).unwrap().resources;
        let secret =
            resources.into_iter().find(|desired| desired.address.name().contains("bootstrap-token-"));
        secret.unwrap()
    };
    let placement = Placement { join_token_ends: Some(first), ..placement(1) };
    let made = secret(&placement);
    let ends =
        made.attributes.get("manifest").and_then(|manifest| manifest.get("stringData")?.get("expiration"));
    assert_eq!(ends, Some(&Value::from("2026-03-03T00:00:00Z")));
    assert!(made.lifecycle.on_demand, "nothing is renewed when nobody joins");
    let resources = expand(&cluster("elected: {}"), &placement, &[]).unwrap().resources;
    assert!(stands_on(&resources, "kubelet_credentials.cp-1/kubelet").contains(&made.address.to_string()));
    // A token without an end gets one, also when no machine joins.
    let endless = Placement { is_join_token_endless: true, ..placement };
    assert!(!secret(&endless).lifecycle.on_demand);
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

#[test]
fn a_listed_kubelet_is_fetched_before_anything_changes_and_named_by_the_unit() {
    let files =
        [kubelet_file("\"1.34.4\"", "a", "amd64"), kubelet_file("\"1.34.5\"", "b", "amd64")].join(",");
    let mut placement = placement(3);
    placement.machines[1].facts.program_folder = Some("/opt/bin".to_owned());
    placement.machines[1].facts.kubelet_drop_in_missing = true;
    for machine in &mut placement.machines {
        machine.kubelet_is_named = true;
    }
    let resources = expand(&with_kubelets(&files), &placement, &[]).unwrap().resources;
    let program = find(&resources, "program.cp-0/kubelet-1.34.4-aaaaaaaaaaaa");
    assert_eq!(program.attributes.get("urls"), Some(&Value::list(["http://m/k"])));
    assert_eq!(program.attributes.get("version"), Some(&Value::from("1.34.4")));
    // The pods of every control plane wait for the programs of all machines.
    for machine in ["cp-0", "cp-1", "cp-2"] {
        let before = stands_on(&resources, &format!("static_pod.{machine}/kube-apiserver"));
        assert!(before.contains("program.cp-2/kubelet-1.34.4-aaaaaaaaaaaa"), "{before:#?}");
    }
    let content =
        |address: &str| find(&resources, address).attributes.get("content").unwrap().to_plain_text();
    // A drop-in is added to a packaged unit; a unit of Slipway names the program itself.
    let named = content("file.cp-0/kubelet-program");
    assert!(named.contains("ExecStart=/usr/local/bin/kubelet-1.34.4-aaaaaaaaaaaa $KUBELET"), "{named}");
    let own = content("file.cp-1/kubelet-drop-in");
    assert!(own.contains("ExecStart=/opt/bin/kubelet-1.34.4-aaaaaaaaaaaa $KUBELET"), "{own}");
    let service = find(&resources, "service.cp-0/kubelet");
    assert_eq!(service.attributes.get("program_version"), Some(&Value::from("1.34.4")));
    assert!(
        service
            .attributes
            .get("restart_triggers")
            .unwrap()
            .get(crate::kubelet::PROGRAM_DROP_IN_PATH)
            .is_some()
    );

    // When the list is removed, the drop-in names the kubelet of the host again.
    let resources = expand(&cluster("elected: {}"), &placement, &[]).unwrap().resources;
    assert!(resources.iter().all(|desired| desired.address.kind() != "program"));
    let named =
        find(&resources, "file.cp-0/kubelet-program").attributes.get("content").unwrap().to_plain_text();
    assert!(named.contains("ExecStart=/usr/bin/kubelet $KUBELET"), "{named}");
}

#[test]
fn all_machines_without_a_listed_kubelet_are_named_at_once() {
    let refused = |files: &[String], placement: &Placement| {
        expand(&with_kubelets(&files.join(",")), placement, &[]).unwrap_err().to_string()
    };
    let mut placement = placement(3);
    placement.machines[2].facts.architecture = Some(slipway_cluster_input::Architecture::Arm64);
    placement.machines[1].facts.init_system = crate::expand::InitSystem::Openrc;
    let why = refused(&[kubelet_file("\"1.34.4\"", "a", "amd64")], &placement);
    assert!(why.contains("cp-2: version 1.34.4, architecture arm64"), "{why}");
    assert!(why.contains("cp-1: its OpenRC starts the kubelet of a package"), "{why}");
    let why = refused(&[kubelet_file("\"1.33.9\"", "a", "amd64")], &placement);
    assert!(why.contains("cp-0: version 1.34.4, architecture amd64") && why.contains("cp-2"), "{why}");
    // A file without a version fits every version, and one with the version is preferred.
    let files = [kubelet_file("null", "c", "amd64"), kubelet_file("\"1.34.4\"", "a", "amd64")].join(",");
    let resources = expand(&with_kubelets(&files), &self::placement(1), &[]).unwrap().resources;
    find(&resources, "program.cp-0/kubelet-1.34.4-aaaaaaaaaaaa");
}

#[test]
fn control_planes_take_snapshots_of_etcd_where_the_spec_has_backups() {
    let backups = |resources: &[Desired]| -> Vec<String> {
        let found = resources.iter().filter(|desired| desired.address.kind() == "etcd_backup");
        found.map(|desired| desired.address.to_string()).collect()
    };
    let resources = expand(&cluster("elected: {}"), &placement(1), &[]).unwrap().resources;
    let all = ["etcd_backup.cp-0/etcd", "etcd_backup.cp-1/etcd", "etcd_backup.cp-2/etcd"];
    assert_eq!(backups(&resources), all, "one for each control plane");
    // It is created after the member and its encryption key; no resource waits for it.
    for (backup, member) in [(all[0], "etcd_member.cp-0/etcd"), (all[1], "etcd_voter.cp-1/etcd")] {
        let before = stands_on(&resources, backup);
        let key = backup.replace("etcd_backup", "file").replace("/etcd", "/pki/etcd/ca.key");
        assert!(before.contains(member) && before.contains(&key), "{before:#?}");
    }
    for desired in &resources {
        assert!(
            desired.depends_on.iter().all(|needed| needed.kind() != "etcd_backup"),
            "{}",
            desired.address
        );
    }
    let backup = &find(&resources, all[0]).attributes;
    assert_eq!(backup.get("interval_seconds"), Some(&Value::Integer(900)));
    assert_eq!(backup.get("cluster").and_then(Value::as_str), Some("demo"));
    assert_eq!(backup.get("store"), None, "the provider knows where, unless the spec says so");

    let mut other = cluster("elected: {}");
    other.etcd[0].backups.store = Some("s3://bucket/prefix".to_owned());
    other.etcd[0].backups.keep_on_delete = false;
    let resources = expand(&other, &placement(3), &[]).unwrap().resources;
    let backup = &find(&resources, all[2]).attributes;
    assert_eq!(backup.get("store").and_then(Value::as_str), Some("s3://bucket/prefix"));
    assert_eq!(backup.get("keep_on_delete"), Some(&Value::Bool(false)));
    other.etcd[0].backups.enabled = false;
    assert!(backups(&expand(&other, &placement(3), &[]).unwrap().resources).is_empty());
}

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

/// The resources of three control planes in a stage of a rotation.
fn rotated(subject: Subject, rotation: Rotation) -> Vec<Desired> {
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

#[test]
fn a_new_encryption_key_is_second_then_first_then_alone() {
    let mut stage = Rotation::default();
    let mut seen = Vec::new();
    for _ in 0..4 {
        let resources = rotated(Subject::EncryptionKey, stage);
        let file = kept_by(find(&resources, "file.cp-1/encryption-configuration"));
        let keys = resources.iter().filter(|desired| desired.address.kind() == "encryption_key");
        seen.push((file, keys.count()));
        let objects = resources.iter().find(|desired| desired.address.kind() == "encrypted_objects");
        assert_eq!(objects.is_some(), stage.stage != Stage::Rest);
        if let Some(objects) = objects {
            // The objects are written when every API server uses the configuration.
            let before = stands_on(&resources, &objects.address.to_string());
            for machine in ["cp-0", "cp-1", "cp-2"] {
                assert!(before.contains(&format!("api_server_encryption.{machine}/kube-apiserver")));
                assert!(before.contains(&format!("file.{machine}/encryption-configuration")));
            }
            let key = if stage.stage == Stage::Used { "at-rest-2" } else { "at-rest" };
            assert!(before.contains(&format!("encryption_key.{key}")), "{before:?}");
        }
        stage = stage.next();
    }
    let expected = [
        ("encryption_key.at-rest#configuration", 1),
        ("encryption_configuration.at-rest-2-added#configuration", 2),
        ("encryption_configuration.at-rest-2-used#configuration", 2),
        ("encryption_key.at-rest-2#configuration", 1),
    ];
    assert_eq!(seen, expected.map(|(keeper, keys)| (keeper.to_owned(), keys)));
}

#[test]
fn pods_follow_the_keys_of_service_accounts() {
    let unrotated = expand(&cluster("elected: {}"), &placement(3), &[]).unwrap().resources;
    let inputs = |resources: &[Desired], pod: &str| {
        let pod = find(resources, &format!("static_pod.cp-1/{pod}"));
        pod.attributes.get("volatile_inputs").map(|inputs| format!("{inputs:?}")).unwrap_or_default()
    };
    assert!(!inputs(&unrotated, "kube-apiserver").contains("service-account-keys"));
    let mut stage = Rotation::default();
    let mut seen = Vec::new();
    for _ in 0..4 {
        let resources = rotated(Subject::SaKey, stage);
        let private = kept_by(find(&resources, "file.cp-1/pki/sa.key"));
        let mut public = Vec::new();
        find(&resources, "file.cp-1/pki/sa.pub")
            .attributes
            .get("content")
            .unwrap()
            .for_each_reference(&mut |reference| public.push(reference.address.name().to_owned()));
        assert!(inputs(&resources, "kube-apiserver").contains("service-account-keys"));
        // It reads the key that signs, which the first stage does not change.
        let signer = inputs(&resources, "kube-controller-manager");
        assert_eq!(signer.contains("service-account-keys"), stage.used() > 1);
        seen.push((private, public.join(" ")));
        stage = stage.next();
    }
    let (old, new) =
        ("keypair.service-accounts#private_key_pem", "keypair.service-accounts-2#private_key_pem");
    let expected = [
        (old, "service-accounts"),
        (old, "service-accounts service-accounts-2"),
        (new, "service-accounts-2 service-accounts"),
        (new, "service-accounts-2"),
    ];
    assert_eq!(seen, expected.map(|(private, public)| (private.to_owned(), public.to_owned())));
}
