use slipway_cluster_input::value::KubernetesVersion;

use super::{PAUSE_TAG, core_dns_tag, etcd_tag};
use crate::configuration::ClusterSettings;

/// The images of a cluster's own parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Images {
    /// The API server's.
    pub api_server: String,
    /// The controller manager's.
    pub controller_manager: String,
    /// The scheduler's.
    pub scheduler: String,
    /// kube-proxy's.
    pub kube_proxy: String,
    /// CoreDNS's.
    pub core_dns: String,
    /// The one that holds a pod's namespaces.
    pub pause: String,
    /// etcd's.
    pub etcd: String,
}

impl Images {
    /// The images that a cluster's settings ask for.
    #[must_use]
    pub fn of(cluster: &ClusterSettings) -> Self {
        let repository = cluster.image_repository.as_str();
        let of_release = |name: &str, release: &KubernetesVersion| {
            format!("{repository}/{name}:{}", image_tag(&format!("v{release}")))
        };
        let kubernetes = |name: &str| of_release(name, &cluster.kubernetes_version);
        let given = &cluster.given_images;
        let or = |given: &Option<String>, name: &str| given.clone().unwrap_or_else(|| kubernetes(name));
        let proxy = cluster.proxy.version.as_ref().unwrap_or(&cluster.kubernetes_version);
        let dns = &cluster.dns.image;
        let dns_repository = match dns.repository.as_deref().unwrap_or(repository) {
            "registry.k8s.io" => "registry.k8s.io/coredns",
            other => other,
        };
        let etcd = cluster.etcd.local().map(|local| local.image.clone()).unwrap_or_default();
        Self {
            api_server: or(&given.api_server, "kube-apiserver"),
            controller_manager: or(&given.controller_manager, "kube-controller-manager"),
            scheduler: or(&given.scheduler, "kube-scheduler"),
            kube_proxy: of_release("kube-proxy", proxy),
            core_dns: format!(
                "{dns_repository}/coredns:{}",
                dns.tag.as_deref().unwrap_or_else(|| core_dns_tag(&cluster.kubernetes_version))
            ),
            pause: format!("{repository}/pause:{PAUSE_TAG}"),
            etcd: format!(
                "{}/etcd:{}",
                etcd.repository.as_deref().unwrap_or(repository),
                etcd.tag.as_deref().unwrap_or_else(|| etcd_tag(&cluster.kubernetes_version))
            ),
        }
    }

    /// The images that a control plane needs, in the order in which kubeadm lists them.
    #[must_use]
    pub fn for_control_plane(&self, cluster: &ClusterSettings) -> Vec<String> {
        let mut images =
            vec![self.api_server.clone(), self.controller_manager.clone(), self.scheduler.clone()];
        if !cluster.proxy.disabled {
            images.push(self.kube_proxy.clone());
        }
        if !cluster.dns.disabled {
            images.push(self.core_dns.clone());
        }
        images.push(self.pause.clone());
        if cluster.etcd.local().is_some() {
            images.push(self.etcd.clone());
        }
        images
    }
}

/// A version as an image's tag: characters that are not allowed in a tag become underscores.
pub(crate) fn image_tag(version: &str) -> String {
    version.replace(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')), "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn core_dns_has_a_path_of_its_own_in_the_default_registry() {
        let mut cluster = ClusterSettings::default();
        assert_eq!(Images::of(&cluster).core_dns, "registry.k8s.io/coredns/coredns:v1.12.1");
        assert_eq!(Images::of(&cluster).etcd, "registry.k8s.io/etcd:3.6.5-0");
        cluster.image_repository = "mirror.example.test/k8s".to_owned();
        cluster.kubernetes_version = "1.33.2+local".parse().unwrap();
        let images = Images::of(&cluster);
        assert_eq!(images.core_dns, "mirror.example.test/k8s/coredns:v1.12.1");
        assert_eq!(images.api_server, "mirror.example.test/k8s/kube-apiserver:v1.33.2_local");
        assert_eq!(images.etcd, "mirror.example.test/k8s/etcd:3.5.24-0");
        cluster.given_images.scheduler = Some("own/scheduler:v1@sha256:a".to_owned());
        assert_eq!(Images::of(&cluster).scheduler, "own/scheduler:v1@sha256:a");
        assert_eq!(Images::of(&cluster).api_server, images.api_server);
    }

    #[test]
    fn core_dns_has_the_version_of_the_release_unless_the_configuration_names_one() {
        let mut cluster = ClusterSettings::default();
        for (release, tag) in [("1.35.10", "v1.13.1"), ("1.36.6", "v1.14.2"), ("1.37.2", "v1.14.2")] {
            cluster.kubernetes_version = release.parse().unwrap();
            assert!(Images::of(&cluster).core_dns.ends_with(&format!("/coredns:{tag}")), "{release}");
        }
        cluster.dns.image.tag = Some("v1.11.3".to_owned());
        assert!(Images::of(&cluster).core_dns.ends_with("/coredns:v1.11.3"));
    }
}
