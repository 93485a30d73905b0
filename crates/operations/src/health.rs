//! The health of a cluster: its API, and the progress of each node.

mod certificates;
mod launched;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value as Json, json};
use slipway_bootstrap::from_cluster::{Machine, Placement};
use slipway_engine::State;
use slipway_provider_kubernetes::{Access as _, Reader};
use slipway_resource::provider::ReadRequest;
use slipway_resource::schema::Part;
use slipway_resource::{Address, Identity, Observation, ProviderError, Value};
use slipway_spec::model::{Cluster, Role};

use crate::access::ClusterAccess;
use crate::composition;
use crate::error::Error;
use crate::opened::Opened;

pub use certificates::{CertificateEnd, certificates};

/// The health of a cluster.
#[derive(Clone, Debug)]
pub struct Health {
    /// Why the API does not answer, if so.
    pub api: Option<String>,
    /// The nodes, in the order of their names.
    pub nodes: Vec<NodeHealth>,
    /// Pods of the system that do not run, each with why.
    pub pods: Vec<(String, String)>,
    /// Problems of etcd as a whole, each with a hint.
    pub etcd: Vec<String>,
    /// Machines of the provider that are no nodes, by role.
    pub missing: Vec<String>,
}

/// The progress of a node.
#[derive(Clone, Debug)]
pub struct NodeHealth {
    /// Its name.
    pub name: String,
    /// Its pool.
    pub pool: String,
    /// How far it has come.
    pub phase: Phase,
    /// The last error while it is not ready, or a missing part although its node is ready.
    pub error: Option<String>,
    /// The last lines that its machine wrote to its console, if it did not become a node.
    pub console: Vec<String>,
}

/// How far a machine is on its way to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It is not claimed for the cluster.
    Unclaimed,
    /// Its provider launched it, and it has not registered.
    Launched,
    /// It is claimed, and has no agent.
    Claimed,
    /// Its agent works, and its kubelet does not run yet.
    Prepared,
    /// Its kubelet runs, and it has not registered.
    Started,
    /// It has registered, and is not ready.
    Registered,
    /// It is a ready node.
    Ready,
}

impl Phase {
    /// The phase as reports name it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unclaimed => "unclaimed",
            Self::Launched => "launched",
            Self::Claimed => "claimed",
            Self::Prepared => "prepared",
            Self::Started => "started",
            Self::Registered => "registered",
            Self::Ready => "ready",
        }
    }
}

impl Health {
    /// Whether the API answers, every node is ready, every pod of the system runs, and etcd waits for no member.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.api.is_none()
            && self.pods.is_empty()
            && self.etcd.is_empty()
            && self.missing.is_empty()
            && !self.nodes.is_empty()
            && self.nodes.iter().all(|node| node.phase == Phase::Ready && node.error.is_none())
    }

    /// The report in machine-readable form.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let node = |node: &NodeHealth| json!({ "name": node.name, "pool": node.pool, "phase": node.phase.as_str(), "error": node.error, "console": node.console });
        let pod = |(name, reason): &(String, String)| json!({ "name": name, "reason": reason });
        json!({
            "healthy": self.is_healthy(),
            "api": { "answers": self.api.is_none(), "error": self.api },
            "nodes": self.nodes.iter().map(node).collect::<Vec<_>>(),
            "pods": self.pods.iter().map(pod).collect::<Vec<_>>(),
            "etcd": self.etcd,
            "missing": self.missing,
        })
    }
}

/// A reader of the API of a cluster, as an administrator, or the reason why there is none.
///
/// # Errors
/// When the cluster has an API, and credentials for it cannot be created.
pub async fn api(access: &ClusterAccess) -> Result<Result<Reader, String>, Error> {
    let kubeconfig = access.kubeconfig().await?;
    Ok(kubeconfig.map(Reader::new).ok_or_else(|| "the cluster has no API yet".to_owned()))
}

