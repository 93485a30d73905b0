//! The document as a cluster with one pool, as the expansion of listed hosts reads it.

use serde_json::Value as Json;
use slipway_spec::model::{
    Addon, AtRest, AtRestProvider, Audit, Authentication, Cluster, Cni, Component, Drain, Encryption,
    Endpoint, GivenEndpoint, Network, NodeFiles, NodePool, PodSecurity, Profile, ProviderSelection, Rollout,
    ServiceAccounts, Size, Ssh, Strategy, Topology, Volume,
};
use slipway_spec::value::{Amount, Duration, PortRange};

use super::document::{ControlPlane, Node, NodeBootstrap, Standards};
use crate::configuration::LocalEndpoint;

impl NodeBootstrap {
    /// The cluster of the document, reached at an endpoint. It has no other pool than that of the machine.
    pub(super) fn cluster(&self, endpoint: &LocalEndpoint) -> Cluster {
        let about = &self.cluster;
        let own = self.control_plane.as_ref();
        let issuer = || format!("https://kubernetes.default.svc.{}", about.domain);
        Cluster {
            name: about.name.clone(),
            labels: Default::default(),
            profile: Profile::Slipway,
            provider: ProviderSelection { name: about.provider.clone(), config: Json::Null },
            kubernetes_version: self.node.kubernetes_version.clone(),
            emulated_version: None,
            turned_back_from: None,
            region: about.region.clone(),
            zones: Vec::new(),
            network: self.network(),
            control_plane: slipway_spec::model::ControlPlane {
                endpoint: Endpoint::Given(GivenEndpoint { host: endpoint.host.clone(), port: endpoint.port }),
                additional_sans: self.names(),
                schedulable: own.is_some_and(|own| own.schedulable),
                ..Default::default()
            },
            etcd: own.map(|own| own.etcd.clone()).unwrap_or_default(),
            // Machines that boot have the images of the release: see the effects.
            components: self
                .components
                .iter()
                .map(|(name, own)| (*name, Component { image: None, ..own.clone() }))
                .collect(),
            kubelet: self.node.kubelet.clone(),
            container_runtime: self.runtime.clone(),
            addons: self.addons.iter().map(addon).collect(),
            authentication: own.map_or_else(Authentication::default, |own| own.authentication.clone()),
            service_accounts: ServiceAccounts {
                issuer: own.map_or_else(issuer, |own| own.service_accounts.issuer.clone()),
                discovery_store: own.and_then(|own| own.service_accounts.discovery_store.clone()),
                additional_audiences: own
                    .map(|own| own.service_accounts.additional_audiences.clone())
                    .unwrap_or_default(),
            },
            encryption: own.map(encryption).unwrap_or_default(),
            audit: own.map_or_else(Audit::default, |own| own.audit.clone()),
            pod_security: own.and_then(|own| own.pod_security.as_ref()).map(pod_security),
            ssh: Ssh::default(),
            node_files: NodeFiles::default(),
            sysctls: Default::default(),
            assets: self.assets.clone(),
            egress_proxy: self.egress_proxy.clone(),
            cloud_labels: Default::default(),
            deletion_protection: false,
            ignore_changes: Vec::new(),
            import: Vec::new(),
            moved: Vec::new(),
            removed: Vec::new(),
            pools: vec![pool(&self.node)],
            hosts: Vec::new(),
        }
    }

    /// The names in the certificate of the API server beside those that every certificate has.
    fn names(&self) -> Vec<String> {
        let own = self.control_plane.iter().flat_map(|own| own.names.iter().cloned());
        // The cloud controller calls the API server of its own machine: it runs before services have addresses.
        let local = self.cluster.cloud_controller.as_ref().map(|_| "127.0.0.1".to_owned());
        own.chain(self.cluster.internal_endpoint.clone()).chain(local).collect()
    }

    fn network(&self) -> Network {
        let about = &self.cluster;
        Network {
            id: None,
            cidr: None,
            additional_cidrs: Vec::new(),
            ipv6_cidr: None,
            ip_family: about.ip_family,
            topology: Topology::default(),
            subnets: Vec::new(),
            pod_cidrs: about.pod_cidrs.clone(),
            service_cidrs: about.service_cidrs.clone(),
            dns_address: about.dns_address,
            cluster_domain: about.domain.clone(),
            node_port_range: self
                .control_plane
                .as_ref()
                .map_or_else(PortRange::node_ports, |own| own.node_port_range),
            cni: Cni { name: about.cni.name.clone(), config: about.cni.config.clone() },
            proxy_mode: about.proxy_mode,
        }
    }
}

fn addon(setting: &super::document::Setting) -> Addon {
    Addon {
        name: setting.name.clone(),
        enabled: true,
        version: setting.version.clone(),
        replicas: setting.replicas,
        minimum_available: None,
        config: setting.config.clone(),
        manifest: None,
    }
}

fn pod_security(standards: &Standards) -> PodSecurity {
    let Standards { enforce, audit, warn, exempt_namespaces } = standards.clone();
    PodSecurity { enforce, audit, warn, exempt_namespaces }
}

/// Which objects are encrypted. The key is in the cluster's state.
fn encryption(own: &ControlPlane) -> Encryption {
    let at_rest = (!own.encrypted.is_empty()).then(|| AtRest {
        provider: AtRestProvider::default(),
        key: None,
        kms_endpoint: None,
        resources: own.encrypted.clone(),
    });
    Encryption { at_rest }
}

/// The pool of the machine. How many machines it has and how they are replaced is not the machine's concern.
fn pool(node: &Node) -> NodePool {
    NodePool {
        name: node.pool.clone(),
        labels: Default::default(),
        role: node.role,
        size: Size::default(),
        kubernetes_version: node.kubernetes_version.clone(),
        machine_type: None,
        architecture: node.architecture,
        image: None,
        mixed_instances: None,
        spot: None,
        root_volume: Volume::default(),
        volumes: Vec::new(),
        subnets: Vec::new(),
        zones: Vec::new(),
        public_ip: false,
        additional_security_groups: Vec::new(),
        node_labels: node.labels.clone(),
        taints: node.taints.clone(),
        kubelet: node.kubelet.clone(),
        rollout: Rollout {
            strategy: Strategy::default(),
            max_surge: Amount::Count(0),
            max_unavailable: Amount::Count(1),
            drain: Drain::default(),
            ready_timeout: Duration::from_mins(15),
            settle: Duration::default(),
        },
        warm_pool: None,
        hosts: None,
        user_data: Vec::new(),
        packages: node.packages.clone(),
        sysctls: node.sysctls.clone(),
        node_files: NodeFiles { files: node.files.clone(), hooks: node.hooks.clone() },
        cloud_labels: Default::default(),
        provider_config: Json::Null,
    }
}
