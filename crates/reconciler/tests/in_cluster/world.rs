//! A simulated cloud, a state store, a folder with specs, and controllers on them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use slipway_operations::{Actor, Environment};
use slipway_reconciler::status::Status;
use slipway_reconciler::{Configuration, Controller};
use slipway_state_store::{Backend, ClusterName, MemoryBackend, controllers};
use slipway_trust::{Mode, Policy, Settings};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::cluster::Cluster;
use crate::repository::Repository;

/// How long something may take to happen.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct World {
    folder: TempDir,
    /// The repository of the source whose place is an object.
    pub repository: Repository,
    store: Arc<dyn Backend>,
}

/// A controller that runs.
pub struct Running {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Running {
    /// Stops it gracefully.
    pub async fn stop(self) {
        self.stop.cancel();
        self.task.await.unwrap();
    }
}

impl World {
    pub fn new(cluster: &Cluster) -> Self {
        let folder = tempfile::tempdir().unwrap();
        cluster.write_kubeconfig(&folder.path().join("pod.conf")).unwrap();
        std::fs::create_dir_all(folder.path().join("specs/clusters")).unwrap();
        let repository = Repository::new(&folder.path().join("git"));
        Self { folder, repository, store: Arc::new(MemoryBackend::new()) }
    }

    fn spec(&self, name: &str) -> PathBuf {
        self.folder.path().join("specs/clusters").join(name)
    }

    /// The spec of a cluster with this number of workers.
    pub fn text(&self, name: &str, workers: u32) -> String {
        let cloud = self.folder.path().join("clouds").join(name);
        slipway_testkit::simulated::spec(name, &cloud, 0.0, workers)
    }

    /// Writes the spec of a cluster with this number of workers.
    pub fn write(&self, name: &str, workers: u32) {
        std::fs::create_dir_all(self.spec(name)).unwrap();
        std::fs::write(self.spec(name).join("spec.yaml"), self.text(name, workers)).unwrap();
    }

    /// Removes the spec of a cluster.
    pub fn remove(&self, name: &str) {
        std::fs::remove_dir_all(self.spec(name)).unwrap();
    }

    /// Starts a controller.
    pub async fn start(&self, replica: &str) -> Running {
        let folder = self.folder.path();
        let text = format!(
            "listen = '127.0.0.1:0'
data = 'data-{replica}'
poll = '150ms'
retry = {{ first = '300ms', longest = '1s' }}
kubernetes = {{ namespace = 'slipway', kubeconfig = 'pod.conf' }}
[[source]]
name = 'local'
folder = 'specs'
paths = ['clusters/*']
interval = '200ms'
trust = {{ file-roots = ['clouds'] }}
[[source.cluster]]
name = 'dev'
apply = 'always'
[[source.cluster]]
name = 'prod'
apply = 'never'
[[source]]
name = 'team'
interval = '1h'
trust = {{ file-roots = ['clouds'] }}
[source.object]
namespace = 'slipway'
name = 'team'
urls = ['file://{}/git/*']
[[source.cluster]]
name = 'team'
apply = 'always'
",
            folder.display()
        );
        let configuration = Configuration::parse(&text, &folder.join("controller.toml"), folder).unwrap();
        let policy = Policy::new(Settings::default(), Mode::Own);
        let actor = Actor::new("controller", "laptop").unwrap();
        let environment = Environment::new(actor, policy).with_store(self.store.clone(), "memory");
        let controller = Controller::new(configuration, environment).await.unwrap();
        let stop = CancellationToken::new();
        let ending = stop.clone();
        let never = CancellationToken::new();
        let task = tokio::task::spawn_local(async move { controller.run(ending, never).await.unwrap() });
        Running { stop, task }
    }

    /// Writes a status as a controller does.
    pub async fn report(&self, status: &Status) {
        let name = ClusterName::new(status.cluster.as_str()).unwrap();
        let written = |_: Option<Status>| Some(status.clone());
        controllers::change(&self.store, &controllers::status(&name), written).await.unwrap();
    }

    /// The status of a cluster as the state store has it.
    pub async fn status(&self, cluster: &str) -> Option<Status> {
        let name = ClusterName::new(cluster).unwrap();
        controllers::read(&*self.store, &controllers::status(&name)).await.unwrap()
    }
}

/// Waits until something is there.
pub async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        if let Some(found) = look().await {
            return found;
        }
        // The controllers work on this thread too.
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("no {what} within {PATIENCE:?}");
}