/// The versions of the kubelets by the names of their nodes, or why they are not known.
pub(crate) async fn kubelets(access: Arc<ClusterAccess>) -> Result<BTreeMap<String, String>, String> {
    let api = api(&access).await.map_err(|error| error.to_string())??;
    let nodes = api.get("/api/v1/nodes").await.map_err(|error| error.message)?;
    let items = nodes.get("items").and_then(Json::as_array);
    let version = |node: &Json| (text(node, "/metadata/name"), text(node, "/status/nodeInfo/kubeletVersion"));
    Ok(items.into_iter().flatten().map(version).collect())
}

/// The machines that a cluster has by its state.
fn machines(state: &State) -> Result<Vec<Machine>, Error> {
    let mut machines = Vec::new();
    for catalog in state.snapshot.catalogs.values() {
        if let Some(Placement { machines: placed, .. }) = composition::placement(catalog)? {
            machines.extend(placed);
        }
    }
    Ok(machines)
}

/// Reads the health of a cluster.
///
/// # Errors
/// [`Error::NoApi`] when a provider makes the machines of the cluster, and its state does not have the authority of an API. Also
/// when its state cannot be read, or when credentials for its API cannot be created.
pub async fn look(opened: &Opened) -> Result<Health, Error> {
    let Some(state) = &opened.state else {
        return Ok(Health {
            api: Some("nothing was applied yet".to_owned()),
            nodes: Vec::new(),
            pods: Vec::new(),
            etcd: Vec::new(),
            missing: Vec::new(),
        });
    };
    let mut machines = machines(state)?;
    if machines.is_empty() {
        // Nothing was committed yet. The provider's present choices describe what is being created.
        let expansion = opened.expand(BTreeMap::new()).await?;
        for catalog in expansion.catalogs.values() {
            machines.extend(composition::placement(catalog)?.unwrap_or_default().machines);
        }
    }
    let (api, nodes, pods) = match api(&opened.access()).await? {
        Ok(api) => match seen(&api).await {
            Ok((nodes, pods)) => (None, nodes, pods),
            Err(error) => (Some(error.message), BTreeMap::new(), Vec::new()),
        },
        Err(reason) => (Some(reason), BTreeMap::new(), Vec::new()),
    };
    if !opened.is_on_hosts() {
        if api.is_some() && !composition::gives_keys(&state.snapshot) {
            // The provider of such a cluster knows no more than a plan does.
            return Err(opened.no_authority());
        }
        let silent = launched::without_node(opened, state, &nodes).await;
        let missing = if api.is_none() { missing(&opened.spec.cluster, &nodes) } else { Vec::new() };
        let nodes = nodes.into_iter().map(registered).chain(silent).collect();
        return Ok(Health { api, nodes, pods, etcd: Vec::new(), missing });
    }
    let parts = parts(opened, state);
    let mut health = Vec::new();
    for machine in &machines {
        health.push(one(opened, (state, &parts), machine, &nodes).await);
    }
    let etcd = of_etcd(opened, state).await;
    Ok(Health { api, nodes: health, pods, etcd, missing: Vec::new() })
}

/// The health of a node whose machine only its provider knows.
fn registered((name, seen): (String, Seen)) -> NodeHealth {
    let phase = if seen.unready.is_none() { Phase::Ready } else { Phase::Registered };
    NodeHealth { name, pool: seen.pool, phase, error: seen.unready, console: Vec::new() }
}

/// The minimum number of machines of a cluster's pools that are not nodes, by role.
fn missing(cluster: &Cluster, nodes: &Nodes) -> Vec<String> {
    let of_role = |is_control_plane: bool| {
        let pools = cluster.pools.iter().filter(|pool| match pool.role {
            Role::ControlPlane => is_control_plane,
            Role::Worker | Role::ApiServer => !is_control_plane,
            Role::Bastion => false,
        });
        let wanted: u64 = pools.map(|pool| u64::from(pool.size.min())).sum();
        let found = nodes.values().filter(|node| node.is_control_plane == is_control_plane).count() as u64;
        let role = if is_control_plane { "control plane" } else { "worker" };
        (found < wanted).then(|| format!("{found} of at least {wanted} {role} machines are nodes"))
    };
    [true, false].into_iter().filter_map(of_role).collect()
}

