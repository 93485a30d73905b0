//! Planning that keeps a processor busy: it holds neither the other clusters nor the end of the controller.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::ThreadId;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use slipway_reconciler::Configuration;
use slipway_reconciler::status::Status;
use slipway_state_store::backend::Result;
use slipway_state_store::faults::Faulty;
use slipway_state_store::{Backend, Key, Locality, MemoryBackend, Prefix, Tag};

use crate::world::{World, on_one_thread};

/// Keeps the thread busy that opens the cluster `slow`, as a spec does that takes long to plan. The thread of the controller reads the
/// head too, and goes on.
#[derive(Debug)]
struct Busy {
    inner: MemoryBackend,
    controller: ThreadId,
    work: Arc<Work>,
}

#[derive(Debug, Default)]
struct Work {
    begun: AtomicUsize,
    is_over: AtomicBool,
}

/// Ends the work, also when the test fails.
struct Ends(Arc<Work>);

impl Ends {
    fn now(&self) {
        self.0.is_over.store(true, Ordering::SeqCst);
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        self.now();
    }
}

#[async_trait]
impl Backend for Busy {
    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Tag> {
        self.inner.create(key, bytes).await
    }

    async fn get(&self, key: &Key) -> Result<Option<(Bytes, Tag)>> {
        if key.as_str().contains("slow/head") && std::thread::current().id() != self.controller {
            self.work.begun.fetch_add(1, Ordering::SeqCst);
            while !self.work.is_over.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        self.inner.get(key).await
    }

    async fn update(&self, key: &Key, bytes: Bytes, tag: &Tag) -> Result<Tag> {
        self.inner.update(key, bytes, tag).await
    }

    async fn list(&self, prefix: &Prefix) -> Result<Vec<Key>> {
        self.inner.list(prefix).await
    }

    async fn list_children(&self, prefix: &Prefix) -> Result<Vec<String>> {
        self.inner.list_children(prefix).await
    }

    async fn delete(&self, key: &Key) -> Result<()> {
        self.inner.delete(key).await
    }

    fn locality(&self) -> Locality {
        self.inner.locality()
    }
}

/// A world with the clusters `slow` and `good`.
fn world() -> (World, Configuration, Ends) {
    let work = Arc::new(Work::default());
    let controller = std::thread::current().id();
    let busy = Busy { inner: MemoryBackend::new(), controller, work: work.clone() };
    let mut world = World::new();
    world.store = Arc::new(Faulty::new(Arc::new(busy)));
    world.push("slow", 1);
    world.push("good", 1);
    let mut configuration =
        world.configuration("a", "", "[[source.cluster]]\nname = '*'\napply = 'always'\n");
    configuration.sources[0].plan_timeout = Some(Duration::from_secs(2));
    (world, configuration, Ends(work))
}

#[tokio::test]
async fn a_cluster_that_is_slow_to_plan_fails_alone_and_has_one_thread() {
    on_one_thread(async {
        let (world, configuration, ends) = world();
        let controller = world.start(configuration).await;
        world.until_reason("good", "InSync", "").await;
        let failed = world.until("slow", "third failure", |status| status.failures >= 3).await;
        let problem = failed.problem.unwrap();
        assert_eq!(problem.code.as_deref(), Some("RECON0014"), "{}", problem.message);
        assert_eq!(ends.0.begun.load(Ordering::SeqCst), 1);
        let commit = world.push("good", 2);
        world.until_reason("good", "InSync", &commit).await;

        ends.now();
        world.until_reason("slow", "InSync", "").await;
        controller.stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_cluster_waits_for_a_thread_as_long_as_its_limit() {
    on_one_thread(async {
        let (world, mut configuration, ends) = world();
        // The source has a thread of its own, and there is a common one.
        configuration.workers = 1;
        world.push("also-slow", 1);
        let controller = world.start(configuration).await;
        for name in ["slow", "also-slow"] {
            world.until(name, "failure", |status| status.failures >= 1).await;
        }
        world.push("good", 2);
        let says = |status: &Status| {
            let problem = status.problem.as_ref();
            problem.is_some_and(|problem| problem.message.contains("planning did not begin within 2s"))
        };
        let failed = world.until("good", "wait for a thread", says).await;
        assert_eq!(failed.problem.and_then(|problem| problem.code).as_deref(), Some("RECON0014"));

        ends.now();
        for name in ["slow", "also-slow", "good"] {
            world.until_reason(name, "InSync", "").await;
        }
        controller.stop().await;
    })
    .await;
}

#[tokio::test]
async fn planning_that_goes_on_does_not_hold_the_end() {
    on_one_thread(async {
        let (world, configuration, ends) = world();
        let controller = world.start(configuration).await;
        while ends.0.begun.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let stopped = tokio::time::timeout(Duration::from_secs(15), controller.stop()).await;
        assert!(stopped.is_ok(), "the controller goes on");
        assert!(!ends.0.is_over.load(Ordering::SeqCst));
    })
    .await;
}
