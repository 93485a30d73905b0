//! A simulated cloud with a state store, and a cluster's spec that tests change.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use slipway_operations::{
    Actor, Approve, Decide, Environment, Error, Event, Manner, Opened, Outcome, Request, Specs, Terms, bring,
};
use slipway_provider_sim::inspect::Inventory;
use slipway_state_store::MemoryBackend;
use slipway_trust::{Mode, Policy, Settings};
use tempfile::TempDir;

/// The name of the cluster.
pub const CLUSTER: &str = "test";

/// A cloud and a state store, for one test.
pub struct World {
    /// The environment that all operations share.
    pub environment: Environment,
    /// The events so far.
    pub events: Arc<Mutex<Vec<Event>>>,
    folder: TempDir,
    /// Real seconds per second of the cloud.
    time_scale: f64,
}

/// A function that a test calls at an event.
type AtEvent = Box<dyn Fn(&Event) + Send + Sync>;

impl World {
    pub fn new() -> Self {
        let policy = Policy::new(Settings::default(), Mode::Own);
        let environment = Environment::new(Actor::new("ada", "laptop").unwrap(), policy)
            .with_store(Arc::new(MemoryBackend::new()), "memory");
        let world = Self {
            environment,
            events: Arc::default(),
            folder: tempfile::tempdir().unwrap(),
            time_scale: 0.0,
        };
        world.following(Box::new(|_| {}))
    }

    /// The same world, with a function that is called at every event.
    pub fn following(self, act: AtEvent) -> Self {
        let events = self.events.clone();
        let observer = move |event: Event| {
            act(&event);
            events.lock().unwrap().push(event);
        };
        Self { environment: self.environment.clone().observed_by(Arc::new(observer)), ..self }
    }

    /// The folder of the simulated cloud.
    fn cloud(&self) -> PathBuf {
        self.folder.path().join("cloud")
    }

    /// The same world, with passing time.
    pub fn timed(self) -> Self {
        Self { time_scale: 0.01, ..self }
    }

    /// From now on every creation takes 20 seconds of the cloud.
    pub fn slow_down(&self) {
        std::fs::create_dir_all(self.cloud()).unwrap();
        let rule = r#"[{"method": "create", "kind": "latency", "ms": 20000}]"#;
        std::fs::write(self.cloud().join(slipway_provider_sim::fault::FILE), rule).unwrap();
    }

    /// From now on the cloud refuses to delete networks.
    pub fn keep_networks(&self) {
        std::fs::create_dir_all(self.cloud()).unwrap();
        let rule = r#"[{"method": "delete", "type": "sim_network", "kind": "permission"}]"#;
        std::fs::write(self.cloud().join(slipway_provider_sim::fault::FILE), rule).unwrap();
    }

    /// From now on the cloud is as fast as usual.
    pub fn speed_up(&self) {
        std::fs::remove_file(self.cloud().join(slipway_provider_sim::fault::FILE)).unwrap();
    }

    /// Everything that exists in the cloud.
    pub fn inventory(&self) -> Inventory {
        Inventory::open(self.cloud()).unwrap()
    }

    /// Opens the cluster with this number of workers.
    pub async fn opened(&self, workers: u32) -> Opened {
        let file = self.folder.path().join(format!("{workers}.yaml"));
        let text = slipway_testkit::simulated::spec(CLUSTER, &self.cloud(), self.time_scale, workers);
        std::fs::write(&file, text).unwrap();
        let specs = Specs::read(&self.environment.policy, &[file]).unwrap();
        let spec = specs.clusters.into_iter().next().unwrap();
        Opened::open(&self.environment, spec).await.unwrap()
    }

    /// Applies the spec with this number of workers, with the given decision.
    pub async fn apply(&self, workers: u32, decide: &dyn Decide) -> Result<Outcome, Error> {
        let opened = self.opened(workers).await;
        bring(&self.environment, &opened, &Request::apply(), Manner::new(&Terms::default(), decide)).await
    }

    /// Applies the spec with this number of workers, and expects that everything is done.
    pub async fn applied(&self, workers: u32) {
        let outcome = self.apply(workers, &Approve::default()).await.unwrap();
        assert!(outcome.is_complete(), "{outcome:?}");
        self.at_rest(workers).await;
    }

    /// Expects that no change is left, and that no object exists twice.
    pub async fn at_rest(&self, workers: u32) {
        let planned = self.opened(workers).await.plan(&Request::apply()).await.unwrap();
        assert!(planned.plan.is_empty(), "{:#?}", planned.plan.changes);
        let inventory = self.inventory();
        assert!(inventory.doubled().is_empty(), "{:?}", inventory.doubled());
        assert_eq!(inventory.machines.len(), 1 + workers as usize, "with the control plane");
    }

    /// The generation of the state; `None` before the first.
    pub async fn generation(&self) -> Option<u64> {
        let store = self.environment.store.as_ref().unwrap();
        slipway_operations::state::generation(&*store.backend, CLUSTER).await.unwrap()
    }
}
