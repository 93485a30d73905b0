//! Settings of machines that a spec asks for: of the kernel, and files.

use slipway_cluster_input::NodePool;
use slipway_resource::{Address, Desired, Path, Value};

use super::Machine;

/// The kernel settings and files of one machine, from its pool, which includes those of the cluster.
pub(super) fn of_machine(pool: Option<&NodePool>, machine: &Machine) -> Vec<Desired> {
    let Some(pool) = pool else { return Vec::new() };
    let desired = |kind: &str, name: &str, origin: &str, attributes: Vec<(&str, Value)>| {
        let mut attributes = Value::map(attributes);
        attributes.set(&Path::key("host"), machine.name.as_str().into());
        let mut desired = Desired::new(Address::new(kind, format!("{}/{name}", machine.name)), attributes);
        desired.origins.insert(Path::root(), origin.to_owned());
        desired
    };
    let mut resources: Vec<Desired> = pool
        .sysctls
        .iter()
        .map(|(name, value)| {
            desired(
                "sysctl",
                name,
                &format!("pools[{}].sysctls", pool.name),
                vec![("name", name.as_str().into()), ("value", value.as_str().into())],
            )
        })
        .collect();
    resources.extend(pool.node_files.files.iter().map(|file| {
        let attributes = vec![
            ("path", Value::from(file.path.as_str())),
            ("content", file.content.as_str().into()),
            ("mode", file.mode.as_str().into()),
        ];
        desired(
            "file",
            &format!("node-file-{}", file.name),
            &format!("pools[{}].nodeFiles.files", pool.name),
            attributes,
        )
    }));
    resources
}
