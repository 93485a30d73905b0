//! The nodes of a cluster as resources: founding, joining and leaving ones.

mod api_authority;
mod authorities_rotated;
mod balancer;
mod rotated;
mod self_hosted;
mod turns;

pub use turns::turns_of_removals;

use std::collections::{BTreeMap, BTreeSet};

use slipway_cluster_input::{
    BgpPeer, ClusterInput, Endpoint as Wanted, Hook, NodePool, Profile, VirtualIpHolder, VirtualIpMode,
};
use slipway_resource::{Address, Desired, Path, Secret, Value};

use super::configuration::{is_control_plane, of_machine, serving_names};
use super::{
    Founder, FromClusterError, Machine, Placement, authorities, egress_proxy, hooks, mirrors, objects,
    packages, programs, settings,
};
use crate::configuration::{Configuration, LocalEndpoint};
use crate::expand::{self, Discovered, EtcdBackup, Facts, Inputs, Phased, VirtualAddress};
use crate::hardened;
use crate::kube_vip::{Bgp, DEFAULT_IMAGE, KubeVip, Mode, Peer};
use crate::static_pod::{ETCD_CLIENT_PORT, ETCD_PEER_PORT, Member, etcd_url};

const OBJECT: &str = "kubernetes_object";

/// The settings of kubelets that machines read when they join.
const KUBELET_SETTINGS: &str = "ConfigMap/kube-system/kubelet-config";

/// The group of resources that change on one machine after the other.
const MACHINES: &str = "machines";

const KUBELET_CREDENTIALS: &str = "kubelet_credentials";

/// Placeholder for the authority's certificate, which is known only in a run.
const AUTHORITY: &str = "--placeholder-of-the-authority's-certificate--";

/// The resources of all machines.
pub(super) struct Nodes {
    pub resources: Vec<Desired>,
    /// The resources that objects of the cluster wait for: its API, and the permission to use it.
    pub after: Vec<Address>,
}

/// The resources of every machine, and the objects of a new cluster.
pub(super) fn nodes(
    cluster: &ClusterInput,
    placement: &Placement,
    endpoint: &LocalEndpoint,
) -> Result<Nodes, FromClusterError> {
    let (founding, joining): (Vec<&Machine>, Vec<&Machine>) = placement
        .machines
        .iter()
        .filter(|machine| is_control_plane(cluster, machine))
        .partition(|machine| machine.founding);
    let none = || FromClusterError::NoControlPlane(cluster.name.clone());
    // The cluster's objects wait for this machine's API server: that of the elected endpoint, else the first.
    let elected = placement.elected().filter(|machine| is_control_plane(cluster, machine));
    let all = || founding.iter().chain(&joining);
    let first = *all().find(|machine| !machine.rejoins).or_else(|| all().next()).ok_or_else(none)?;
    let leader = elected.unwrap_or(first);
    let proxies = egress_proxy::variables(cluster, placement, endpoint);
    let mut made = Making { cluster, placement, endpoint, proxies, resources: Vec::new() };
    // The objects of the cluster come from the expansion of one machine, with any number of control planes.
    made.founding(leader, true)?;
    for machine in founding.iter().filter(|machine| machine.name != leader.name) {
        made.founding(machine, false)?;
    }
    if !leader.founding {
        made.resources.retain(|desired| !is_inside_of(desired, &leader.name));
    }
    // The other machines wait for the leader's API server, and the leader waits for none of them.
    let mut joining = joining;
    joining.sort_by_key(|machine| machine.name != leader.name);
    let members: Vec<&Machine> = founding.iter().chain(&joining).copied().collect();
    let mut before: Option<Address> = None;
    for machine in &joining {
        let leads = machine.name == leader.name;
        before = Some(made.joining_control_plane(machine, &members, before, leads)?);
    }
    for machine in placement.machines.iter().filter(|machine| !is_control_plane(cluster, machine)) {
        made.worker(machine, leader)?;
    }
    made.components_follow_the_balancer();
    made.token_is_renewed_on_demand();
    objects::proxies_follow(&mut made.resources, placement.proxies_found.as_deref());
    for machine in founding.iter().chain(&joining) {
        made.leaves_first(machine);
    }
    made.members_leave_in_turn(&founding);
    made.members_know_each_other(&members);
    made.programs_come_first();
    made.keys_are_rotated(&members, leader);
    made.authorities_are_rotated(&members, leader);
    made.api_authority_is_rotated(&members, leader);
    made.machines_change_in_turn();
    made.programs_come_in_turn();
    made.control_planes_are_self_hosted(&members, leader);
    let after = vec![inside("static_pod", leader, "kube-apiserver"), administrators()];
    Ok(Nodes { resources: made.resources, after })
}

