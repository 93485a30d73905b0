//! Mirrors of registries on machines.

use slipway_cluster_input::RegistryMirror;

use super::*;

fn mirrored() -> ClusterInput {
    let mirror = |registry: &str, endpoints: &[&str]| RegistryMirror {
        registry: registry.to_owned(),
        endpoints: endpoints.iter().map(|endpoint| (*endpoint).to_owned()).collect(),
    };
    let mut cluster = cluster("elected: {}");
    cluster.container_runtime.registry_mirrors = vec![
        mirror("docker.io", &["https://one.example.com/", "https://two.example.com/v2/hub"]),
        mirror("*", &["http://10.0.0.9:5000"]),
        mirror("registry.example.com:5000", &["https://one.example.com"]),
    ];
    cluster
}

#[test]
fn every_machine_has_a_file_for_each_registry_before_its_kubelet_starts() {
    let resources = expand(&mirrored(), &placement(3), &[]).unwrap().resources;
    let text =
        |address: &str, name: &str| find(&resources, address).attributes.get(name).unwrap().to_plain_text();
    let file = "file.cp-1/registry-mirror-docker.io";
    assert_eq!(text(file, "path"), "/etc/containerd/certs.d/docker.io/hosts.toml");
    assert_eq!(
        text(file, "content"),
        "[host.\"https://one.example.com\"]\n  capabilities = [\"pull\", \"resolve\"]\n\n\
         [host.\"https://two.example.com/v2/hub\"]\n  capabilities = [\"pull\", \"resolve\"]\n  override_path = true\n"
    );
    let all = "file.cp-1/registry-mirror-_default";
    assert_eq!(text(all, "path"), "/etc/containerd/certs.d/_default/hosts.toml");
    let port = "file.cp-1/registry-mirror-registry.example.com-5000";
    assert_eq!(text(port, "path"), "/etc/containerd/certs.d/registry.example.com:5000/hosts.toml");
    let before = stands_on(&resources, "service.cp-1/kubelet");
    assert!([file, all, port].iter().all(|needed| before.contains(*needed)), "{before:#?}");
}

#[test]
fn machines_whose_containerd_has_another_configuration_are_named() {
    let mut cluster = mirrored();
    let note = |cluster: &ClusterInput, placement: &Placement| {
        let notes = expand(cluster, placement, &[]).unwrap().notes;
        notes.into_iter().find(|note| note.field == "containerRuntime.registryMirrors")
    };
    let said = note(&cluster, &placement(3)).unwrap().message;
    assert!(said.contains("On cp-0, cp-1, cp-2, containerd has the configuration of the host"), "{said}");
    cluster.container_runtime.registry_mirrors.clear();
    assert_eq!(note(&cluster, &placement(3)), None);
}
