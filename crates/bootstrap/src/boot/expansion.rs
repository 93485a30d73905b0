use std::collections::BTreeMap;
use std::net::IpAddr;

use slipway_cluster_input::ClusterInput;
use slipway_resource::{Address, Path, Secret, SecretText, Value};

use super::NodeBootstrap;
use super::labels::is_permitted;
use crate::configuration::{Argument, Configuration, Detected, Discovery, Etcd, Join, LocalEndpoint};
use crate::expand::{self, Discovered, ExpandError, Facts, Inputs, Phased, Tokens};
use crate::from_cluster::{self, Placement};
use crate::kubelet::use_external_cloud_provider;

/// The prefix of the source of a cluster key among a machine's secrets.
const KEY: &str = "cluster:";
/// The source of the token with which the machine joins.
const TOKEN: &str = "boot:token";
/// The name of the encryption configuration among the keys of the cluster.
const ENCRYPTION: &str = "encryption";

/// Where the volume of the machine's member of etcd is mounted.
pub const ETCD_MOUNT: &str = "/var/lib/etcd";
/// The folder with the member's data. It is below the mount point, and does not exist while nothing is mounted there.
pub const ETCD_DATA: &str = "/var/lib/etcd/data";

/// The path of the configuration of the add-ons' cloud controller manager.
const CLOUD_CONFIGURATION: &str = "/etc/kubernetes/cloud.config";

/// The facts that a machine detects about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThisMachine {
    /// Its host name, address and CRI sockets.
    pub detected: Detected,
    /// The facts that the expansion takes from the host.
    pub facts: Facts,
    /// The provider id of its node: a cloud controller finds the machine by it, whatever the node's name is.
    pub provider_id: Option<String>,
    /// The name of the member of etcd whose volume is mounted; `None` where etcd keeps its data on the disk of the machine.
    pub member: Option<String>,
    /// The address that this member had on another machine. Members that know no other one reach it under this address.
    pub former_address: Option<String>,
}

/// The machine's part in the cluster, with the facts that it needs for it.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// The first control plane: it begins the cluster.
    Begins {
        /// The certificates of the authorities and the public key of service accounts, by file name.
        certificates: BTreeMap<String, String>,
    },
    /// A control plane on a machine that has got the volume with the data of its member of etcd, and that starts it without asking
    /// others first.
    Continues {
        /// The same.
        certificates: BTreeMap<String, String>,
    },
    /// A further control plane.
    JoinsControlPlane {
        /// The same.
        certificates: BTreeMap<String, String>,
        /// How it reaches the cluster.
        discovered: Discovered,
        /// The URLs of the members of etcd.
        etcd_endpoints: Vec<String>,
    },
    /// A worker.
    JoinsAsWorker {
        /// How it reaches the cluster.
        discovered: Discovered,
    },
}