fn inside(kind: &str, machine: &Machine, name: &str) -> Address {
    Address::new(kind, format!("{}/{name}", machine.name))
}

fn is_inside_of(desired: &Desired, machine: &str) -> bool {
    desired.attributes.get("host").and_then(Value::as_str) == Some(machine)
        || (desired.address.kind() == "kubernetes_node" && desired.address.name() == machine)
}

/// Whether a resource is the object of the token with which machines join.
pub(super) fn is_token(desired: &Desired) -> bool {
    desired.address.kind() == OBJECT && crate::objects::is_token(desired.address.name())
}

fn administrators() -> Address {
    Address::new("kubernetes_object", "ClusterRoleBinding//kubeadm:cluster-admins")
}

struct Making<'a> {
    cluster: &'a ClusterInput,
    placement: &'a Placement,
    endpoint: &'a LocalEndpoint,
    /// The variables of the proxy that the spec names.
    proxies: BTreeMap<String, String>,
    resources: Vec<Desired>,
}

impl Making<'_> {
    /// A founding control plane. With `objects`, also the objects of a new cluster.
    fn founding(&mut self, machine: &Machine, objects: bool) -> Result<(), FromClusterError> {
        let configuration = self.configuration(machine);
        let mut configuration = configuration;
        configuration.join = None;
        let inputs = self.inputs(machine);
        let phased = expand::init(&configuration, &self.facts(machine), &inputs).map_err(failed(machine))?;
        let phased = phased.into_iter().filter(|phased| {
            let kind = phased.desired.address.kind();
            // The super administrator is for the first steps of a single control plane. Here the state has
            // the authority.
            objects || (kind != "kubernetes_object" && phased.phase != "kubeconfig/super-admin")
        });
        self.add(phased.collect(), machine);
        if !objects && let Some(node) = self.node(machine) {
            node.depends_on.push(administrators());
        }
        Ok(())
    }

    /// A control plane that joins after the previous one. Returns the resource that the next one waits for.
    fn joining_control_plane(
        &mut self,
        machine: &Machine,
        members: &[&Machine],
        before: Option<Address>,
        leads: bool,
    ) -> Result<Address, FromClusterError> {
        let configuration = self.configuration(machine);
        let others = members.iter().filter(|other| other.name != machine.name);
        let mut inputs = self.inputs(machine);
        // Later control planes do not exist yet when this one joins.
        inputs.etcd_endpoints = others
            .filter(|other| other.founding || other.name < machine.name)
            .map(|other| etcd_url(&other.address.to_string(), ETCD_CLIENT_PORT))
            .collect();
        let phased = expand::join_control_plane(&configuration, &self.facts(machine), &inputs);
        self.add(phased.map_err(failed(machine))?, machine);
        // The leader's API server creates the objects of the cluster, so the leader joined before.
        let waits = if leads { Vec::new() } else { self.joins_after(machine) };
        let member = inside("etcd_member", machine, "etcd");
        for desired in &mut self.resources {
            if desired.address == member {
                // etcd accepts one learner at a time, and a member joins only an existing cluster.
                desired.depends_on.extend(before.clone());
                desired.depends_on.extend(waits.clone());
            }
            if desired.address == inside("service", machine, "kubelet") {
                desired.depends_on.extend(waits.clone());
            }
        }
        Ok(inside("etcd_voter", machine, "etcd"))
    }

    fn worker(&mut self, machine: &Machine, leader: &Machine) -> Result<(), FromClusterError> {
        let configuration = self.configuration(machine);
        let inputs = self.inputs(machine);
        let phased =
            expand::join_worker(&configuration, &self.facts(machine), &inputs).map_err(failed(machine))?;
        self.add(phased, machine);
        // The kubelet waits for its certificate only after the signer of certificates runs.
        let mut waits = self.joins_after(machine);
        waits.push(inside("static_pod", leader, "kube-controller-manager"));
        let credentials = inside("kubelet_credentials", machine, "kubelet");
        // The kubelet has written its kubeconfig itself. When the endpoint changes, the kubeconfig must
        // change too.
        let server = Value::from(configuration.node_endpoint().url());
        for desired in self.resources.iter_mut().filter(|desired| desired.address == credentials) {
            desired.depends_on.extend(waits.clone());
            desired.attributes.set(&Path::key("server"), server.clone());
        }
        let pool = self.cluster.pool(&machine.pool);
        let mut node = self.registered(machine, pool);
        node.depends_on = vec![inside("service", machine, "kubelet"), credentials, administrators()];
        self.resources.push(node);
        Ok(())
    }

    /// The resources that a joining machine needs from the cluster: the token, and the permission to request
    /// a certificate.
    fn joins_after(&self, machine: &Machine) -> Vec<Address> {
        let of_tokens = |desired: &&Desired| {
            let is_right = desired.address.name().starts_with("ClusterRoleBinding//kubeadm:");
            is_token(desired) || desired.address.kind() == OBJECT && is_right
        };
        let found = self.resources.iter().filter(of_tokens).map(|desired| desired.address.clone());
        let found: BTreeSet<Address> = found.collect();
        let _ = machine;
        found.into_iter().collect()
    }

    /// The token expires by itself. It is made again, or its end moved, when a machine joins.
    fn token_is_renewed_on_demand(&mut self) {
        let on_demand = !self.placement.is_join_token_endless;
        for desired in self.resources.iter_mut().filter(|desired| is_token(desired)) {
            desired.lifecycle.on_demand = on_demand;
        }
    }

    /// A member also connects to all others: it must learn its own status when its own etcd does not answer.
    fn members_know_each_other(&mut self, members: &[&Machine]) {
        for machine in members {
            let others = members.iter().filter(|other| other.name != machine.name);
            let of = |machine: &Machine| etcd_url(&machine.address.to_string(), ETCD_CLIENT_PORT);
            // A founding member tries its own endpoint first. A joining one has none before it is a member.
            let own = machine.founding.then(|| of(machine));
            let known: Vec<String> = own.into_iter().chain(others.map(|other| of(other))).collect();
            for kind in ["etcd_member", "etcd_voter"] {
                let address = inside(kind, machine, "etcd");
                for desired in self.resources.iter_mut().filter(|desired| desired.address == address) {
                    desired
                        .attributes
                        .set(&Path::key("endpoints"), Value::list(known.iter().map(String::as_str)));
                }
            }
        }
    }

    fn configuration(&self, machine: &Machine) -> Configuration {
        of_machine(self.cluster, self.placement, self.endpoint, machine)
    }

    /// The facts about a machine. The proxy of the spec takes the place of that in its environment.
    fn facts(&self, machine: &Machine) -> Facts {
        let mut facts = machine.facts.clone();
        if !self.proxies.is_empty() {
            facts.proxy_environment.clone_from(&self.proxies);
        }
        facts
    }

    fn inputs(&self, machine: &Machine) -> Inputs {
        let cluster = self.cluster;
        let control_plane = is_control_plane(cluster, machine);
        let pool = cluster.pool(&machine.pool);
        let own_defaults = cluster.profile.has_own_defaults();
        Inputs {
            shared_files: if control_plane { authorities::files(self.placement) } else { Default::default() },
            authority_base64: Some(authorities::ca_certificate_base64(self.placement)),
            tokens: Some(authorities::tokens(cluster, self.placement)),
            encryption: authorities::encryption(cluster, self.placement).filter(|_| control_plane),
            audit: objects::audit(cluster),
            pod_security: cluster.pod_security.clone(),
            flannel: objects::flannel(cluster),
            kube_vip: kube_vip(cluster, machine),
            virtual_address: virtual_address(cluster).filter(|_| control_plane),
            discovered: Some(Discovered {
                server: self.endpoint.url(),
                authority: AUTHORITY.to_owned(),
                client_certificate: None,
            }),
            etcd_members: members_found(machine),
            etcd_backup: etcd_backup(cluster).filter(|_| control_plane),
            serving_names: if own_defaults { serving_names(machine) } else { Vec::new() },
            kubelet: programs::kubelet(cluster, machine),
            kubelet_is_named: machine.kubelet_is_named,
            node_labels: self.labels(machine, pool),
            ..Inputs::default()
        }
    }

    fn add(&mut self, phased: Vec<Phased>, machine: &Machine) {
        let origin = format!("pools[{}].hosts", machine.pool);
        let pool = self.cluster.pool(&machine.pool);
        let mut settings = settings::of_machine(pool, machine);
        settings.extend(mirrors::of_machine(self.cluster, machine));
        settings.extend(egress_proxy::of_machine(&self.proxies, machine));
        let proxy = egress_proxy::hook(&self.proxies, machine);
        let packages = pool.and_then(|pool| packages::hook(pool, &self.proxies));
        let own: Vec<Hook> = proxy.into_iter().chain(packages).collect();
        let hooks = hooks::of_machine(pool, machine, &settings, &own);
        settings.extend(hooks.before_kubelet);
        let programs = programs::of_machine(self.cluster, self.placement, machine);
        let authority = authorities::ca_certificates(self.placement);
        let address_of = |desired: &Desired| desired.address.clone();
        let installed: Vec<Address> = programs.iter().map(address_of).collect();
        let before: Vec<Address> = settings.iter().map(address_of).chain(installed.iter().cloned()).collect();
        self.resources.extend(settings);
        self.resources.extend(hooks.after_kubelet);
        self.resources.extend(programs);
        for Phased { mut desired, .. } in expand::on_host(phased, &machine.name) {
            desired.attributes = with_authority(&desired.attributes, &authority);
            if desired.attributes.get("host").is_some() {
                desired.origins.insert(Path::root(), origin.clone());
            }
            if self.has_no_standing_administrators() && is_administrator(&desired, machine) {
                if self.cluster.profile == Profile::Hardened && desired.address.name().ends_with("/admin") {
                    self.resources.push(self.without_credentials(machine, &origin));
                }
                continue;
            }
            let is_settings =
                desired.address.kind() == OBJECT && desired.address.name().starts_with("ConfigMap/");
            if is_settings && self.placement.is_found() {
                // kubeadm has written the cluster's settings, and owns their fields until one of them
                // changes.
                desired.attributes.set(&Path::key("force_conflicts"), true.into());
            }
            if machine.found.is_some() {
                if is_left_out(&desired, is_control_plane(self.cluster, machine)) {
                    continue;
                }
                as_found(&mut desired, machine, is_control_plane(self.cluster, machine));
            }
            if desired.address == inside("service", machine, "kubelet") {
                // The kubelet starts with them.
                desired.depends_on.extend(before.iter().cloned());
            }
            if desired.address == inside("kubelet_state", machine, "kubelet") {
                // Its pods are removed while there is a container runtime.
                desired.depends_on.extend(installed.iter().cloned());
            }
            if desired.address.kind() == "kubernetes_node" {
                desired.attributes.set(&Path::key("ready"), self.becomes_ready().into());
                self.has_kubelet(&mut desired, machine);
            }
            self.resources.push(desired);
        }
    }

    /// Whether machines store no credentials of an administrator that are valid for a year. An operator then
    /// gets short-lived ones from the authority in the state. kubeadm stores such credentials, and kube-vip
    /// uses them.
    fn has_no_standing_administrators(&self) -> bool {
        self.cluster.profile.has_own_defaults()
            && !matches!(&self.cluster.control_plane.endpoint, Wanted::VirtualIp(address)
                if address.holder == VirtualIpHolder::KubeVip)
    }

    /// The file in which benchmarks and administrators look for credentials, without any.
    fn without_credentials(&self, machine: &Machine, origin: &str) -> Desired {
        let text = hardened::kubeconfig_without_credentials(&self.cluster.name, &self.endpoint.url());
        let attributes = vec![
            ("host", Value::from(machine.name.as_str())),
            ("path", hardened::ADMINISTRATOR.into()),
            ("content", text.into()),
            ("mode", "0600".into()),
        ];
        let mut desired = Desired::new(inside("file", machine, "admin.conf"), Value::map(attributes));
        desired.origins.insert(Path::root(), origin.to_owned());
        desired
    }

    fn node(&mut self, machine: &Machine) -> Option<&mut Desired> {
        let address = Address::new("kubernetes_node", machine.name.as_str());
        self.resources.iter_mut().find(|desired| desired.address == address)
    }

    /// The node of a worker: waits for it, and sets its labels and taints.
    fn registered(&self, machine: &Machine, pool: Option<&NodePool>) -> Desired {
        let mut attributes = vec![
            ("name", Value::from(machine.name.as_str())),
            ("labels", self.labels(machine, pool).into()),
            ("ready", self.becomes_ready().into()),
        ];
        let taints = pool.into_iter().flat_map(|pool| &pool.taints).map(|taint| {
            let value = Some(taint.value.clone()).filter(|value| !value.is_empty());
            Value::map([
                ("key", Value::from(taint.key.as_str())),
                ("value", value.into()),
                ("effect", format!("{:?}", taint.effect).into()),
            ])
        });
        attributes.push(("taints", Value::list(taints)));
        if self.cluster.profile.has_own_defaults() {
            attributes.push(("serving", Value::list(serving_names(machine))));
        }
        let address = Address::new("kubernetes_node", machine.name.as_str());
        let mut desired = Desired::new(address, Value::map(attributes));
        self.has_kubelet(&mut desired, machine);
        desired.origins.insert(Path::root(), format!("pools[{}]", machine.pool));
        desired
    }

    /// Adds the kubelet's version to a node. The node changes after the kubelet, so that a run that is killed
    /// while the node is drained leaves a pending change: the next run uncordons the node.
    fn has_kubelet(&self, node: &mut Desired, machine: &Machine) {
        if let Some(kubelet) = programs::kubelet(self.cluster, machine) {
            node.attributes.set(&Path::key("kubelet_version"), kubelet.version.into());
        }
    }

    /// The labels of a node: its pool's, its location, and its own. kubeadm does not set the location.
    fn labels(&self, machine: &Machine, pool: Option<&NodePool>) -> BTreeMap<String, String> {
        let mut labels = pool.map(|pool| pool.node_labels.clone()).unwrap_or_default();
        let place = [("zone", &machine.zone), ("region", &machine.region)];
        for (name, value) in place.into_iter().filter(|_| self.cluster.profile.has_own_defaults()) {
            if let Some(value) = value {
                labels.insert(format!("topology.kubernetes.io/{name}"), value.clone());
            }
        }
        labels.extend(machine.node_labels.clone());
        labels
    }

    /// Whether nodes become ready by this plan, because it includes a network of pods.
    fn becomes_ready(&self) -> bool {
        objects::flannel(self.cluster).is_some()
    }
}

