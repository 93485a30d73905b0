//! One cluster with its instance groups and keys, as the internal model.

use slipway_spec::{
    diagnostic::{Diagnostic, code},
    model::{Cluster, Ssh},
    reader::{Document, ReadCluster},
    value::KubernetesVersion,
};

use crate::{
    code as kops_code, defaults,
    field::Field,
    fields::{Kind, Table},
    outcome::Outcome,
    rules::Rules,
};

mod access;
mod addons;
mod carry;
mod components;
mod endpoint;
mod etcd;
mod identity;
mod kubelet;
mod network;
mod node_files;
mod pool;
mod runtime;

pub(crate) use identity::CLUSTER_LABEL;

/// The context of the conversion: the tables, and the known facts about the cluster.
pub(crate) struct Context<'a> {
    pub(crate) table: &'a Table,
    pub(crate) rules: &'a Rules,
    /// The cluster's name.
    pub(crate) name: String,
    /// The provider's name.
    pub(crate) provider: String,
    /// The cluster's `spec`.
    pub(crate) spec: Field<'a>,
}

/// Converts a cluster; `None` when it lacks what everything else depends on.
pub(crate) fn cluster(
    table: &Table,
    rules: &Rules,
    document: &Document,
    groups: &[&Document],
    keys: &[&Document],
) -> (Option<ReadCluster>, Vec<Diagnostic>) {
    let mut outcome = Outcome::default();
    let root = Field::root(document);
    outcome.wrote("", &root);
    let spec = root.at("spec");
    let Some((name, provider)) = identity::read(&root, &mut outcome) else {
        return (None, outcome.diagnostics);
    };
    let context = Context { table, rules, name, provider, spec };
    let cluster = context.convert(&root, groups, keys, &mut outcome);
    let read = ReadCluster { cluster, sources: outcome.sources, refused: outcome.refused };
    (Some(read), outcome.diagnostics)
}