/// Members of etcd that were announced and never started, and the alarms of etcd, as reported by the first member that answers.
async fn of_etcd(opened: &Opened, state: &State) -> Vec<String> {
    for (address, record) in &state.snapshot.resources {
        if opened.providers().part(address) != Some(Part::EtcdMember) {
            continue;
        }
        let Some(Observation::Present(seen)) = read(opened, address, &record.identity).await else {
            continue;
        };
        let Some(Value::List(members)) = seen.get("never_started") else { continue };
        let alarms = match seen.get("alarms") {
            Some(Value::List(alarms)) => alarms.as_slice(),
            _ => &[],
        };
        let host = machine_of(address);
        let sentence = |member: &str| {
            let id = member.split(' ').next().unwrap_or_default();
            format!(
                "member {member} was announced and never started: it counts among the members, and no other one can join. `slipway apply` goes on with a host that is joining; a member that nobody will start leaves with `etcdctl member remove {id}` on {host}"
            )
        };
        let members = members.iter().filter_map(Value::as_str).map(sentence);
        let cluster = opened.spec.cluster.name.as_str();
        let alarms = alarms.iter().filter_map(Value::as_str).map(|alarm| raised(alarm, cluster, host));
        return members.chain(alarms).collect();
    }
    Vec::new()
}

/// An alarm of etcd, with its effect and the way out.
fn raised(alarm: &str, cluster: &str, host: &str) -> String {
    let sentence = match alarm.split(' ').next().unwrap_or_default() {
        "NOSPACE" => format!(
            "a database has reached its quota, and etcd refuses writes. `slipway etcd defragment {cluster}` makes room and clears the \
             alarm; then delete objects that nobody needs"
        ),
        "CORRUPT" => format!(
            "the data of the members differ, and etcd refuses requests. `slipway etcd snapshots {cluster}` lists snapshots from before, \
             and `slipway etcd restore {cluster}` restores one"
        ),
        _ => format!("`etcdctl alarm list` on {host} shows it"),
    };
    format!("etcd has raised the alarm {alarm}: {sentence}")
}

/// An object as its provider sees it; `None` where the provider cannot read it.
async fn read(opened: &Opened, address: &Address, identity: &Identity) -> Option<Observation> {
    let (_, handle, _) = opened.providers().of_type(address.kind())?;
    let request = ReadRequest { address: address.clone(), identity: identity.clone() };
    Some(handle.session.read(vec![request]).await.ok()?.pop()?.observation)
}

/// The problem of a control plane whose member of etcd has no vote.
const LEARNER: &str = "its member of etcd has no vote yet: `slipway apply` goes on with it, and taking the host out of the spec removes it";

/// A node in the API.
struct Seen {
    /// The pool in its labels, or else its role.
    pool: String,
    is_control_plane: bool,
    provider_id: Option<String>,
    /// Why it is not ready, if so.
    unready: Option<String>,
}

/// The nodes that the API has, by name.
type Nodes = BTreeMap<String, Seen>;

/// The label with the pool of a node, as kOps sets it.
const POOL: &str = "kops.k8s.io/instancegroup";
/// The beginning of a label with the role of a node.
const ROLE: &str = "node-role.kubernetes.io/";

fn seen_node(node: &Json) -> Seen {
    let labels = node.pointer("/metadata/labels").and_then(Json::as_object);
    let has = |role: &str| labels.is_some_and(|labels| labels.contains_key(&format!("{ROLE}{role}")));
    let pool = labels.and_then(|labels| labels.get(POOL)?.as_str());
    let role = labels.and_then(|labels| labels.keys().find_map(|label| label.strip_prefix(ROLE)));
    Seen {
        pool: pool.or(role).unwrap_or("-").to_owned(),
        is_control_plane: has("control-plane"),
        provider_id: node.pointer("/spec/providerID").and_then(Json::as_str).map(str::to_owned),
        unready: unready(node),
    }
}

async fn seen(api: &Reader) -> Result<(Nodes, Vec<(String, String)>), ProviderError> {
    let nodes = api.get("/api/v1/nodes").await?;
    let pods = api.get("/api/v1/namespaces/kube-system/pods").await?;
    let items = |list: &Json| list.get("items").and_then(Json::as_array).cloned().unwrap_or_default();
    let name = |object: &Json| text(object, "/metadata/name");
    let nodes = items(&nodes).iter().map(|node| (name(node), seen_node(node))).collect();
    let pods = items(&pods).iter().filter_map(|pod| Some((name(pod), ailing(pod)?))).collect();
    Ok((nodes, pods))
}

