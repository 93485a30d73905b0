//! A machine as something that is planned for and carried out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use slipway_bootstrap::expand::Phased;
use slipway_bootstrap::material::FINGERPRINT;
use slipway_bootstrap::objects;
use slipway_bootstrap::preflight::Purpose;
use slipway_engine::{State, observe};
use slipway_operations::{Error, Plannable, Planned, Request, state};
use slipway_plan::file::Mode;
use slipway_plan::{Inputs, Plan, Providers, Snapshot};
use slipway_provider_kubernetes::{NODE, OBJECT};
use slipway_provider_node::{ETCD_MEMBER, ETCD_VOTER, FILE, KUBECONFIG, STATIC_POD};
use slipway_resource::schema::Part;
use slipway_resource::{Address, Desired, Path, Value};
use slipway_state_store::{Backend, Journal};

use super::leave::Leaving;
use super::phases::Selection;
use super::secrets::NodeSecrets;
use super::spec::{CLUSTER, NodeSpec};

/// The objects that a plan of the machine does not manage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Released {
    /// Tokens and uploaded certificates: the cluster removes them when they expire.
    Passing,
    /// The objects of the cluster, which lives on.
    Cluster,
    /// These, and the Node: the API is not asked at all.
    ClusterAndNode,
}

/// Whether an object ends by itself.
fn is_passing(address: &Address) -> bool {
    address.kind() == OBJECT && objects::is_passing(address.name())
}

/// Whether an object of a worker is a copy of one of the control planes, such as the certificate of the CA.
fn is_copy(address: &Address) -> bool {
    address.kind() == FILE
}

/// Removes the attribute that marks an object as irreplaceable.
fn without_fingerprint(attributes: &mut Value) {
    if attributes.get(FINGERPRINT).is_some() {
        attributes.set(&Path::key(FINGERPRINT), Value::Null);
    }
}

/// The phase of a reset in which files, pods and the Node go.
pub const CLEANUP: &str = "cleanup-node";
/// The phase in which the machine leaves etcd.
const LEAVE_ETCD: &str = "remove-etcd-member";

/// The phase of a reset in which an object is removed.
fn phase_of_reset(providers: &Providers, address: &Address) -> &'static str {
    match providers.part(address) {
        Some(Part::EtcdMember | Part::EtcdVoter) => LEAVE_ETCD,
        _ => CLEANUP,
    }
}

/// Whether an object can be reached only while the pods of a control plane run.
fn is_behind_pods(providers: &Providers, address: &Address) -> bool {
    is_behind_api(address) || providers.part(address) == Some(Part::EtcdMember)
}

/// Whether an object is behind the cluster's API.
fn is_behind_api(address: &Address) -> bool {
    [OBJECT, NODE].contains(&address.kind())
}

/// A machine with its desired resources.
pub struct PlannableNode {
    /// The spec of the machine.
    pub spec: NodeSpec,
    /// All resources of the machine, by phase.
    pub phased: Vec<Phased>,
    /// The selected phases.
    pub selection: Selection,
    /// The providers of the machine.
    pub providers: Providers,
    /// The state store of the machine.
    pub backend: Arc<dyn Backend>,
    /// The texts of its secrets.
    pub texts: Arc<NodeSecrets>,
    /// The state as it was read, without a hold.
    pub state: Option<State>,
    /// Whether the API that the cluster's objects are behind exists.
    pub api_exists: Arc<AtomicBool>,
    /// The objects that this machine does not keep or delete (any more).
    pub released: Released,
    /// What happens to the Node of a worker.
    pub leaving: Leaving,
}

impl PlannableNode {
    /// The desired resources, and the selected addresses when not all are selected.
    fn wanted(&self, prior: Option<&Snapshot>) -> (Vec<Desired>, Vec<String>) {
        let runs = self.has(prior, Part::Kubelet);
        // A single phase may run before the kubelet that runs the pods: then no pod is waited for.
        let early = self.selection.is_one() && !runs;
        let (mut desired, meant) = self.selected(early);
        let keys: Vec<Address> = ["super-admin", "admin"]
            .map(|name| Address::new(KUBECONFIG, name))
            .into_iter()
            .filter(|key| self.selection.is_all() && desired.iter().any(|desired| desired.address == *key))
            .collect();
        for desired in &mut desired {
            if is_behind_api(&desired.address) {
                // The kubeconfigs for the API are removed after the objects behind the API.
                desired.depends_on.extend(keys.iter().cloned());
            }
            // The kubelet itself is waited for.
            if early
                && self.providers.part(&desired.address) != Some(Part::Kubelet)
                && let Value::Map(attributes) = &mut desired.attributes
            {
                attributes.remove("ready_url");
            }
        }
        (desired, meant)
    }