impl Context<'_> {
    fn convert(
        &self,
        root: &Field<'_>,
        groups: &[&Document],
        keys: &[&Document],
        outcome: &mut Outcome,
    ) -> Cluster {
        let spec = &self.spec;
        let kubernetes_version = self.version(outcome);
        let labels = identity::labels(root, outcome);
        let subnets = network::subnets(self, outcome);
        let kubelet = kubelet::cluster(self, outcome);
        let files = node_files::cluster(self, outcome);
        let cloud_labels = spec.at("cloudLabels").text_map();
        outcome.wrote("cloudLabels", &spec.at("cloudLabels"));
        let sysctls = identity::sysctls(&spec.at("sysctlParameters"), outcome);
        outcome.wrote("sysctls", &spec.at("sysctlParameters"));
        let shared = pool::Shared {
            version: &kubernetes_version,
            subnets: &subnets,
            kubelet: &kubelet,
            files: &files,
            cloud_labels: &cloud_labels,
            sysctls: &sysctls,
        };
        let mut pools: Vec<_> =
            groups.iter().filter_map(|group| pool::read(self, &shared, group, outcome)).collect();
        pools.sort_by(|a, b| a.name.cmp(&b.name));
        let network = network::read(self, subnets, &pools, outcome);
        let control_plane = endpoint::read(self, &network, &pools, outcome);
        let components = components::read(self, outcome);
        let region = identity::region(self, &network.subnets);
        let service_accounts = access::service_accounts(self, region.as_deref(), outcome);
        let addons = addons::read(self, outcome);
        let mut zones: Vec<String> = Vec::new();
        for zone in
            network.subnets.iter().map(|subnet| &subnet.zone).chain(pools.iter().flat_map(|pool| &pool.zones))
        {
            if !zone.is_empty() && !zones.contains(zone) {
                zones.push(zone.clone());
            }
        }
        let mut config = carry::kops(self, Kind::Cluster, root, "provider.config", outcome);
        if config.is_null() && self.is_aws() {
            // The key says whose words these are, also without a setting.
            config = serde_json::json!({ "kops": {} });
        }
        Cluster {
            name: self.name.clone(),
            labels,
            profile: slipway_spec::model::Profile::default(),
            provider: slipway_spec::model::ProviderSelection { name: self.provider.clone(), config },
            region,
            zones,
            network,
            control_plane,
            etcd: etcd::read(self, &pools, outcome),
            components,
            kubelet: kubelet.everywhere,
            container_runtime: runtime::containerd(self, outcome),
            addons,
            authentication: access::authentication(self, outcome),
            service_accounts,
            encryption: access::encryption(self, outcome),
            audit: access::audit(self, outcome),
            pod_security: None,
            ssh: self.ssh(keys, outcome),
            node_files: files.everywhere,
            sysctls,
            assets: runtime::assets(self, outcome),
            egress_proxy: runtime::egress_proxy(self, outcome),
            cloud_labels,
            deletion_protection: false,
            hosts: Vec::new(),
            ignore_changes: Vec::new(),
            moved: Vec::new(),
            removed: Vec::new(),
            import: Vec::new(),
            pools,
            kubernetes_version,
            emulated_version: None,
            turned_back_from: None,
        }
    }

    fn version(&self, outcome: &mut Outcome) -> KubernetesVersion {
        let field = self.spec.at("kubernetesVersion");
        outcome.wrote("kubernetesVersion", &field);
        if !field.is_given() {
            let missing = field
                .error(code::MISSING_FIELD, format!("the cluster {} gives no kubernetesVersion", self.name))
                .hint(
                    "kOps takes one from its channel; write the release that the cluster runs, as in 1.35.2",
                );
            outcome.say(missing);
        }
        field.parse(outcome).unwrap_or_else(|| {
            outcome.refused.push("kubernetesVersion".to_owned());
            KubernetesVersion::new(1, 35, 0)
        })
    }

    fn ssh(&self, keys: &[&Document], outcome: &mut Outcome) -> Ssh {
        let access = self.spec.at("sshAccess");
        let key_name = self.spec.at("sshKeyName");
        outcome.wrote("ssh.access", &access);
        for (index, item) in access.items().iter().enumerate() {
            outcome.wrote(&format!("ssh.access[{index}]"), item);
        }
        outcome.wrote("ssh.keyName", &key_name);
        let keys = keys
            .iter()
            .enumerate()
            .filter_map(|(index, document)| {
                let field = Field::root(document).at("spec.publicKey");
                outcome.wrote(&format!("ssh.keys[{index}]"), &field);
                let key = field.filled();
                if key.is_none() {
                    let missing = field.error(
                        code::MISSING_FIELD,
                        format!(
                            "the SSHCredential {} has no publicKey",
                            document.name().unwrap_or("without a name")
                        ),
                    );
                    outcome.say(missing.hint("write the public key as in authorized_keys"));
                }
                Some(key?.trim().to_owned())
            })
            .collect();
        // An empty name asks for machines without a key.
        let keys = if key_name.text().as_deref() == Some("") { Vec::new() } else { keys };
        Ssh { keys, key_name: key_name.filled(), access: access.parse_all(outcome) }
    }

    /// Says that a value is assumed which the document does not give.
    pub(crate) fn assumed(field: &Field<'_>, message: String, hint: &'static str) -> Diagnostic {
        field.note(kops_code::ASSUMED, message).hint(hint)
    }

    /// Whether the provider is AWS, where kOps has defaults of its own.
    pub(crate) fn is_aws(&self) -> bool {
        self.provider == "aws"
    }

    /// The pods' and nodes' families: IPv6 only when nothing at all is masqueraded.
    pub(crate) fn is_ipv6(&self) -> bool {
        self.spec
            .at("nonMasqueradeCIDR")
            .filled()
            .unwrap_or_else(|| defaults::NON_MASQUERADE_CIDR.to_owned())
            .contains(':')
    }
}
