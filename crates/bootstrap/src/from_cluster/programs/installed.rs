//! containerd, runc, the CNI plugins and crictl as resources of a machine.

use slipway_cluster_input::{ClusterInput, ProgramFile, ProgramName, Programs};
use slipway_resource::{Address, Desired, Path, Value};

use super::{architecture, folder, lists_runtime, short};
use crate::container_runtime as containerd;
use crate::expand::InitSystem;
use crate::from_cluster::configuration::of_machine as configuration_of;
use crate::from_cluster::{FromClusterError, Machine, Placement};
use crate::kubelet::KUBECONFIG_PATH;
use crate::version::Images;

/// The type of installed programs.
const KIND: &str = "installed_programs";

/// The name of the container runtime among them.
const RUNTIME: &str = "containerd";

/// Where fetched files are kept until their programs are put in place.
const FETCHED: &str = "/var/lib/slipway/fetched";

/// The folder of containerd and runc among the programs of a machine. No path leads to it: what the host brought stays in use for
/// everybody else.
const RUNTIME_FOLDER: &str = "slipway-runtime";

/// How the programs of a file are installed.
struct Form {
    /// Their name.
    name: &'static str,
    /// The program that tells the version.
    program: &'static str,
    /// The folder with the programs, if the file is an archive.
    archive_folder: Option<&'static str>,
    /// Whether only that program is taken from the archive.
    only: bool,
}

/// The form of the programs that are installed here. The kubelet has its own way.
fn form(name: ProgramName) -> Option<Form> {
    let form = |name, program, archive_folder, only| Some(Form { name, program, archive_folder, only });
    match name {
        ProgramName::Containerd => form(RUNTIME, "containerd", Some("bin"), false),
        ProgramName::Runc => form("runc", "runc", None, false),
        ProgramName::CniPlugins => form("cni-plugins", "loopback", Some(""), false),
        ProgramName::Crictl => form("crictl", "crictl", Some(""), true),
        ProgramName::Slipway | ProgramName::Kubelet | ProgramName::Provider => None,
    }
}

/// Whether a spec lists programs that are installed here.
#[must_use]
pub fn lists_installed(programs: &Programs) -> bool {
    programs.files.iter().any(|file| form(file.name).is_some())
}

