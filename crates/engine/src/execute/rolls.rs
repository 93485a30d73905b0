//! Rolls whose gates are steps on nodes: one provider has the machines, another one the nodes.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use slipway_plan::file::Mode;
use slipway_plan::{ChangeAction, Inputs, Observations, Options, ProviderHandle, ProviderPin, ReasonCode};
use slipway_resource::provider::{
    Action, Applied, ApplyRequest, Capabilities, Disruption, Fate, Info, Member, Node, NodeReference,
    OnBlocked, PlanItem, Planned, RateClass, Rollout, Scope,
};
use slipway_resource::schema::{Operation, Part, Role};
use slipway_resource::{Desired, Observation, Observed, Schema, Value};
use slipway_state_store::{Acquire, ClusterName, Holder, Identity as Person, MemoryBackend, SystemClock};

use super::*;
use crate::event::EventHandler;
use crate::retry::Backoff;
use crate::run::Run;
use crate::scripted::{Scripted, thing, things};
use crate::state::State;
use crate::stop::StopSignal;

const CLUSTER: &str = "a";

/// The answers of the provider of nodes.
#[derive(Clone, Copy, PartialEq)]
enum Cluster {
    /// It knows the node of the machine.
    Known,
    /// It cannot be reached.
    Silent,
    /// There is none.
    Missing,
}

