//! Converts the model into the message of the provider contract.
//!
//! Every field is converted explicitly: a new field of the model reaches providers only when a conversion is
//! written for it here.

use slipway_cluster_input as input;

use crate::model;

mod control_plane;
mod host;
mod network;
mod node;
mod pool;

fn all<From, To: std::convert::From<From>>(from: Vec<From>) -> Vec<To> {
    from.into_iter().map(Into::into).collect()
}

impl From<model::Cluster> for input::ClusterInput {
    fn from(from: model::Cluster) -> Self {
        let model::Cluster {
            name,
            labels,
            profile,
            provider,
            kubernetes_version,
            emulated_version,
            // How plans are made is of no concern to providers.
            turned_back_from: _,
            region,
            zones,
            network,
            control_plane,
            etcd,
            components,
            kubelet,
            container_runtime,
            addons,
            authentication,
            service_accounts,
            encryption,
            audit,
            pod_security,
            ssh,
            node_files,
            sysctls,
            assets,
            egress_proxy,
            cloud_labels,
            deletion_protection,
            ignore_changes,
            moved,
            // Plans need them, and not providers.
            removed: _,
            import: _,
            pools,
            hosts,
        } = from;
        Self {
            api_version: input::API_VERSION.to_owned(),
            must_understand: Vec::new(),
            name,
            labels,
            profile: profile.into(),
            provider: provider.into(),
            kubernetes_version,
            emulated_version,
            region,
            zones,
            network: network.into(),
            control_plane: control_plane.into(),
            etcd: all(etcd),
            components: components.into_iter().map(|(key, value)| (key.into(), value.into())).collect(),
            kubelet: kubelet.into(),
            container_runtime: container_runtime.into(),
            addons: all(addons),
            authentication: authentication.into(),
            service_accounts: service_accounts.into(),
            encryption: encryption.into(),
            audit: audit.into(),
            pod_security: pod_security.map(Into::into),
            ssh: ssh.into(),
            node_files: node_files.into(),
            sysctls,
            assets: assets.into(),
            egress_proxy: egress_proxy.map(Into::into),
            cloud_labels,
            deletion_protection,
            ignore_changes: all(ignore_changes),
            moved: all(moved),
            pools: all(pools),
            hosts: all(hosts),
        }
    }
}

impl From<model::ProviderSelection> for input::ProviderSelection {
    fn from(from: model::ProviderSelection) -> Self {
        let model::ProviderSelection { name, config } = from;
        Self { name, config }
    }
}

impl From<model::Profile> for input::Profile {
    fn from(from: model::Profile) -> Self {
        match from {
            model::Profile::Slipway => Self::Slipway,
            model::Profile::Kubeadm => Self::Kubeadm,
            model::Profile::Hardened => Self::Hardened,
        }
    }
}

impl From<&model::Cluster> for input::ClusterInput {
    fn from(from: &model::Cluster) -> Self {
        from.clone().into()
    }
}

#[cfg(test)]
mod tests;