fn is_administrator(desired: &Desired, machine: &Machine) -> bool {
    ["admin", "super-admin"].iter().any(|name| desired.address == inside("kubeconfig", machine, name))
}

/// The members that the etcd of an adopted node was started with.
fn members_found(machine: &Machine) -> Option<Vec<Member>> {
    let members = &machine.found.as_ref()?.etcd_members;
    let member = |member: &Founder| Member {
        name: member.name.clone(),
        peer_url: etcd_url(&member.address.to_string(), ETCD_PEER_PORT),
    };
    (!members.is_empty()).then(|| members.iter().map(member).collect())
}

/// Whether an adopted node has no such resource: those for joining only, and a worker's folder of manifests,
/// which kubeadm does not make.
fn is_left_out(desired: &Desired, control_plane: bool) -> bool {
    let address = &desired.address;
    (address.kind() == "kubeconfig" && address.name().ends_with("/bootstrap-kubelet"))
        || (!control_plane && address.kind() == "directory" && address.name().ends_with("/manifests"))
}

/// A resource of an adopted node, without the parts that such a node does not have.
fn as_found(desired: &mut Desired, machine: &Machine, control_plane: bool) {
    if let (KUBELET_CREDENTIALS, Value::Map(attributes)) = (desired.address.kind(), &mut desired.attributes) {
        attributes.remove("bootstrap_kubeconfig_path");
    }
    let bootstrap = inside("kubeconfig", machine, "bootstrap-kubelet");
    let manifests = inside("directory", machine, "manifests");
    desired.depends_on.retain(|address| *address != bootstrap && (control_plane || *address != manifests));
}

