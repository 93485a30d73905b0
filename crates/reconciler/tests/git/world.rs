//! A simulated cloud, a state store, a repository, and controllers on them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use slipway_operations::{Actor, Approve, Environment, Manner, Opened, Request, Specs, Terms, bring, plans};
use slipway_provider_sim::inspect::{Inventory, Tamper};
use slipway_reconciler::board;
use slipway_reconciler::status::Status;
use slipway_reconciler::{Configuration, Controller, Handle};
use slipway_state_store::approvals::{self, Approval};
use slipway_state_store::faults::Faulty;
use slipway_state_store::{Backend, ClusterName, Generation, MemoryBackend, controllers};
use slipway_trust::{Mode, Policy, Settings};
use tempfile::TempDir;
use tokio::task::{JoinHandle, LocalSet};
use tokio_util::sync::CancellationToken;

use crate::repository::Repository;

/// How long something may take to happen.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct World {
    folder: TempDir,
    pub repository: Repository,
    pub store: Arc<Faulty>,
}

/// A controller that runs.
pub struct Running {
    pub handle: Handle,
    stop: CancellationToken,
    at_once: CancellationToken,
    task: JoinHandle<()>,
}

impl Running {
    /// Stops it gracefully.
    pub async fn stop(self) {
        self.stop.cancel();
        self.task.await.unwrap();
    }

    /// Stops it as two signals do.
    pub async fn stop_at_once(self) {
        self.at_once.cancel();
        self.stop().await;
    }

    /// Ends it as a kill does: nothing is told to anybody.
    pub fn kill(self) {
        self.task.abort();
    }
}

/// Runs a test on one thread, as a controller works.
pub async fn on_one_thread(test: impl Future<Output = ()>) {
    LocalSet::new().run_until(test).await;
}

impl World {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let repository = Repository::new(&folder.path().join("git"));
        Self { repository, store: Arc::new(Faulty::new(Arc::new(MemoryBackend::new()))), folder }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The spec of a cluster with this number of workers; without workers it has no pool for them.
    pub fn spec(&self, name: &str, workers: u32) -> String {
        slipway_testkit::simulated::spec(name, &self.cloud(name), 0.0, workers)
    }

    /// Pushes the spec of a cluster.
    pub fn push(&self, name: &str, workers: u32) -> String {
        self.repository.push_file(&format!("clusters/{name}/spec.yaml"), &self.spec(name, workers))
    }

    /// The folder of a cluster's cloud.
    pub fn cloud(&self, name: &str) -> PathBuf {
        self.folder.path().join("clouds").join(name)
    }

    pub fn inventory(&self, name: &str) -> Inventory {
        Inventory::open(self.cloud(name)).unwrap()
    }

    pub fn tamper(&self, name: &str) -> Tamper {
        Tamper::open(self.cloud(name))
    }

    pub fn backend(&self) -> Arc<dyn Backend> {
        self.store.clone()
    }

    pub fn environment(&self, person: &str) -> Environment {
        let policy = Policy::new(Settings::default(), Mode::Own);
        Environment::new(Actor::new(person, "laptop").unwrap(), policy).with_store(self.backend(), "memory")
    }

    /// A configuration whose source is the repository, with further settings of `git` and policies.
    pub fn configuration(&self, replica: &str, git: &str, policies: &str) -> Configuration {
        let text = format!(
            "listen = '127.0.0.1:0'
data = 'data-{replica}'
poll = '150ms'
retry = {{ first = '300ms', longest = '1s' }}
[[source]]
name = 'fleet'
paths = ['clusters/*']
interval = '200ms'
trust = {{ file-roots = ['clouds'] }}
[source.git]
url = '{}'
{git}
{policies}
",
            self.repository.url()
        );
        Configuration::parse(&text, &self.path().join("controller.toml"), self.path()).unwrap()
    }

    /// Starts a controller.
    pub async fn start(&self, configuration: Configuration) -> Running {
        let controller = self.unlocked(configuration).await;
        let (handle, stop) = (controller.handle(), CancellationToken::new());
        let at_once = CancellationToken::new();
        let tokens = (stop.clone(), at_once.clone());
        let task = tokio::task::spawn_local(async move { controller.run(tokens.0, tokens.1).await.unwrap() });
        Running { handle, stop, at_once, task }
    }

    /// A controller, as soon as the threads of the one before have left its folder.
    async fn unlocked(&self, configuration: Configuration) -> Controller {
        let until = Instant::now() + Duration::from_secs(10);
        loop {
            match Controller::new(configuration.clone(), self.environment("controller")).await {
                Err(slipway_reconciler::Error::Locked { .. }) if Instant::now() < until => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                made => return made.unwrap(),
            }
        }
    }

