//! The programs that machines fetch, where a spec lists them.

mod installed;

use slipway_cluster_input::value::KubernetesVersion;
use slipway_cluster_input::{Architecture, ClusterInput, ProgramFile, ProgramName, Programs};

pub use installed::lists_installed;
pub(super) use installed::{brings_runtime, has_own_configuration, in_turn, of_machine};

use super::{FromClusterError, Machine, Placement, WithoutEffect};
use crate::expand::{InitSystem, KubeletProgram};

/// Where a program is put unless the machine tells another folder.
const FOLDER: &str = "/usr/local/bin";

/// Whether a spec lists a kubelet: then all machines run one that it lists.
#[must_use]
pub fn lists_kubelet(programs: &Programs) -> bool {
    programs.files.iter().any(|file| file.name == ProgramName::Kubelet)
}

/// Whether a spec lists containerd: then all machines run it.
fn lists_runtime(programs: &Programs) -> bool {
    programs.files.iter().any(|file| file.name == ProgramName::Containerd)
}

/// The parts of a spec that would install programs, or choose them, and do nothing on machines that exist already.
#[must_use]
pub fn programs_without_effect(cluster: &ClusterInput) -> Vec<WithoutEffect> {
    let programs = &cluster.assets.programs;
    let why_not = |name: ProgramName| match name {
        ProgramName::Slipway => Some("Slipway copies its agent to the hosts itself; remove it"),
        ProgramName::Provider => Some("hosts prove who they are by their keys; remove it"),
        ProgramName::Runc if !lists_runtime(programs) => {
            Some("containerd finds runc by its unit; list containerd too, or remove it")
        }
        _ => None,
    };
    let files = programs.files.iter().enumerate().filter_map(|(index, file)| {
        let field = format!("assets.programs.files[{index}].name");
        why_not(file.name).map(|why| WithoutEffect { field, why })
    });
    let mut found: Vec<WithoutEffect> = files.collect();
    if cluster.container_runtime.version.is_some() && !lists_runtime(programs) {
        found.push(WithoutEffect {
            field: "containerRuntime.version".to_owned(),
            why: "hosts run the containerd that is installed on them; list containerd in `assets.programs`, or remove it",
        });
    }
    if !lists_kubelet(programs) {
        let others =
            cluster.pools.iter().filter(|pool| pool.kubernetes_version != cluster.kubernetes_version);
        found.extend(others.map(|pool| WithoutEffect {
            field: format!("pools[{}].kubernetesVersion", pool.name),
            why: "hosts run the kubelet that is installed on them; list kubelets of both versions in `assets.programs`, or remove it",
        }));
    }
    found
}

/// The kubelet of one machine; none where the machine runs the one that is installed on it.
pub(super) fn kubelet(cluster: &ClusterInput, machine: &Machine) -> Option<KubeletProgram> {
    let programs = &cluster.assets.programs;
    let version = version(cluster, machine);
    let file = fitting(programs, version, architecture(machine))?;
    Some(KubeletProgram {
        path: format!("{}/kubelet-{version}-{}", folder(machine), short(file)),
        urls: programs.urls(file),
        sha256: file.sha256.clone(),
        version: version.to_string(),
    })
}

/// The folder of a machine's programs.
fn folder(machine: &Machine) -> &str {
    machine.facts.program_folder.as_deref().unwrap_or(FOLDER)
}

/// The first digits of a file's digest, which tell it from other files of its name.
fn short(file: &ProgramFile) -> &str {
    file.sha256.get(..12).unwrap_or(&file.sha256)
}

/// The file for a version and an architecture. A file with the version is preferred to one for every version.
fn fitting<'a>(
    programs: &'a Programs,
    version: &KubernetesVersion,
    architecture: Architecture,
) -> Option<&'a ProgramFile> {
    let files = programs.files.iter();
    let fitting = files.filter(|file| {
        file.name == ProgramName::Kubelet
            && file.architecture == architecture
            && file.version.as_ref().is_none_or(|named| named == version)
    });
    fitting.max_by_key(|file| file.version.is_some())
}

fn version<'a>(cluster: &'a ClusterInput, machine: &Machine) -> &'a KubernetesVersion {
    let own =
        cluster.pool(&machine.pool).map_or(&cluster.kubernetes_version, |pool| &pool.kubernetes_version);
    // Kubelets are not newer than the API that the servers provide.
    cluster.emulated_version.as_ref().filter(|emulated| *emulated < own).unwrap_or(own)
}

/// The detected processor architecture of a machine. A file without an architecture is for the default one.
fn architecture(machine: &Machine) -> Architecture {
    machine.facts.architecture.unwrap_or_default()
}

/// Holds that every machine can run the programs that the spec lists.
pub(super) fn check(cluster: &ClusterInput, placement: &Placement) -> Result<(), FromClusterError> {
    installed::check(cluster, placement)?;
    check_kubelets(cluster, placement)
}

fn check_kubelets(cluster: &ClusterInput, placement: &Placement) -> Result<(), FromClusterError> {
    let programs = &cluster.assets.programs;
    if !lists_kubelet(programs) {
        return Ok(());
    }
    let lacking = placement.machines.iter().filter_map(|machine| {
        let (version, architecture) = (version(cluster, machine), architecture(machine));
        if machine.facts.init_system == InitSystem::Openrc {
            return Some(format!("{}: its OpenRC starts the kubelet of a package", machine.name));
        }
        let name = format!("{architecture:?}").to_lowercase();
        fitting(programs, version, architecture)
            .is_none()
            .then(|| format!("{}: version {version}, architecture {name}", machine.name))
    });
    let lacking: Vec<String> = lacking.collect();
    if lacking.is_empty() { Ok(()) } else { Err(FromClusterError::NoKubelet(lacking)) }
}