    fn selected(&self, early: bool) -> (Vec<Desired>, Vec<String>) {
        if self.selection.is_all() {
            return (self.phased.iter().map(|phased| phased.desired.clone()).collect(), Vec::new());
        }
        let meant: BTreeSet<&Address> = self
            .phased
            .iter()
            .filter(|phased| self.selection.means(phased.phase))
            .filter(|phased| !early || !is_behind_pods(&self.providers, &phased.desired.address))
            .map(|phased| &phased.desired.address)
            .collect();
        let desired = self.phased.iter().map(|phased| {
            let mut desired = phased.desired.clone();
            if meant.contains(&desired.address) {
                // Resources of phases that are left out were made by other means, and are not waited for.
                desired.depends_on.retain(|address| meant.contains(address));
            }
            desired
        });
        (desired.collect(), meant.iter().map(ToString::to_string).collect())
    }

    /// The addresses that the selected phases of a reset remove; empty when all phases are selected.
    fn leaving(&self, prior: Option<&Snapshot>) -> Vec<String> {
        let known = prior.into_iter().flat_map(|prior| prior.resources.keys());
        let meant = known.filter(|address| self.selection.means(phase_of_reset(&self.providers, address)));
        if self.selection.is_all() { Vec::new() } else { meant.map(ToString::to_string).collect() }
    }

    /// Whether the phases of a reset that are meant have nothing to remove.
    pub fn nothing_leaves(&self) -> bool {
        let prior = self.state.as_ref().map(|state| &state.snapshot);
        !self.selection.is_all() && self.leaving(prior).is_empty()
    }

    fn is_released(&self, address: &Address) -> bool {
        // A reset that cleans the machine without the phase of etcd leaves the member alone.
        if self.released != Released::Passing
            && self.selection.means(CLEANUP)
            && !self.selection.means(phase_of_reset(&self.providers, address))
        {
            return true;
        }
        match self.released {
            Released::Passing => {
                is_passing(address) && self.phased.iter().all(|phased| phased.desired.address != *address)
            }
            Released::Cluster => address.kind() == OBJECT,
            Released::ClusterAndNode => is_behind_api(address),
        }
    }

    /// Whether the phases that are meant have nothing to make.
    pub fn is_nothing(&self) -> bool {
        !self.selection.is_all() && !self.phased.iter().any(|phased| self.selection.means(phased.phase))
    }

    /// Whether the API server that keeps the cluster's objects was there when this state was written.
    fn knows_api(&self, prior: Option<&Snapshot>) -> bool {
        if self.spec.role != Purpose::Init {
            return true;
        }
        self.has(prior, Part::ApiServer)
    }

    /// Whether the machine leaves and has nothing of its cluster that the control planes do not have.
    fn has_copies_only(&self, request: &Request) -> bool {
        request.mode == Mode::Delete && self.spec.role == Purpose::JoinWorker
    }

    /// Whether a state has a part of a cluster.
    fn has(&self, prior: Option<&Snapshot>, part: Part) -> bool {
        prior.is_some_and(|prior| {
            prior.resources.keys().any(|address| self.providers.part(address) == Some(part))
        })
    }
}

/// Removes released resources from a state. Resources that depended on them then depend on their
/// dependencies: a Node is removed before the API server also when the objects between them stay.
fn release(snapshot: &mut Snapshot, is_released: impl Fn(&Address) -> bool) {
    let all = std::mem::take(&mut snapshot.resources);
    let (released, mut kept): (BTreeMap<_, _>, BTreeMap<_, _>) =
        all.into_iter().partition(|(address, _)| is_released(address));
    for record in kept.values_mut() {
        let (mut open, mut seen) = (std::mem::take(&mut record.depends_on), BTreeSet::new());
        while let Some(address) = open.pop() {
            if !seen.insert(address.clone()) {
                continue;
            }
            match released.get(&address) {
                Some(through) => open.extend(through.depends_on.iter().cloned()),
                None => record.depends_on.push(address),
            }
        }
        record.depends_on.sort();
    }
    snapshot.resources = kept;
}