fn failed(machine: &Machine) -> impl Fn(expand::ExpandError) -> FromClusterError {
    let machine = machine.name.clone();
    move |source| FromClusterError::Node { machine: machine.clone(), source }
}

/// The snapshots of control planes, if the spec requests them.
fn etcd_backup(cluster: &ClusterInput) -> Option<EtcdBackup> {
    let etcd = cluster.etcd.first().filter(|etcd| etcd.backups.enabled)?;
    Some(EtcdBackup {
        cluster: cluster.name.clone(),
        store: etcd.backups.store.clone(),
        interval_seconds: etcd.backups.interval.get().as_secs(),
        retention_seconds: etcd.backups.retention.get().as_secs(),
        keep_on_delete: etcd.backups.keep_on_delete,
    })
}

/// The virtual address that the control planes hand over without kube-vip.
fn virtual_address(cluster: &ClusterInput) -> Option<VirtualAddress> {
    match &cluster.control_plane.endpoint {
        Wanted::VirtualIp(wanted) if wanted.holder == VirtualIpHolder::Slipway => {
            Some(VirtualAddress { address: wanted.address, interface: wanted.interface.clone() })
        }
        _ => None,
    }
}

fn kube_vip(cluster: &ClusterInput, machine: &Machine) -> Option<KubeVip> {
    let Wanted::VirtualIp(wanted) = &cluster.control_plane.endpoint else { return None };
    if wanted.holder == VirtualIpHolder::Slipway {
        return None;
    }
    let peer = |peer: &BgpPeer| Peer {
        address: peer.address.to_string(),
        autonomous_system: peer.autonomous_system,
        multihop: peer.multihop,
    };
    let mode = match wanted.mode {
        VirtualIpMode::Arp => Mode::Arp,
        VirtualIpMode::Bgp => {
            let bgp = wanted.bgp.as_ref()?;
            Mode::Bgp(Bgp {
                router_id: machine.address.to_string(),
                autonomous_system: bgp.autonomous_system,
                peers: bgp.peers.iter().map(peer).collect(),
            })
        }
        VirtualIpMode::Wireguard => {
            let tunnels = &wanted.wireguard.as_ref()?.tunnels;
            Mode::Wireguard(Value::from(Secret::new(tunnels.source())))
        }
    };
    Some(KubeVip {
        image: wanted.image.clone().unwrap_or_else(|| DEFAULT_IMAGE.to_owned()),
        address: wanted.address.to_string(),
        port: wanted.port,
        interface: wanted.interface.clone(),
        mode,
    })
}

/// A value with the authority's certificate in place of its placeholders.
fn with_authority(value: &Value, authority: &Value) -> Value {
    match value {
        Value::String(text) if text == AUTHORITY => authority.clone(),
        Value::List(items) => Value::List(items.iter().map(|item| with_authority(item, authority)).collect()),
        Value::Map(entries) => {
            let entries = entries.iter();
            Value::Map(entries.map(|(key, value)| (key.clone(), with_authority(value, authority))).collect())
        }
        other => other.clone(),
    }
}