fn text(object: &Json, pointer: &str) -> String {
    object.pointer(pointer).and_then(Json::as_str).unwrap_or_default().to_owned()
}

fn conditions<'a>(object: &'a Json, kind: &'a str) -> impl Iterator<Item = &'a Json> {
    let all = object.pointer("/status/conditions").and_then(Json::as_array);
    all.into_iter().flatten().filter(move |condition| text(condition, "/type") == kind)
}

fn unready(node: &Json) -> Option<String> {
    match conditions(node, "Ready").next() {
        Some(ready) if text(ready, "/status") == "True" => None,
        Some(ready) => Some(text(ready, "/message")),
        None => Some("its kubelet has not said how it is".to_owned()),
    }
}

fn ailing(pod: &Json) -> Option<String> {
    if text(pod, "/status/phase") == "Succeeded" {
        return None;
    }
    if conditions(pod, "Ready").any(|ready| text(ready, "/status") == "True") {
        return None;
    }
    let containers = pod.pointer("/status/containerStatuses").and_then(Json::as_array);
    let waiting = containers.into_iter().flatten().find_map(|container| {
        let reason = text(container, "/state/waiting/reason");
        (!reason.is_empty()).then(|| format!("{reason}: {}", text(container, "/state/waiting/message")))
    });
    let unscheduled = conditions(pod, "PodScheduled").find(|condition| text(condition, "/status") == "False");
    let unscheduled = unscheduled.map(|condition| text(condition, "/message"));
    Some(waiting.or(unscheduled).unwrap_or_else(|| "it is not ready".to_owned()))
}

/// The parts that the state has, each with the machine that it is on.
type Parts<'a> = BTreeSet<(Part, &'a str)>;

fn parts<'a>(opened: &Opened, state: &'a State) -> Parts<'a> {
    let all = state.snapshot.resources.keys();
    all.filter_map(|address| Some((opened.providers().part(address)?, machine_of(address)))).collect()
}

/// The machine that an object is on, which is the first segment of its name.
fn machine_of(address: &Address) -> &str {
    address.name().split('/').next().unwrap_or_default()
}

async fn one(
    opened: &Opened,
    (state, parts): (&State, &Parts<'_>),
    machine: &Machine,
    nodes: &Nodes,
) -> NodeHealth {
    let name = &machine.name;
    let has = |part: Part| parts.contains(&(part, name.as_str()));
    let node = nodes.get(name);
    let phase = match node {
        Some(node) if node.unready.is_none() => Phase::Ready,
        Some(_) => Phase::Registered,
        None if has(Part::Kubelet) => Phase::Started,
        None if has(Part::HostAgent) => Phase::Prepared,
        None if has(Part::HostClaim) => Phase::Claimed,
        None => Phase::Unclaimed,
    };
    let mut error = node.and_then(|node| node.unready.clone());
    if phase != Phase::Ready {
        let failed = state.replayed.failed.iter().filter(|(address, _)| machine_of(address) == name);
        let failed = failed.map(|(address, message)| format!("{address}: {message}")).next();
        error = error.or(failed).or(unreachable(opened, state, name).await);
    }
    // A new member of etcd is a learner before it votes. One that stays a learner does not count in etcd.
    if !machine.founding && has(Part::EtcdMember) && !has(Part::EtcdVoter) {
        error = error.or(Some(LEARNER.to_owned()));
    }
    NodeHealth { name: name.clone(), pool: machine.pool.clone(), phase, error, console: Vec::new() }
}

/// Why a machine cannot be read, if so.
async fn unreachable(opened: &Opened, state: &State, machine: &str) -> Option<String> {
    let is_agent = |address: &Address| {
        machine_of(address) == machine && opened.providers().part(address) == Some(Part::HostAgent)
    };
    let (address, record) = state.snapshot.resources.iter().find(|(address, _)| is_agent(address))?;
    match read(opened, address, &record.identity).await? {
        Observation::Unreadable(error) => Some(error.message),
        _ => None,
    }
}
