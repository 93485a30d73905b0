//! The kubelet that machines fetch, where a spec lists one.

use slipway_cluster_input::value::KubernetesVersion;
use slipway_cluster_input::{Architecture, ClusterInput, ProgramFile, ProgramName, Programs};

use super::{FromClusterError, Machine, Placement, WithoutEffect};
use crate::expand::{InitSystem, KubeletProgram};

/// Where a program is put unless the machine tells another folder.
const FOLDER: &str = "/usr/local/bin";

/// Whether a spec lists a kubelet: then all machines run one that it lists.
#[must_use]
pub fn lists_kubelet(programs: &Programs) -> bool {
    programs.files.iter().any(|file| file.name == ProgramName::Kubelet)
}

/// The programs of a spec that are not installed on machines that exist already.
pub fn programs_without_effect(programs: &Programs) -> impl Iterator<Item = WithoutEffect> {
    let others = programs.files.iter().enumerate().filter(|(_, file)| file.name != ProgramName::Kubelet);
    others.map(|(index, _)| WithoutEffect {
        field: format!("assets.programs.files[{index}].name"),
        why: "of these programs, only the kubelet is installed on hosts; remove it, and install it on the hosts before",
    })
}

/// The kubelet of one machine; none where the machine runs the one that is installed on it.
pub(super) fn kubelet(cluster: &ClusterInput, machine: &Machine) -> Option<KubeletProgram> {
    let programs = &cluster.assets.programs;
    let version = version(cluster, machine);
    let file = fitting(programs, version, architecture(machine))?;
    let folder = machine.facts.program_folder.as_deref().unwrap_or(FOLDER);
    let short = file.sha256.get(..12).unwrap_or(&file.sha256);
    Some(KubeletProgram {
        path: format!("{folder}/kubelet-{version}-{short}"),
        urls: programs.urls(file),
        sha256: file.sha256.clone(),
        version: version.to_string(),
    })
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
    cluster.pool(&machine.pool).map_or(&cluster.kubernetes_version, |pool| &pool.kubernetes_version)
}

/// The detected processor architecture of a machine. A file without an architecture is for the default one.
fn architecture(machine: &Machine) -> Architecture {
    machine.facts.architecture.unwrap_or_default()
}

/// Holds that every machine can run a kubelet that the spec lists, if it lists one.
pub(super) fn check(cluster: &ClusterInput, placement: &Placement) -> Result<(), FromClusterError> {
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
