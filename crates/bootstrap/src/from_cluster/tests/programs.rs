//! containerd, runc, the CNI plugins and crictl on machines.

use slipway_cluster_input::{Architecture, ProgramName};

use super::super::{programs_without_effect, turns_of_removals};
use super::*;
use crate::expand::InitSystem;

const ALL: [&str; 4] = ["crictl", "cniPlugins", "runc", "containerd"];

/// A cluster that lists these programs, each with the digit of its digest.
fn listing(names: &[&str], digit: &str) -> ClusterInput {
    let file = |name: &&str| {
        format!("{{\"name\": \"{name}\", \"path\": \"{name}.tgz\", \"sha256\": \"{}\"}}", digit.repeat(64))
    };
    with_kubelets(&names.iter().map(file).collect::<Vec<_>>().join(","))
}

fn text(resources: &[Desired], address: &str, name: &str) -> String {
    find(resources, address).attributes.get(name).unwrap().to_plain_text()
}

#[test]
fn listed_programs_are_fetched_first_and_come_before_the_kubelet() {
    let mut cluster = listing(&ALL, "a");
    cluster.container_runtime.version = Some("v2.1.4".to_owned());
    let mut placement = placement(3);
    placement.machines[1].facts.program_folder = Some("/opt/bin".to_owned());
    let resources = expand(&cluster, &placement, &[]).unwrap().resources;
    let programs = "installed_programs.cp-0/containerd";
    assert_eq!(text(&resources, programs, "version"), "2.1.4");
    assert_eq!(text(&resources, programs, "folder"), "/usr/local/bin/slipway-runtime");
    assert_eq!(text(&resources, programs, "source"), "/var/lib/slipway/fetched/containerd-aaaaaaaaaaaa");
    assert_eq!(text(&resources, programs, "archive_folder"), "bin");
    assert_eq!(
        text(&resources, programs, "unit_path"),
        "/etc/systemd/system/containerd.service.d/20-slipway.conf"
    );
    let unit = text(&resources, "installed_programs.cp-1/containerd", "unit");
    assert!(unit.contains("\nExecStart=/opt/bin/slipway-runtime/containerd\n"), "{unit}");
    assert_eq!(text(&resources, "installed_programs.cp-0/crictl", "folder"), "/usr/local/bin");
    assert_eq!(text(&resources, "installed_programs.cp-0/cni-plugins", "folder"), "/opt/cni/bin");
    let fetched = find(&resources, "program.cp-0/runc-aaaaaaaaaaaa");
    assert_eq!(fetched.attributes.get("urls"), Some(&Value::list(["http://m/runc.tgz"])));
    let before = stands_on(&resources, programs);
    for needed in ["installed_programs.cp-0/runc", "program.cp-0/containerd-aaaaaaaaaaaa"] {
        assert!(before.contains(needed), "{before:#?}");
    }
    for user in ["service.cp-0/kubelet", "kubelet_state.cp-0/kubelet"] {
        assert!(stands_on(&resources, user).contains(programs), "{user}");
    }
    // No control plane changes before all machines have all programs.
    let before = stands_on(&resources, "static_pod.cp-0/kube-apiserver");
    assert!(before.contains("program.cp-2/containerd-aaaaaaaaaaaa"), "{before:#?}");
    // Machines of a new cluster do not wait for each other.
    assert!(!stands_on(&resources, programs).iter().any(|address| address.contains(".cp-1/")));
    let turn = find(&resources, programs).lifecycle.turn.clone().unwrap();
    assert_eq!(Some(turn), find(&resources, "service.cp-0/kubelet").lifecycle.turn.clone());
}

#[test]
fn nodes_get_listed_programs_one_after_the_other_and_the_endpoint_is_the_last() {
    let mut placement = placement(3);
    for machine in &mut placement.machines {
        machine.programs_from_start = Some(false);
    }
    let resources = expand(&listing(&ALL, "a"), &placement, &[]).unwrap().resources;
    let waits = |machine: &str, other: &str| {
        stands_on(&resources, &format!("installed_programs.{machine}/runc"))
            .contains(&format!("installed_programs.{other}/containerd"))
    };
    assert!(waits("cp-2", "cp-1") && waits("cp-0", "cp-2") && !waits("cp-1", "cp-0"));
}

#[test]
fn programs_are_removed_in_the_turn_of_their_machine() {
    let placement = placement(3);
    let before = expand(&listing(&ALL, "a"), &placement, &[]).unwrap().resources;
    let after = expand(&listing(&[], "a"), &placement, &[]).unwrap().resources;
    let gone = Address::new("installed_programs", "of-another-machine/containerd");
    let recorded: Vec<Address> =
        before.iter().map(|desired| desired.address.clone()).chain([gone.clone()]).collect();
    let turns = turns_of_removals(&after, recorded.iter());
    let programs = turns.keys().filter(|address| address.kind() == "installed_programs").count();
    assert_eq!(programs, 3 * ALL.len());
    let own = Address::new("installed_programs", "cp-1/containerd");
    assert_eq!(turns.get(&own), find(&after, "service.cp-1/kubelet").lifecycle.turn.as_ref());
    assert_eq!(turns.get(&gone), None, "its machine leaves");
    assert!(turns_of_removals(&before, recorded.iter()).is_empty());
}

