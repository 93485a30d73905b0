//! An object of Flux whose artifact has specs.

use std::path::PathBuf;

use serde::Deserialize;

use crate::source::oci::is_host;

/// The host of source-controller in a cluster with the usual installation of Flux.
const SOURCE_CONTROLLER: &str = "source-controller.flux-system.svc.cluster.local";

/// An object of Flux in a cluster (`source.toolkit.fluxcd.io/v1`), and where its artifact may be.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FluxSettings {
    /// The kind of the object.
    pub kind: FluxKind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The kubeconfig of the cluster; without it the service account of the controller's pod is used.
    pub kubeconfig: Option<PathBuf>,
    /// Further hosts from which artifacts are downloaded; that of source-controller in the namespace `flux-system` always may.
    #[serde(default)]
    pub artifact_hosts: Vec<String>,
}

/// A kind of Flux with an artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum FluxKind {
    /// A Git repository.
    GitRepository,
    /// An OCI repository.
    #[serde(rename = "OCIRepository")]
    OciRepository,
    /// An artifact of another controller than source-controller.
    ExternalArtifact,
}

impl FluxKind {
    /// The kind, as manifests write it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::GitRepository => "GitRepository",
            Self::OciRepository => "OCIRepository",
            Self::ExternalArtifact => "ExternalArtifact",
        }
    }

    /// The kind, as paths of the API write it.
    pub(crate) fn plural(self) -> &'static str {
        match self {
            Self::GitRepository => "gitrepositories",
            Self::OciRepository => "ocirepositories",
            Self::ExternalArtifact => "externalartifacts",
        }
    }
}

impl FluxSettings {
    /// The kind, namespace and name, for people.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{} {}/{}", self.kind.word(), self.namespace, self.name)
    }

    /// The path of the object in the API. It needs no escapes: the names were checked.
    pub(crate) fn path(&self) -> String {
        format!(
            "/apis/source.toolkit.fluxcd.io/v1/namespaces/{}/{}/{}",
            self.namespace,
            self.kind.plural(),
            self.name
        )
    }

    /// Whether artifacts may be downloaded from a host. Flux writes its hosts with a dot at the end.
    pub(crate) fn allows(&self, host: &str) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host);
        let mut hosts = self.artifact_hosts.iter().map(String::as_str).chain([SOURCE_CONTROLLER]);
        hosts.any(|allowed| allowed.strip_suffix('.').unwrap_or(allowed).eq_ignore_ascii_case(host))
    }

    /// Why the table cannot be used; `None` if it can.
    pub(super) fn problem(&self) -> Option<String> {
        if self.namespace.len() > 63 || !is_label(&self.namespace) {
            return Some("`flux.namespace` is not the name of a namespace".to_owned());
        }
        if self.name.len() > 253 || !self.name.split('.').all(is_label) {
            return Some("`flux.name` is not the name of an object".to_owned());
        }
        let other = self.artifact_hosts.iter().find(|host| !is_host(host))?;
        Some(format!("`flux.artifact-hosts` names hosts without scheme, port and path, not `{other}`"))
    }
}

/// A label of a name in the API of Kubernetes (RFC 1123).
pub(super) fn is_label(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.bytes().all(allowed) && !text.starts_with('-') && !text.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn artifacts_are_on_the_host_of_source_controller_and_on_listed_hosts_only() {
        let settings = FluxSettings {
            kind: FluxKind::OciRepository,
            namespace: "apps".to_owned(),
            name: "fleet".to_owned(),
            kubeconfig: None,
            artifact_hosts: vec!["Watcher.flux-system.svc".to_owned()],
        };
        assert_eq!(settings.problem(), None);
        assert_eq!(
            settings.path(),
            "/apis/source.toolkit.fluxcd.io/v1/namespaces/apps/ocirepositories/fleet"
        );
        for good in [
            "source-controller.flux-system.svc.cluster.local.",
            "source-controller.flux-system.svc.cluster.local",
            "watcher.flux-system.svc.",
        ] {
            assert!(settings.allows(good), "{good}");
        }
        for bad in ["source-controller.apps.svc.cluster.local", "svc", "", "169.254.169.254", "127.0.0.1"] {
            assert!(!settings.allows(bad), "{bad}");
        }
    }
}
