//! Kubelets of other versions, which the spec lists.

use super::*;

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