#[test]
fn a_machine_without_a_runtime_gets_its_unit_and_configuration() {
    let mut placement = placement(3);
    placement.machines[0].facts.containerd_unit_missing = true;
    placement.machines[1].cri_sockets = vec!["unix:///var/run/containerd/containerd.sock".to_owned()];
    let cluster = listing(&["containerd"], "a");
    let resources = expand(&cluster, &placement, &[]).unwrap().resources;
    let programs = "installed_programs.cp-0/containerd";
    assert_eq!(text(&resources, programs, "unit_path"), "/etc/systemd/system/containerd.service");
    assert!(text(&resources, programs, "unit").contains("\n[Install]\n"));
    let configuration = "file.cp-0/containerd-configuration";
    assert!(text(&resources, configuration, "content").contains("sandbox_image = \"registry.k8s.io/pause:"));
    assert!(stands_on(&resources, programs).contains(configuration));
    assert!(
        resources.iter().all(|desired| desired.address.to_string() != "file.cp-1/containerd-configuration")
    );
    // The checks before do not ask for a runtime that the plan installs.
    let questions = super::super::questions(&cluster, &placement).unwrap();
    assert_eq!(questions["cp-0"].cri_socket, None);
    assert!(questions["cp-1"].cri_socket.is_some());
}

#[test]
fn machines_that_cannot_have_a_program_are_named_at_once() {
    let mut placement = placement(3);
    placement.machines[1].facts.init_system = InitSystem::None;
    placement.machines[2].facts.architecture = Some(Architecture::Arm64);
    let refused = expand(&listing(&["containerd", "crictl"], "a"), &placement, &[]).unwrap_err();
    assert_eq!(refused.code(), "CLUSTER0004");
    let why = refused.to_string();
    for said in [
        "cp-1: containerd from the list needs systemd",
        "cp-2: containerd, architecture arm64",
        "cp-2: crictl, architecture arm64",
    ] {
        assert!(why.contains(said), "{why}");
    }
    assert!(!why.contains("cp-0"), "{why}");
}

#[test]
fn programs_that_hosts_cannot_use_are_refused() {
    let fields = |cluster: &ClusterInput| -> Vec<String> {
        programs_without_effect(cluster).into_iter().map(|unused| unused.field).collect()
    };
    assert_eq!(fields(&listing(&ALL, "a")), [""; 0]);
    let mut cluster = listing(&["crictl", "runc", "provider"], "a");
    cluster.container_runtime.version = Some("2.1.4".to_owned());
    let wanted =
        ["assets.programs.files[1].name", "assets.programs.files[2].name", "containerRuntime.version"];
    assert_eq!(fields(&cluster), wanted);
    // Kubelets of another version than the cluster's have to come from the list.
    let mut cluster = listing(&["crictl"], "a");
    let name = cluster.pools[0].name.clone();
    cluster.pools[0].kubernetes_version = "1.33.9".parse().unwrap();
    assert_eq!(fields(&cluster), [format!("pools[{name}].kubernetesVersion")]);
    cluster.assets.programs.files[0].name = ProgramName::Kubelet;
    assert_eq!(fields(&cluster), [""; 0]);
}

#[test]
fn a_pool_with_its_own_version_has_kubelets_of_this_version() {
    let pool = "---\napiVersion: slipway.dev/v1alpha1\nkind: NodePool\nmetadata: {name: workers}\nspec:\n  role: worker\n  \
                kubernetesVersion: 1.33.9\n  size: { fixed: 1 }\n  hosts: { inventory: rack }\n";
    let mut cluster = with_pool("elected: {}", pool);
    let files =
        [kubelet_file("\"1.34.4\"", "a", "amd64"), kubelet_file("\"1.33.9\"", "b", "amd64")].join(",");
    cluster.assets.programs = with_kubelets(&files).assets.programs;
    let mut placement = placement(3);
    let worker = serde_json::json!({"name": "worker-0", "pool": "workers", "address": "192.0.2.20"});
    placement.machines.push(serde_json::from_value(worker).unwrap());
    let resources = expand(&cluster, &placement, &[]).unwrap().resources;
    for (service, version) in [("service.cp-2/kubelet", "1.34.4"), ("service.worker-0/kubelet", "1.33.9")] {
        assert_eq!(text(&resources, service, "program_version"), version);
    }
    find(&resources, "program.worker-0/kubelet-1.33.9-bbbbbbbbbbbb");
    assert!(programs_without_effect(&cluster).is_empty());
}