/// Orders the removal of a Node before the resources by which it is removed. The first control plane starts
/// its API server beside etcd, so that no dependency says yet that the API needs etcd.
fn let_nodes_go_first(snapshot: &mut Snapshot) {
    let is_way =
        |address: &&Address| [STATIC_POD, ETCD_MEMBER, ETCD_VOTER, KUBECONFIG].contains(&address.kind());
    let way: BTreeSet<Address> = snapshot.resources.keys().filter(is_way).cloned().collect();
    let nodes = snapshot.resources.iter_mut().filter(|(address, _)| address.kind() == NODE);
    for (_, node) in nodes {
        let all = way.iter().cloned().chain(std::mem::take(&mut node.depends_on));
        node.depends_on = all.collect::<BTreeSet<_>>().into_iter().collect();
    }
}

#[async_trait(?Send)]
impl Plannable for PlannableNode {
    fn cluster(&self) -> &str {
        CLUSTER
    }

    fn backend(&self) -> Option<Arc<dyn Backend>> {
        Some(self.backend.clone())
    }

    fn state(&self) -> Option<&State> {
        self.state.as_ref()
    }

    fn taken(&self, state: &mut State) {
        release(&mut state.snapshot, |address| self.is_released(address));
    }

    async fn recovering(&self) -> Result<Providers, Error> {
        Ok(self.providers.clone())
    }

    async fn acting(&self, _: &Plan, _: &Journal, _: &State) -> Result<Providers, Error> {
        self.api_exists.store(true, Ordering::SeqCst);
        Ok(self.providers.clone())
    }

    async fn plan_from(&self, request: &Request, prior: Option<&Snapshot>) -> Result<Planned, Error> {
        self.api_exists.store(self.knows_api(prior), Ordering::SeqCst);
        let kept = prior.map(|prior| {
            let mut kept = prior.clone();
            release(&mut kept, |address| self.is_released(address));
            if request.mode == Mode::Delete {
                let_nodes_go_first(&mut kept);
                self.leaving.remember(&mut kept, &self.providers);
            }
            if self.has_copies_only(request) {
                let applied = kept.resources.iter_mut().filter(|(address, _)| is_copy(address));
                applied.filter_map(|(_, record)| record.applied.as_mut()).for_each(without_fingerprint);
            }
            kept
        });
        let prior = kept.as_ref();
        let (desired, targets) = match request.mode {
            Mode::Delete => (Vec::new(), self.leaving(prior)),
            Mode::Apply | Mode::Drift => self.wanted(prior),
        };
        let observed = observe(CLUSTER, &self.providers, prior, &desired).await?;
        let mut observations = observed.observations;
        observations.leave_out(|address| self.is_released(address));
        if self.has_copies_only(request) {
            observations.revise(|address, attributes| {
                if is_copy(address) {
                    without_fingerprint(attributes);
                }
            });
        }
        let generation = state::generation(&*self.backend, CLUSTER).await?;
        let mut options = request.options.clone();
        options.targets.extend(targets);
        let uid = observed.uid.clone();
        let inputs = Inputs {
            cluster: CLUSTER,
            uid: uid.clone(),
            mode: request.mode,
            spec: self.spec.to_json()?,
            changed: Vec::new(),
            desired,
            notes: self.leaving.notes(),
            prior,
            generation,
            observations,
            providers: &self.providers,
            catalogs: std::collections::BTreeMap::new(),
            uncompared: std::collections::BTreeMap::new(),
            options,
            locate: &|_| None,
        };
        let plan = slipway_plan::plan(inputs).await?;
        Ok(Planned { plan, observed_at: Some(observed.at), uid, texts: self.texts.clone() })
    }
}

#[cfg(test)]
mod tests {
    use slipway_plan::Record;
    use slipway_resource::{ClusterUid, Identity};

    use super::*;