    /// Starts a controller that treats all clusters alike.
    pub async fn applying(&self, policy: &str) -> Running {
        let policies = format!("[[source.cluster]]\nname = '*'\n{policy}\n");
        self.start(self.configuration("a", "", &policies)).await
    }

    pub async fn status(&self, cluster: &str) -> Option<Status> {
        let name = ClusterName::new(cluster).unwrap();
        // A test may have taken the store away.
        controllers::read(&*self.store, &controllers::status(&name)).await.ok().flatten()
    }

    /// Waits until the status of a cluster is as expected.
    pub async fn until(&self, cluster: &str, what: &str, holds: impl Fn(&Status) -> bool) -> Status {
        let begun = std::time::Instant::now();
        let mut last = None;
        while begun.elapsed() < PATIENCE {
            if let Some(status) = self.status(cluster).await {
                if holds(&status) {
                    return status;
                }
                last = Some(status);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{cluster}: no {what}; its status is {last:#?}");
    }

    /// Waits until a cluster is ready, or not, for this reason, at a commit.
    pub async fn until_reason(&self, cluster: &str, reason: &str, revision: &str) -> Status {
        let is = |status: &Status| {
            let ready = status.ready().is_some_and(|ready| ready.reason == reason);
            ready && (revision.is_empty() || status.revision == revision)
        };
        self.until(cluster, reason, is).await
    }

    /// Approves the last plan of a cluster as a person.
    pub async fn approve(&self, cluster: &str, person: &str) {
        let plan = self.status(cluster).await.unwrap().plan.unwrap();
        let environment = self.environment(person);
        let reference = plan.place.strip_prefix(plans::STORE).unwrap();
        let saved = plans::stored(&environment, reference).await.unwrap();
        let approval = Approval {
            format: approvals::FORMAT,
            cluster: ClusterName::new(cluster).unwrap(),
            plan: plans::digest(&saved.plan).unwrap(),
            generation: Generation(saved.plan.binding.generation.unwrap_or(0)),
            person: environment.actor.person,
            who: environment.actor.who,
            when: jiff::Timestamp::now(),
            comment: None,
        };
        approvals::approve(&self.backend(), approval).await.unwrap();
    }

    /// Applies the last plan of a cluster as a person.
    pub async fn apply(&self, cluster: &str, person: &str) {
        let place = self.status(cluster).await.unwrap().plan.unwrap().place;
        let settings = Settings { file_roots: vec![self.path().to_owned()], ..Settings::default() };
        let actor = Actor::new(person, "laptop").unwrap();
        let environment =
            Environment::new(actor, Policy::new(settings, Mode::Own)).with_store(self.backend(), "memory");
        let reference = place.strip_prefix(plans::STORE).unwrap();
        let saved = plans::stored(&environment, reference).await.unwrap();
        let (terms, decide) = (Terms::default(), Approve { names: [].into() });
        assert!(saved.apply(&environment, Manner::new(&terms, &decide)).await.unwrap().is_complete());
    }

    /// Deletes a cluster as a person. Returns whether nothing of it is left.
    pub async fn delete(&self, cluster: &str, person: &str) -> bool {
        let file = self.path().join("spec.yaml");
        std::fs::write(&file, self.spec(cluster, 1)).unwrap();
        let environment = self.environment(person);
        let settings = Settings { file_roots: vec![self.path().to_owned()], ..Settings::default() };
        let specs = Specs::read(&Policy::new(settings, Mode::Own), &[file]).unwrap();
        let spec = specs.clusters.into_iter().next().unwrap();
        let opened = Opened::leaving(&environment, spec).await.unwrap();
        let (terms, decide) = (Terms::default(), Approve { names: [cluster.to_owned()].into() });
        let request = Request::delete(true, false);
        bring(&environment, &opened, &request, Manner::new(&terms, &decide)).await.unwrap().is_complete()
    }

    /// Lets controllers plan a cluster now, and waits until one has done it.
    pub async fn request(&self, cluster: &str) -> Status {
        let backend = self.backend();
        board::request(&backend, &[cluster.to_owned()], "ada@laptop", jiff::Timestamp::now()).await.unwrap();
        let number = board::read(&*backend).await.unwrap().request(cluster);
        self.until(cluster, "look after the request", |status| {
            status.request >= number && status.ready().is_none_or(|ready| ready.reason != "Applying")
        })
        .await
    }

    /// The number of machines of a cluster.
    pub fn machines(&self, cluster: &str) -> usize {
        let inventory = self.inventory(cluster);
        assert!(inventory.doubled().is_empty(), "{:?}", inventory.doubled());
        inventory.machines.len()
    }
}
