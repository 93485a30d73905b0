//! What the container runtime has of a component.

use std::collections::BTreeSet;

use super::form::{COMPONENT, REVISION};
use crate::cri::{self, Container, PodSandbox};
use crate::kind::Manifest;

/// The pods of a component that run on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Those of the DaemonSet. While one replaces another one, there may be two.
    pub(crate) hosted: Vec<Hosted>,
    /// Whether a container of the manifest in the kubelet's folder runs.
    pub(crate) from_file: bool,
}

/// A pod of a DaemonSet, all containers of which run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hosted {
    /// The runtime's id of the sandbox.
    pub(crate) pod: String,
    /// The revision of the pod.
    pub(crate) revision: String,
    /// The ids of its containers: a restarted one has another id.
    pub(crate) containers: BTreeSet<String>,
}

impl Seen {
    /// The pods of a manifest, among those of the runtime.
    pub(crate) fn of(pods: &[PodSandbox], containers: &[Container], manifest: &Manifest) -> Self {
        let running = |pod: &PodSandbox| -> Vec<&Container> {
            containers.iter().filter(|one| one.pod == pod.id && one.is_running()).collect()
        };
        let hosted = cri::of_api(pods, COMPONENT, &manifest.name).filter_map(|pod| {
            let running = running(pod);
            let has = |name: &String| running.iter().any(|one| one.name() == name);
            let runs = !running.is_empty() && manifest.containers.iter().all(has);
            runs.then(|| Hosted {
                pod: pod.id.clone(),
                revision: pod.annotations.get(REVISION).cloned().unwrap_or_default(),
                containers: running.iter().map(|one| one.id.clone()).collect(),
            })
        });
        let mut of_file = cri::of_manifest(pods, &manifest.namespace, &manifest.name);
        Self { hosted: hosted.collect(), from_file: of_file.any(|pod| !running(pod).is_empty()) }
    }

    /// The containers of all pods of the DaemonSet.
    pub(crate) fn containers(&self) -> BTreeSet<String> {
        self.hosted.iter().flat_map(|hosted| hosted.containers.iter().cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_of_files_and_of_daemon_sets_are_distinguished() {
        let manifest = Manifest::of(
            "kind: Pod\nmetadata: {name: kube-scheduler, namespace: kube-system}\nspec: {containers: [{name: a}]}\n",
        );
        let manifest = manifest.unwrap();
        let pods = [
            PodSandbox::of_file("file", "kube-system", "kube-scheduler-n1", "hash", true),
            PodSandbox::of_api("ours", &[(COMPONENT, "kube-scheduler")], &[(REVISION, "one")]),
            PodSandbox::of_api("other", &[(COMPONENT, "kube-apiserver")], &[]),
            PodSandbox::of_api("foreign", &[("component", "kube-scheduler")], &[]),
        ];
        let containers = |pods: &[&str]| -> Vec<Container> {
            pods.iter().map(|pod| Container::running(&format!("{pod}-a"), pod, "a")).collect()
        };
        let seen = |running: &[&str]| Seen::of(&pods, &containers(running), &manifest);
        let ours = Hosted {
            pod: "ours".to_owned(),
            revision: "one".to_owned(),
            containers: BTreeSet::from(["ours-a".to_owned()]),
        };
        assert_eq!(seen(&[]), Seen::default());
        assert_eq!(seen(&["other", "foreign"]), Seen::default());
        assert_eq!(seen(&["file"]), Seen { from_file: true, ..Seen::default() });
        assert_eq!(seen(&["ours", "file"]), Seen { hosted: vec![ours], from_file: true });
    }
}