/// The files below the folder of certificates that control planes get from the state of the cluster: of each
/// key pair the name of its certificate or public key, and that of its private key.
#[must_use]
pub fn key_files() -> [(&'static str, &'static str, &'static str); 4] {
    [
        (from_cluster::CA, "ca.crt", "ca.key"),
        (from_cluster::FRONT_PROXY_CA, "front-proxy-ca.crt", "front-proxy-ca.key"),
        (from_cluster::ETCD_CA, "etcd/ca.crt", "etcd/ca.key"),
        (from_cluster::SERVICE_ACCOUNTS, "sa.pub", "sa.key"),
    ]
}

impl NodeBootstrap {
    /// The secret of a private key of the cluster, by the name of its file.
    #[must_use]
    pub fn key(file: &str, text: Option<SecretText>) -> Secret {
        Secret { text, ..Secret::new(format!("{KEY}{file}")) }
    }

    /// The secret of the encryption configuration of the API server.
    #[must_use]
    pub fn encryption(text: Option<SecretText>) -> Secret {
        Self::key(ENCRYPTION, text)
    }

    /// The secret of the token with which the machine joins.
    #[must_use]
    pub fn token(text: Option<SecretText>) -> Secret {
        Secret { text, ..Secret::new(TOKEN) }
    }

    /// The configuration of this machine and the cluster.
    #[must_use]
    pub fn configuration(
        &self,
        machine: &ThisMachine,
        endpoint: &LocalEndpoint,
        begins: bool,
    ) -> Configuration {
        let cluster = ClusterInput::from(&self.cluster(endpoint));
        let host = self.host(machine, begins);
        let placement = Placement { machines: vec![host.clone()], ..Placement::default() };
        let mut configuration = from_cluster::of_machine(&cluster, &placement, endpoint, &host);
        configuration.node.bind_port = self.cluster.api_port;
        if let (Some(member), Etcd::Local(local)) = (&machine.member, &mut configuration.cluster.etcd) {
            ETCD_DATA.clone_into(&mut local.data_dir);
            local.peer_cert_sans.extend(machine.former_address.clone());
            configuration.node.etcd_member = Some(member.clone());
        }
        if let Some(id) = &machine.provider_id {
            configuration.node.kubelet_extra_args.push(Argument::new("provider-id", id));
        }
        if self.cluster.cloud_controller.is_some() {
            use_external_cloud_provider(&mut configuration);
            configuration.cluster.dns.disabled = true;
        }
        // Workers join with their own credential, and not with a token that the whole cluster shares.
        configuration.node.bootstrap_tokens = Vec::new();
        if let Some(join) = &mut configuration.join {
            *join = joining(join.clone());
        }
        if !self.is_control_plane() {
            let labels: Vec<String> = self
                .node
                .labels
                .iter()
                .filter(|(name, _)| is_permitted(name))
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            if !labels.is_empty() {
                configuration.node.kubelet_extra_args.push(Argument::new("node-labels", labels.join(",")));
            }
        }
        configuration
    }

    /// The resources of the machine.
    ///
    /// # Errors
    /// When the node cannot be expanded.
    pub fn expand(
        &self,
        machine: &ThisMachine,
        configuration: &Configuration,
        endpoint: &LocalEndpoint,
        part: &Part,
    ) -> Result<Vec<Phased>, ExpandError> {
        let facts = &machine.facts;
        let inputs = self.inputs(machine, endpoint, part);
        let mut phased = match part {
            Part::Begins { .. } | Part::Continues { .. } => expand::init(configuration, facts, &inputs)?,
            Part::JoinsControlPlane { .. } => expand::join_control_plane(configuration, facts, &inputs)?,
            Part::JoinsAsWorker { .. } => expand::join_worker(configuration, facts, &inputs)?,
        };
        self.add_settings(&mut phased);
        // With a network other than flannel, a node becomes ready only when the user has installed that
        // network.
        for node in phased.iter_mut().filter(|phased| phased.desired.address.kind() == "kubernetes_node") {
            node.desired.attributes.set(&Path::key("ready"), inputs.flannel.is_some().into());
        }
        Ok(phased)
    }

    fn host(&self, machine: &ThisMachine, begins: bool) -> from_cluster::Machine {
        from_cluster::Machine {
            name: machine.detected.hostname.clone(),
            pool: self.node.pool.clone(),
            address: machine.detected.address,
            zone: None,
            region: None,
            node_labels: BTreeMap::new(),
            founding: begins,
            rejoins: false,
            facts: machine.facts.clone(),
            cri_sockets: machine.detected.cri_sockets.clone(),
            kubelet_is_named: false,
            programs_from_start: None,
            found: None,
        }
    }

    fn inputs(&self, machine: &ThisMachine, endpoint: &LocalEndpoint, part: &Part) -> Inputs {
        let cluster = ClusterInput::from(&self.cluster(endpoint));
        let mut inputs = Inputs {
            tokens: Some(Tokens { tokens: Vec::new(), after: Vec::new() }),
            node_labels: self.node.labels.clone(),
            continues: matches!(part, Part::Continues { .. }),
            ..Inputs::default()
        };
        let certificates = match part {
            Part::Begins { certificates }
            | Part::Continues { certificates }
            | Part::JoinsControlPlane { certificates, .. } => certificates,
            Part::JoinsAsWorker { discovered } => {
                inputs.discovered = Some(discovered.clone());
                return inputs;
            }
        };
        for (_, public, private) in key_files() {
            if let Some(text) = certificates.get(public) {
                inputs.shared_files.insert(public.to_owned(), text.clone().into());
            }
            let key = Value::from(Self::key(private, None));
            inputs.shared_files.insert(private.to_owned(), key);
        }
        inputs.encryption = self.encrypts().then(|| Value::from(Self::encryption(None)));
        inputs.audit = from_cluster::audit(&cluster);
        inputs.pod_security.clone_from(&cluster.pod_security);
        inputs.flannel = from_cluster::flannel(&cluster).filter(|_| self.cluster.cloud_controller.is_none());
        inputs.serving_names = from_cluster::serving_names(&self.host(machine, true));
        if let Part::JoinsControlPlane { discovered, etcd_endpoints, .. } = part {
            inputs.discovered = Some(discovered.clone());
            inputs.etcd_endpoints.clone_from(etcd_endpoints);
            inputs.members_on_volumes = self.names_of_members();
        }
        inputs
    }

    /// Adds the kernel parameters and files of the pool. The kubelet starts after them.
    fn add_settings(&self, phased: &mut Vec<Phased>) {
        let mut settings = Vec::new();
        let mut add = |kind: &str, name: &str, attributes: Vec<(&str, Value)>| {
            let desired = slipway_resource::Desired::new(Address::new(kind, name), Value::map(attributes));
            settings.push(Phased { phase: "kubelet-start", desired });
        };
        for (name, value) in self.kernel_parameters() {
            add("sysctl", &name, vec![("name", name.as_str().into()), ("value", value.into())]);
        }
        if let Some(text) = self.cluster.cloud_controller.as_deref().filter(|_| self.is_control_plane()) {
            let attributes = vec![
                ("path", Value::from(CLOUD_CONFIGURATION)),
                ("content", text.into()),
                ("mode", "0644".into()),
            ];
            add("file", "cloud-config", attributes);
        }
        for file in &self.node.files {
            let attributes = vec![
                ("path", Value::from(file.path.as_str())),
                ("content", file.content.as_str().into()),
                ("mode", file.mode.as_str().into()),
                // The image may have such a file, and no operator is on the machine to move it away.
                ("replace_existing", true.into()),
            ];
            add("file", &format!("node-file-{}", file.name), attributes);
        }
        let kubelet = Address::new("service", "kubelet");
        for phased in phased.iter_mut().filter(|phased| phased.desired.address == kubelet) {
            phased.desired.depends_on.extend(settings.iter().map(|added| added.desired.address.clone()));
        }
        phased.extend(settings);
    }

    /// The kernel parameters of the pool, and packet forwarding, without which pods reach only their own
    /// node.
    fn kernel_parameters(&self) -> BTreeMap<String, String> {
        let mut parameters = self.node.sysctls.clone();
        let is_ipv6 = |address: &IpAddr| address.is_ipv6();
        let dns = self.cluster.dns_address;
        let forwarding = match is_ipv6(&dns) {
            true => "net.ipv6.conf.all.forwarding",
            false => "net.ipv4.ip_forward",
        };
        parameters.entry(forwarding.to_owned()).or_insert_with(|| "1".to_owned());
        parameters
    }
}

/// The parameters of a join: with the token of its credential.
fn joining(mut join: Join) -> Join {
    let token = NodeBootstrap::token(None);
    if let Discovery::Token(discovery) = &mut join.discovery {
        discovery.token = token.clone();
    }
    join.tls_bootstrap_token = Some(token);
    join
}
