//! Mirrors of registries: a file for each registry, which containerd reads at every pull.

use slipway_cluster_input::{ClusterInput, RegistryMirror};
use slipway_resource::provider::ExpandNote;
use slipway_resource::{Address, Desired, Path, Value};

use super::programs::has_own_configuration;
use super::{Machine, Placement};
use crate::container_runtime::REGISTRIES;

/// The field of the spec.
const FIELD: &str = "containerRuntime.registryMirrors";

/// The registry that stands for all others, and the folder that containerd reads for it.
const ALL: (&str, &str) = ("*", "_default");

/// The files of one machine. containerd tries the mirrors of a registry in their order, and then the registry itself.
pub(super) fn of_machine(cluster: &ClusterInput, machine: &Machine) -> Vec<Desired> {
    let mirrors = cluster.container_runtime.registry_mirrors.iter();
    let file = |mirror: &RegistryMirror| {
        let folder = if mirror.registry == ALL.0 { ALL.1 } else { &mirror.registry };
        let attributes = Value::map([
            ("host", Value::from(machine.name.as_str())),
            ("path", format!("{REGISTRIES}/{folder}/hosts.toml").into()),
            ("content", content(mirror).into()),
            ("mode", "0644".into()),
        ]);
        let name = format!("{}/registry-mirror-{}", machine.name, folder.replace([':', '/'], "-"));
        let mut desired = Desired::new(Address::new("file", name), attributes);
        desired.origins.insert(Path::root(), FIELD.to_owned());
        desired
    };
    mirrors.map(file).collect()
}

/// The file of one registry (<https://github.com/containerd/containerd/blob/main/docs/hosts.md>). Without `server`, the registry itself
/// is asked last.
fn content(mirror: &RegistryMirror) -> String {
    let host = |endpoint: &String| {
        let endpoint = endpoint.trim_end_matches('/');
        // containerd adds `/v2` to an address, but not to one that has it inside of its path.
        let path = if endpoint.contains("/v2/") { "  override_path = true\n" } else { "" };
        format!("[host.{}]\n  capabilities = [\"pull\", \"resolve\"]\n{path}", quoted(endpoint))
    };
    mirror.endpoints.iter().map(host).collect::<Vec<_>>().join("\n")
}

/// A basic string of TOML. Values of the spec have no control characters.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The remark on machines whose containerd has the configuration of the host, which may not name the folder of these files.
pub(super) fn note(cluster: &ClusterInput, placement: &Placement) -> Option<ExpandNote> {
    if cluster.container_runtime.registry_mirrors.is_empty() {
        return None;
    }
    let others = placement.machines.iter().filter(|machine| !has_own_configuration(cluster, machine));
    let names: Vec<&str> = others.map(|machine| machine.name.as_str()).collect();
    (!names.is_empty()).then(|| ExpandNote {
        field: FIELD.to_owned(),
        message: format!(
            "the mirrors are written to {REGISTRIES} of each host. On {}, containerd has the configuration of the host, and reads them if \
             `config_path` of its section `registry` is that folder",
            names.join(", ")
        ),
    })
}
