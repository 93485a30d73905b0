//! The kubeconfigs of a control plane, as data.

use crate::{
    configuration::{Configuration, LocalEndpoint},
    pki::{Subject, inventory::ADMINISTRATORS},
};

/// The folder of the kubeconfigs of a node.
pub const FOLDER: &str = "/etc/kubernetes";
/// The kubeconfig with which a kubelet requests its certificate, below [`FOLDER`].
pub const BOOTSTRAP_KUBELET: &str = "bootstrap-kubelet.conf";
/// The user of [`BOOTSTRAP_KUBELET`].
pub const BOOTSTRAP_USER: &str = "tls-bootstrap-token-user";

/// One kubeconfig of a control plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The name of its phase below `kubeconfig`.
    pub name: &'static str,
    /// Its file below [`FOLDER`].
    pub file: &'static str,
    /// Its purpose, in a few words.
    pub description: &'static str,
    user: &'static str,
    organization: Option<&'static str>,
    server: Server,
    /// Whether a control plane that joins gets it too. The first one has them all.
    pub on_join: bool,
    /// Whether it is renewed with the node's certificates; the kubelet renews its own.
    pub renewed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Server {
    /// The endpoint of the whole cluster.
    Shared,
    /// The API server of the node, or the balancer of the node.
    Local,
    /// The API server of the node, unless kubeadm's gate `ControlPlaneKubeletLocalMode` is off.
    Kubelet,
}

/// Every kubeconfig, in the order of kubeadm's phases.
pub const KUBECONFIGS: [Entry; 5] = [
    Entry {
        name: "admin",
        file: "admin.conf",
        description: "certificate embedded in the kubeconfig file for the admin to use and for kubeadm itself",
        user: "kubernetes-admin",
        organization: Some(ADMINISTRATORS),
        server: Server::Shared,
        on_join: true,
        renewed: true,
    },
    Entry {
        name: "super-admin",
        file: "super-admin.conf",
        description: "certificate embedded in the kubeconfig file for the super-admin",
        user: "kubernetes-super-admin",
        organization: Some("system:masters"),
        server: Server::Shared,
        on_join: false,
        renewed: true,
    },
    Entry {
        name: "kubelet",
        file: "kubelet.conf",
        description: "certificate embedded in the kubeconfig file for the kubelet",
        user: "system:node:",
        organization: Some("system:nodes"),
        server: Server::Kubelet,
        on_join: false,
        renewed: false,
    },
    Entry {
        name: "controller-manager",
        file: "controller-manager.conf",
        description: "certificate embedded in the kubeconfig file for the controller manager to use",
        user: "system:kube-controller-manager",
        organization: None,
        server: Server::Local,
        on_join: true,
        renewed: true,
    },
    Entry {
        name: "scheduler",
        file: "scheduler.conf",
        description: "certificate embedded in the kubeconfig file for the scheduler manager to use",
        user: "system:kube-scheduler",
        organization: None,
        server: Server::Local,
        on_join: true,
        renewed: true,
    },
];

/// The kubeconfig with this phase name.
#[must_use]
pub fn kubeconfig(name: &str) -> Option<&'static Entry> {
    KUBECONFIGS.iter().find(|entry| entry.name == name)
}

impl Entry {
    /// Its path.
    #[must_use]
    pub fn path(&self) -> String {
        format!("{FOLDER}/{}", self.file)
    }

    /// Whether a component of the node reads it.
    pub(crate) fn is_of_component(&self) -> bool {
        self.server != Server::Shared
    }

    /// Its user, who is also the subject of its client certificate.
    #[must_use]
    pub fn subject(&self, configuration: &Configuration) -> Subject {
        let name = match self.server {
            Server::Kubelet => format!("{}{}", self.user, configuration.node.name),
            Server::Shared | Server::Local => self.user.to_owned(),
        };
        Subject::new(name).with_organizations(self.organization)
    }

    /// The API in it.
    #[must_use]
    pub fn server(&self, configuration: &Configuration) -> LocalEndpoint {
        match self.server {
            Server::Shared => configuration.server_endpoint(),
            Server::Local => configuration.component_endpoint(),
            Server::Kubelet if configuration.cluster.feature_gate("ControlPlaneKubeletLocalMode") => {
                configuration.component_endpoint()
            }
            Server::Kubelet => configuration.node_endpoint(),
        }
    }
}
