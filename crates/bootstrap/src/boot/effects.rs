//! Fields of the document that a booting machine does not act on yet.

use slipway_spec::model::{Authentication, ComponentName, ProxyMode};

use super::ProgramName;
use super::document::{ETCD, NodeBootstrap};
use super::labels::is_permitted;

/// The beginning of a remark on fields of a spec that booting machines do not carry out yet; the names of the fields follow.
/// A plan leaves the remark out where another tool boots the machines.
pub const NOT_CARRIED_OUT: &str = "machines that boot by Slipway's user data do not carry out yet: ";

/// The beginning of a remark on machine types and images whose architecture is not that of their pool; which they are follows.
/// A plan leaves the remark out where another tool boots the machines.
pub const OTHER_ARCHITECTURE: &str =
    "machines that boot by Slipway's user data cannot run the programs of their pool: ";

impl NodeBootstrap {
    fn installs_containerd(&self) -> bool {
        self.programs().files.iter().any(|file| file.name == ProgramName::Containerd)
    }

    /// The settings of the document that have no effect on the machine, each as a sentence.
    #[must_use]
    pub fn without_effect(&self) -> Vec<String> {
        let (about, node) = (&self.cluster, &self.node);
        let own = self.control_plane.as_ref();
        let mut found: Vec<String> = Vec::new();
        let mut note = |is_set: bool, field: &str, why: &str| {
            if is_set {
                found.push(format!("{field} has no effect: {why}"));
            }
        };
        let not_yet = "a machine that boots does not carry it out yet";
        note(!node.packages.is_empty(), "node.packages", not_yet);
        note(!node.hooks.is_empty(), "node.hooks", not_yet);
        note(!node.mounts.is_empty(), "node.mounts", not_yet);
        note(!node.warm_images.is_empty(), "node.warmImages", not_yet);
        let (runtime, own_runtime) = (&self.runtime, self.installs_containerd());
        note(
            !own_runtime && *runtime != Default::default(),
            "runtime",
            "containerd is not installed from `programs`, and is configured by the image",
        );
        note(own_runtime && !runtime.registry_mirrors.is_empty(), "runtime.registryMirrors", not_yet);
        note(own_runtime && runtime.version.is_some(), "runtime.version", "`programs` names the release");
        note(self.egress_proxy.is_some(), "egressProxy", not_yet);
        note(self.assets.file_repository.is_some(), "assets.fileRepository", not_yet);
        note(!about.cloud_config.is_null(), "cluster.cloudConfig", not_yet);
        note(!about.registries.is_null(), "cluster.registries", not_yet);
        note(
            !["flannel", "none"].contains(&about.cni.name.as_str()),
            "cluster.cni",
            "only flannel is installed; nodes become ready when you install this network",
        );
        for (name, component) in &self.components {
            let is_run = match name {
                // The add-on has its settings.
                ComponentName::CloudController => false,
                ComponentName::Proxy => about.proxy_mode != ProxyMode::None,
                _ => true,
            };
            note(
                is_run && component.image.is_some(),
                &format!("components.{name}.image"),
                "images are those of the Kubernetes version",
            );
            note(
                is_run && component.resources != Default::default(),
                &format!("components.{name}.resources"),
                "static pods have the requests of kubeadm",
            );
        }
        if let Some(own) = own {
            note(own.authentication != Authentication::default(), "controlPlane.authentication", not_yet);
            note(
                own.service_accounts.discovery_store.is_some(),
                "controlPlane.serviceAccounts.discoveryStore",
                not_yet,
            );
            note(!own.autoscaling.is_empty(), "controlPlane.autoscaling", not_yet);
            let etcd = || own.etcd.iter();
            note(
                etcd().any(|cluster| cluster.name != ETCD),
                "controlPlane.etcd",
                "one etcd cluster keeps all objects",
            );
            note(
                etcd().any(|cluster| cluster.version.is_some()),
                "controlPlane.etcd[].version",
                "the release of etcd is the one that belongs to the Kubernetes version",
            );
            note(
                etcd().any(|cluster| cluster.cpu_request.is_some() || cluster.memory_request.is_some()),
                "controlPlane.etcd[].cpuRequest and memoryRequest",
                "static pods have the requests of kubeadm",
            );
            note(
                !own.etcd_volumes
                    && etcd().any(|cluster| cluster.members.iter().any(|member| member.volume.is_some())),
                "controlPlane.etcd[].members[].volume",
                "etcd keeps its data on the disk that the machine boots from",
            );
        }
        for addon in self.addons.iter().filter(|addon| addon.name != "coredns") {
            note(true, &format!("addons[{}]", addon.name), "this add-on is not installed yet");
        }
        for label in node.labels.keys().filter(|label| !self.is_control_plane() && !is_permitted(label)) {
            note(true, &format!("node.labels[{label}]"), "a kubelet may not give its node this label");
        }
        found
    }
}