/// The answer of `surge` about the new machine: an attribute and its value; `None` for no answer.
type NewNode = Option<(&'static str, Value)>;

struct World {
    cluster: Cluster,
    new_node: NewNode,
    /// The calls of gates, in their order: name, address and identity, and the node that is named.
    calls: Arc<Mutex<Vec<String>>>,
    lists: Arc<AtomicUsize>,
    /// The gates that fail.
    failing: Arc<Mutex<Vec<&'static str>>>,
}

impl World {
    fn new(cluster: Cluster, new_node: NewNode) -> Self {
        Self { cluster, new_node, calls: Arc::default(), lists: Arc::default(), failing: Arc::default() }
    }

    fn gate(&self) -> impl Fn(ApplyRequest) -> Result<Applied, ProviderError> + Send + Sync + use<> {
        let (calls, failing, new_node) = (self.calls.clone(), self.failing.clone(), self.new_node.clone());
        move |request| {
            let Action::Operation { identity, name, arguments } = &request.action else {
                return Ok(Applied::new(Identity::new("pool"), Value::map([("name", "pool")])));
            };
            let named = arguments.get("node").and_then(NodeReference::of_value);
            let named = named.map(|node| format!(" {node}")).unwrap_or_default();
            calls.lock().unwrap().push(format!("{name} {} [{identity}]{named}", request.ownership.address));
            if failing.lock().unwrap().contains(&name.as_str()) {
                return Err(ProviderError::new(ErrorClass::Permanent, "it fails"));
            }
            let node = new_node.clone().filter(|_| name == "surge");
            Ok(Applied::new(identity.clone(), Value::map(node)))
        }
    }

    fn providers(&self) -> Providers {
        let mut providers = Providers::default();
        let gate = Arc::new(self.gate());
        let own = gate.clone();
        let machines = Scripted::default().on_plan(|item| Ok(rolled(item))).on_apply(move |request, _| {
            let own = own.clone();
            async move { own(request) }
        });
        let operations = |names: &[&str]| {
            let of = |name: &&str| {
                let operation = Operation { description: "A gate.".into(), duration_ms: 1, read_only: false };
                ((*name).to_owned(), operation)
            };
            names.iter().map(of).collect::<BTreeMap<_, _>>()
        };
        let mut schema = things();
        let pool = schema.types.get_mut("thing").unwrap();
        pool.operations = operations(&["surge", "remove"]);
        let mut node = pool.clone();
        node.operations = operations(&["verify", "cordon", "drain"]);
        node.roles = vec![Role::of_all(Part::Node)];
        providers.insert("cloud", handle("cloud", machines, schema, false));
        if self.cluster == Cluster::Missing {
            return providers;
        }
        let (silent, lists) = (self.cluster == Cluster::Silent, self.lists.clone());
        let nodes = move || {
            lists.fetch_add(1, Ordering::SeqCst);
            let node = |name: &str, ready: bool| Node {
                name: name.to_owned(),
                identity: Identity::new(format!("Node//{name}")),
                provider_id: Some(format!("cloud:///{name}-machine")),
                ready,
                blockers: vec![format!("budget default/{name} allows 0 disruptions")],
            };
            match silent {
                true => Err(ProviderError::new(ErrorClass::Permanent, "the API does not answer")),
                false => Ok(vec![node("one", true), node("two", false)]),
            }
        };
        let nodes = Scripted::default().on_nodes(nodes).on_apply(move |request, _| {
            let gate = gate.clone();
            async move { gate(request) }
        });
        let types = BTreeMap::from([("node".to_owned(), node)]);
        providers.insert("cluster", handle("cluster", nodes, Schema { types, ..Schema::default() }, true));
        providers
    }

    async fn plan(&self) -> Plan {
        let providers = self.providers();
        let mut observations = Observations::default();
        observations.add_read(Observed {
            address: thing("pool"),
            identity: Identity::new("pool"),
            token: None,
            owner: None,
            observation: Observation::Present(Value::map([("name", "pool")])),
        });
        let inputs = Inputs {
            cluster: CLUSTER,
            uid: None,
            mode: Mode::Apply,
            spec: serde_json::Value::Null,
            changed: Vec::new(),
            desired: vec![Desired::new(thing("pool"), Value::map([("name", "pool")]))],
            notes: Vec::new(),
            prior: None,
            generation: None,
            observations,
            providers: &providers,
            catalogs: BTreeMap::new(),
            uncompared: BTreeMap::new(),
            options: Options::default(),
            locate: &|_| None,
        };
        slipway_plan::plan(inputs).await.unwrap()
    }

    async fn run(&self, plan: &Plan, backend: &Arc<MemoryBackend>) -> Report {
        let providers = self.providers();
        let name = ClusterName::new(CLUSTER).unwrap();
        let uid = slipway_state_store::ClusterUid::random().unwrap();
        let acquire = Acquire::new(Person::current("test", "apply")).create(uid);
        let holder = Holder::acquire(backend.clone(), &name, acquire, Arc::new(SystemClock)).await.unwrap();
        let run = Run {
            plan,
            spec: plan.spec.clone(),
            providers: &providers,
            state: State::of_view(CLUSTER, holder.read().await.unwrap()).unwrap(),
            secrets: Arc::new(crate::secrets::NoSecrets),
            store: None,
            confirmed: Default::default(),
            observed_at: Some(Instant::now()),
            backoff: Backoff::default(),
            read_age: crate::READ_AGE,
            parallelism: None,
            events: EventHandler::new(|_| {}),
            stop: StopSignal::default(),
            who: "test".to_owned(),
            clock: Arc::new(SystemClock),
        };
        run.execute(holder).await.unwrap()
    }

    fn called(&self) -> Vec<String> {
        std::mem::take(&mut self.calls.lock().unwrap())
    }
}

fn handle(name: &str, session: Scripted, schema: Schema, nodes: bool) -> ProviderHandle {
    let schema = Arc::new(schema);
    let rate_classes = BTreeMap::from([("calls".to_owned(), RateClass { concurrency: 8, per_second: None })]);
    let info = Info {
        name: name.to_owned(),
        version: "1".into(),
        rate_classes,
        batch: 10,
        capabilities: Capabilities { nodes, ..Capabilities::default() },
    };
    let pin = ProviderPin {
        version: info.version.clone(),
        schema_digest: Digest::of(&*schema).unwrap(),
        scope: Scope::default(),
        config: Value::Null,
    };
    ProviderHandle { session: Arc::new(session), schema, info, pin }
}

/// A pool of one machine, which is replaced.
fn rolled(item: PlanItem) -> Planned {
    let member = Member {
        name: "one-machine".to_owned(),
        identity: Identity::new("one-machine"),
        fate: Fate::Replace { reason: "its image changes".to_owned(), path: None },
        ready: true,
        blockers: Vec::new(),
        node: Some(NodeReference::ProviderId("cloud:///one-machine".to_owned())),
    };
    let rollout = Rollout {
        group: "worker".to_owned(),
        exclusive: false,
        after: Vec::new(),
        size: 1,
        members: vec![member],
        max_surge: 1,
        max_unavailable: 0,
        drain_timeout_ms: 60_000,
        ready_timeout_ms: 60_000,
        prerequisites: Vec::new(),
        durations_ms: BTreeMap::new(),
        loses: None,
        irremovable: None,
        settle_ms: 0,
        ignore_budgets: false,
        on_blocked: OnBlocked::Fail,
    };
    Planned {
        normalised: item.desired.unwrap_or_default(),
        rollout: Some(rollout),
        disruption: Disruption::Rolling,
        ..Planned::default()
    }
}

fn new_node() -> NewNode {
    Some(("node", NodeReference::ProviderId("cloud:///new-machine".to_owned()).to_value()))
}

const REPLACEMENT: [&str; 5] = [
    "surge thing.pool [pool]",
    "verify node.pool/1 [] the node with the provider id cloud:///new-machine",
    "cordon node.one [Node//one]",
    "drain node.one [Node//one]",
    "remove thing.pool [pool]",
];

#[tokio::test]
async fn gates_are_steps_on_the_nodes_of_the_machines() {
    let world = World::new(Cluster::Known, new_node());
    let plan = world.plan().await;
    let machine = &plan.changes[0].machines[0];
    assert_eq!(machine.name, "one", "the name of the node");
    assert_eq!(machine.blockers, ["budget default/one allows 0 disruptions"]);
    assert_eq!(world.lists.load(Ordering::SeqCst), 1, "the nodes are read once");
    let bytes = plan.to_bytes().unwrap();
    assert_eq!(Plan::from_bytes(&bytes).unwrap(), plan);
    let report = world.run(&plan, &Arc::default()).await;
    assert!(report.is_complete(), "{report:?}");
    assert_eq!(world.called(), REPLACEMENT);
}

#[tokio::test]
async fn a_run_that_is_taken_up_verifies_the_machine_that_it_has_started() {
    let (world, backend) = (World::new(Cluster::Known, new_node()), Arc::default());
    let plan = world.plan().await;
    world.failing.lock().unwrap().push("verify");
    let report = world.run(&plan, &backend).await;
    assert!(!report.is_complete());
    assert_eq!(world.called(), REPLACEMENT[..2]);
    world.failing.lock().unwrap().clear();
    let report = world.run(&plan, &backend).await;
    assert!(report.is_complete(), "{report:?}");
    assert_eq!(world.called(), REPLACEMENT[1..], "no other machine is started");
}

#[tokio::test]
async fn a_slot_that_needs_no_machine_is_not_verified() {
    let world = World::new(Cluster::Known, Some(("not_needed", Value::Bool(true))));
    let report = world.run(&world.plan().await, &Arc::default()).await;
    assert!(report.is_complete(), "{report:?}");
    assert!(world.called().iter().all(|call| !call.starts_with("verify")));
}

#[tokio::test]
async fn a_provider_that_does_not_name_the_new_node_stops_the_roll() {
    let world = World::new(Cluster::Known, None);
    let report = world.run(&world.plan().await, &Arc::default()).await;
    let failure = report.failures.first().unwrap();
    assert!(failure.error.message.contains("did not name the node"), "{}", failure.error);
    assert_eq!(world.called(), REPLACEMENT[..1], "the old machine stays");
}

#[tokio::test]
async fn without_a_provider_of_nodes_machines_come_and_go_and_the_plan_says_so() {
    let world = World::new(Cluster::Missing, new_node());
    let plan = world.plan().await;
    let reasons = &plan.changes[0].reasons;
    assert!(reasons.iter().any(|reason| reason.code == ReasonCode::NotDrained), "{reasons:?}");
    let report = world.run(&plan, &Arc::default()).await;
    assert!(report.is_complete(), "{report:?}");
    assert_eq!(world.called(), [REPLACEMENT[0], REPLACEMENT[4]]);
}

#[tokio::test]
async fn a_pool_whose_nodes_cannot_be_read_is_left_alone() {
    let plan = World::new(Cluster::Silent, new_node()).plan().await;
    let change = &plan.changes[0];
    assert_eq!((change.action, plan.steps.len()), (ChangeAction::Deferred, 0));
    assert!(change.reasons[0].message.contains("the API does not answer"), "{:?}", change.reasons);
}