/// The files for a machine, with their forms.
fn files<'a>(
    cluster: &'a ClusterInput,
    machine: &Machine,
) -> impl Iterator<Item = (&'a ProgramFile, Form)> + use<'a> {
    let architecture = architecture(machine);
    let fitting = cluster.assets.programs.files.iter().filter(move |file| file.architecture == architecture);
    fitting.filter_map(|file| form(file.name).map(|form| (file, form)))
}

/// The version that the programs of a file must have, if the spec says one.
fn version(cluster: &ClusterInput, file: &ProgramFile) -> Option<String> {
    let of_file = file.version.as_ref().map(ToString::to_string);
    of_file.or_else(|| {
        let version = cluster.container_runtime.version.as_deref();
        let version = version.filter(|_| file.name == ProgramName::Containerd)?;
        Some(version.trim_start_matches('v').to_owned())
    })
}

/// Whether a machine gets its container runtime from the spec, and has none before.
pub(in super::super) fn brings_runtime(cluster: &ClusterInput, machine: &Machine) -> bool {
    machine.cri_sockets.is_empty() && lists_runtime(&cluster.assets.programs)
}

/// Whether containerd has the configuration that is written here, and not that of the host.
pub(in super::super) fn has_own_configuration(cluster: &ClusterInput, machine: &Machine) -> bool {
    machine.facts.containerd_unit_missing
        && files(cluster, machine).any(|(file, _)| file.name == ProgramName::Containerd)
}

/// The programs of one machine as resources: the fetched files, and what is installed from them.
pub(in super::super) fn of_machine(
    cluster: &ClusterInput,
    placement: &Placement,
    machine: &Machine,
) -> Vec<Desired> {
    let mut resources = Vec::new();
    let mut before = Vec::new();
    let mut installed: Vec<(&ProgramFile, Form)> = files(cluster, machine).collect();
    // containerd starts after the programs that it runs.
    installed.sort_by_key(|(file, _)| file.name == ProgramName::Containerd);
    for (file, form) in installed {
        let source = format!("{FETCHED}/{}-{}", form.name, short(file));
        let mut fetched = resource(
            machine,
            "program",
            &format!("{}-{}", form.name, short(file)),
            vec![
                ("path", Value::from(source.as_str())),
                ("sha256", file.sha256.as_str().into()),
                ("urls", Value::list(cluster.assets.programs.urls(file))),
            ],
        );
        fetched.lifecycle.ignore_changes.push(Path::key("urls"));
        let mut attributes = vec![
            ("name", Value::from(form.name)),
            ("folder", folder_of(machine, file.name).into()),
            ("source", source.into()),
            ("sha256", file.sha256.as_str().into()),
            ("program", form.program.into()),
        ];
        attributes.extend(form.archive_folder.map(|folder| ("archive_folder", folder.into())));
        attributes.extend(form.only.then(|| ("only", form.program.into())));
        attributes.extend(version(cluster, file).map(|version| ("version", version.into())));
        let mut after = vec![fetched.address.clone()];
        if file.name == ProgramName::Containerd {
            attributes.extend(service(machine));
            after.append(&mut before);
            after.extend(configuration(cluster, placement, machine).map(|file| {
                let address = file.address.clone();
                resources.push(file);
                address
            }));
        }
        let mut programs = resource(machine, KIND, form.name, attributes);
        programs.depends_on = after;
        before.push(programs.address.clone());
        resources.extend([fetched, programs]);
    }
    resources
}

fn folder_of(machine: &Machine, name: ProgramName) -> String {
    let folder = folder(machine);
    match name {
        ProgramName::CniPlugins => containerd::PLUGINS.to_owned(),
        ProgramName::Containerd | ProgramName::Runc => format!("{folder}/{RUNTIME_FOLDER}"),
        _ => folder.to_owned(),
    }
}

/// The attributes of the service that runs containerd.
fn service(machine: &Machine) -> Vec<(&'static str, Value)> {
    let folder = folder_of(machine, ProgramName::Containerd);
    let (path, text) = match machine.facts.containerd_unit_missing {
        true => (containerd::UNIT_PATH, containerd::unit_in(&folder)),
        false => (containerd::DROP_IN_PATH, containerd::drop_in(&folder)),
    };
    vec![
        ("unit_path", path.into()),
        ("unit", text.into()),
        ("steady_node", machine.name.as_str().into()),
        ("steady_kubeconfig_path", KUBECONFIG_PATH.into()),
    ]
}

/// The configuration of containerd for a machine without one. An existing one is kept.
fn configuration(cluster: &ClusterInput, placement: &Placement, machine: &Machine) -> Option<Desired> {
    let endpoint = crate::from_cluster::endpoint(cluster, placement).ok()?;
    let configuration = configuration_of(cluster, placement, &endpoint, machine);
    let content = containerd::configuration(&Images::of(&configuration.cluster).pause);
    machine.facts.containerd_unit_missing.then(|| {
        let attributes = vec![
            ("path", Value::from(containerd::CONFIGURATION_PATH)),
            ("content", content.into()),
            ("mode", "0644".into()),
            ("keep_existing", true.into()),
        ];
        resource(machine, "file", "containerd-configuration", attributes)
    })
}

fn resource(machine: &Machine, kind: &str, name: &str, attributes: Vec<(&str, Value)>) -> Desired {
    let mut attributes = Value::map(attributes);
    attributes.set(&Path::key("host"), machine.name.as_str().into());
    let mut desired = Desired::new(Address::new(kind, format!("{}/{name}", machine.name)), attributes);
    desired.origins.insert(Path::root(), "assets.programs".to_owned());
    desired
}

/// Lets programs come to machines that are nodes already one machine after the other, in this order. A change of programs that are
/// there takes its turn as all changes do.
pub(in super::super) fn in_turn(resources: &mut [Desired], machines: &[&Machine]) {
    let mut before: Vec<Address> = Vec::new();
    for machine in machines {
        let mut own = Vec::new();
        for desired in resources.iter_mut().filter(|desired| {
            desired.address.kind() == KIND
                && desired.attributes.get("host").and_then(Value::as_str) == Some(machine.name.as_str())
        }) {
            desired.depends_on.extend(before.iter().cloned());
            own.push(desired.address.clone());
        }
        if !own.is_empty() {
            before = own;
        }
    }
}

/// Holds that every machine can have the programs that the spec lists.
pub(super) fn check(cluster: &ClusterInput, placement: &Placement) -> Result<(), FromClusterError> {
    let listed = cluster.assets.programs.files.iter().filter_map(|file| form(file.name));
    let mut names: Vec<&str> = listed.map(|form| form.name).collect();
    names.sort_unstable();
    names.dedup();
    let mut lacking = Vec::new();
    for machine in &placement.machines {
        let architecture = format!("{:?}", architecture(machine)).to_lowercase();
        for name in &names {
            if !files(cluster, machine).any(|(_, form)| form.name == *name) {
                lacking.push(format!("{}: {name}, architecture {architecture}", machine.name));
            }
        }
        if names.contains(&RUNTIME) && machine.facts.init_system != InitSystem::Systemd {
            lacking.push(format!("{}: {RUNTIME} from the list needs systemd", machine.name));
        }
    }
    if lacking.is_empty() { Ok(()) } else { Err(FromClusterError::NoPrograms(lacking)) }
}