    #[test]
    fn what_stands_on_what_is_released_stands_on_what_is_below() {
        let address = |text: &str| text.parse::<Address>().unwrap();
        let record = |needs: &[&str]| Record {
            provider: "node".to_owned(),
            schema_version: 1,
            identity: Identity::new("a"),
            applied: None,
            depends_on: needs.iter().map(|needed| address(needed)).collect(),
            retain: false,
            protected: false,
            existing: false,
            as_found: BTreeMap::new(),
            untagged: false,
            deposed: Vec::new(),
        };
        let mut snapshot = Snapshot::empty("node", ClusterUid::new("uid"));
        for (name, needs) in [
            ("kubernetes_node.n1", &["kubernetes_object.b"][..]),
            ("kubernetes_object.b", &["kubernetes_object.a", "service.kubelet"]),
            ("kubernetes_object.a", &["static_pod.kube-apiserver"]),
            ("static_pod.kube-apiserver", &["service.kubelet"]),
            ("static_pod.etcd", &["service.kubelet"]),
            ("service.kubelet", &[]),
        ] {
            snapshot.resources.insert(address(name), record(needs));
        }
        release(&mut snapshot, |address| address.kind() == OBJECT);
        assert_eq!(snapshot.resources.len(), 4);
        let node = &snapshot.resources[&address("kubernetes_node.n1")];
        assert_eq!(node.depends_on, ["service.kubelet", "static_pod.kube-apiserver"].map(address));
        let_nodes_go_first(&mut snapshot);
        let node = &snapshot.resources[&address("kubernetes_node.n1")];
        let all = ["service.kubelet", "static_pod.etcd", "static_pod.kube-apiserver"].map(address);
        assert_eq!(node.depends_on, all);
    }

    /// The names that a reset has to be given on a machine with this part that has the certificate of a CA.
    async fn asked_for(role: Purpose) -> Vec<String> {
        use slipway_bootstrap::configuration::{Configuration, EncryptionAlgorithm};
        use slipway_bootstrap::pki::{PrivateKey, Template};
        use slipway_plan::Options;
        use slipway_resource::provider::{Action, ApplyRequest, EventSink, SessionRequest};
        use slipway_resource::{Ownership, Token};

        let root = tempfile::tempdir().unwrap();
        let config = Value::map([("root", Value::from(root.path().display().to_string()))]);
        let request = SessionRequest { config, region: None, offline: false };
        let (waits, node) = (slipway_engine::WaitHandler::discard(), slipway_provider_node::Node::new());
        let mut providers = Providers::default();
        slipway_operations::providers::add(waits, &mut providers, "node", &node, request).await.unwrap();

        let key = PrivateKey::generate(EncryptionAlgorithm::EcdsaP256).unwrap();
        let template =
            Template::authority("kubernetes", jiff::Timestamp::now(), std::time::Duration::from_secs(60));
        let authority = template.unwrap().self_signed(&key).unwrap().to_pem();
        let path = "/etc/kubernetes/pki/ca.crt";
        let desired = Value::map([("path", Value::from(path)), ("content", authority.into())]);
        let (address, uid) = (Address::new("file", "ca"), ClusterUid::new("uid"));
        let ownership = Ownership { uid: uid.clone(), cluster: CLUSTER.to_owned(), address: address.clone() };
        let action = Action::Create { desired };
        let request = ApplyRequest { token: Token::new("one"), ownership, action, timeout_ms: 10_000 };
        let session = &providers.get("node").unwrap().session;
        let applied = session.apply(request, EventSink::discard()).await.unwrap();
        let record = Record {
            provider: "node".to_owned(),
            schema_version: 1,
            identity: Identity::new(path),
            applied: Some(applied.attributes),
            depends_on: Vec::new(),
            retain: false,
            protected: false,
            existing: false,
            as_found: BTreeMap::new(),
            untagged: false,
            deposed: Vec::new(),
        };
        let mut snapshot = Snapshot::empty(CLUSTER, uid);
        snapshot.resources.insert(address, record);
        let node = PlannableNode {
            spec: NodeSpec::new(role, Configuration::new(&crate::facts::detect(root.path()))),
            phased: Vec::new(),
            selection: Selection::without(slipway_bootstrap::phase::Command::Reset, &[]).unwrap(),
            providers,
            backend: Arc::new(slipway_state_store::FileBackend::open(root.path())),
            texts: Arc::new(NodeSecrets::new(root.path())),
            state: None,
            api_exists: Arc::default(),
            released: Released::Cluster,
            leaving: Leaving::AsKnown,
        };
        let request = Request::delete_with(Options::default());
        let plan = node.plan_from(&request, Some(&snapshot)).await.unwrap().plan;
        assert_eq!(plan.changes.len(), 1, "{:?}", plan.changes);
        plan.confirmations().into_iter().map(|asked| asked.name).collect()
    }

    #[tokio::test]
    async fn every_machine_is_given_up_by_name() {
        assert_eq!(asked_for(Purpose::JoinWorker).await, ["node"]);
        assert_eq!(asked_for(Purpose::JoinControlPlane).await, ["node"]);
    }
}
