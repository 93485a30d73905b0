//! Images of components that a spec names, by digest where it says so. An image belongs to one release.

use slipway_cluster_input::{ClusterInput, ComponentName, Profile};
use slipway_resource::provider::ExpandNote;

use super::WithoutEffect;
use crate::configuration::GivenImages;
use crate::version::image_tag;

/// The components whose image can be named, with their names in the spec.
const COMPONENTS: [(ComponentName, &str); 3] = [
    (ComponentName::ApiServer, "apiServer"),
    (ComponentName::ControllerManager, "controllerManager"),
    (ComponentName::Scheduler, "scheduler"),
];

/// The images that the spec names for the release of the cluster. Those of another release are not used: a control plane that goes back
/// to the release before takes the images of that release.
pub(super) fn given(cluster: &ClusterInput) -> GivenImages {
    let image = |name| named(cluster, name).filter(|image| is_used(cluster, image));
    GivenImages {
        api_server: image(ComponentName::ApiServer),
        controller_manager: image(ComponentName::ControllerManager),
        scheduler: image(ComponentName::Scheduler),
    }
}

/// The images of a spec that do not belong to the release of the cluster.
#[must_use]
pub fn images_without_effect(cluster: &ClusterInput) -> Vec<WithoutEffect> {
    let why = match cluster.profile {
        Profile::Kubeadm => "kubeadm has no setting for it; remove it, or use another profile",
        Profile::Slipway | Profile::Hardened => {
            "its tag has to be that of the Kubernetes version, as in `registry.k8s.io/kube-apiserver:v1.34.4@sha256:…`: change it together \
             with `kubernetesVersion`"
        }
    };
    unused(cluster).map(|field| WithoutEffect { field, why }).collect()
}

/// The remarks on images that are not used.
pub(super) fn notes(cluster: &ClusterInput) -> Vec<ExpandNote> {
    let version = &cluster.kubernetes_version;
    let note = |field| ExpandNote {
        field,
        message: format!(
            "this is no image of {version}, and is not used: the component has the image of the release"
        ),
    };
    unused(cluster).map(note).collect()
}

/// The fields with images that are not used.
fn unused(cluster: &ClusterInput) -> impl Iterator<Item = String> {
    COMPONENTS.into_iter().filter_map(move |(name, field)| {
        let image = named(cluster, name)?;
        (!is_used(cluster, &image)).then(|| format!("components.{field}.image"))
    })
}

fn named(cluster: &ClusterInput, name: ComponentName) -> Option<String> {
    cluster.component(name).image.clone()
}

/// Whether an image is used: kubeadm has no setting for it, and its tag is that of the release.
fn is_used(cluster: &ClusterInput, image: &str) -> bool {
    cluster.profile != Profile::Kubeadm
        && tag(image) == Some(image_tag(&format!("v{}", cluster.kubernetes_version)).as_str())
}

/// The tag of an image, also beside a digest. The port of a registry is none.
fn tag(image: &str) -> Option<&str> {
    let name = image.split_once('@').map_or(image, |(name, _)| name);
    let last = name.rsplit_once('/').map_or(name, |(_, last)| last);
    last.split_once(':').map(|(_, tag)| tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_found_beside_a_digest_and_a_port() {
        let digest = "sha256:aaaa";
        assert_eq!(tag(&format!("registry.k8s.io/kube-apiserver:v1.34.4@{digest}")), Some("v1.34.4"));
        assert_eq!(tag("localhost:5000/kube-apiserver:v1.34.4"), Some("v1.34.4"));
        assert_eq!(tag(&format!("localhost:5000/kube-apiserver@{digest}")), None);
        assert_eq!(tag("kube-apiserver"), None);
    }
}
