//! Decisions about Services, with a clock of their own.

use serde_json::{Value as Json, json};
use slipway_controller::k8s_openapi::api::core::v1::Node;

use super::super::difference::FINALIZER;
use super::*;

const KEY: &str = "default/web";

fn service(metadata: &Json, kind: &str, port: u16) -> Arc<Service> {
    let mut object = json!({
        "metadata": {"namespace": "default", "name": "web", "uid": "1", "resourceVersion": "1"},
        "spec": {"type": kind, "ports": [{"port": port}]},
    });
    for (key, value) in metadata.as_object().unwrap() {
        object["metadata"][key] = value.clone();
    }
    Arc::new(serde_json::from_value(object).unwrap())
}

fn nodes(names: &[&str]) -> BalancedNodes {
    let node = |name: &&str| -> Node { serde_json::from_value(json!({"metadata": {"name": name}})).unwrap() };
    let nodes: Vec<Node> = names.iter().map(node).collect();
    BalancedNodes::of(&nodes)
}

/// A desk with one Service, which receives each outcome.
struct Scene {
    desk: Desk,
    nodes: BalancedNodes,
    services: BTreeMap<Key, Arc<Service>>,
    now: Instant,
}

impl Scene {
    fn new() -> Self {
        let (nodes, now) = (nodes(&["a"]), Instant::now());
        let mut scene = Self { desk: Desk::new(&nodes, now), nodes, services: BTreeMap::new(), now };
        scene.show(&json!({}), "LoadBalancer", 80);
        scene
    }

    fn show(&mut self, metadata: &Json, kind: &str, port: u16) {
        self.services.insert(KEY.to_owned(), service(metadata, kind, port));
    }

    /// The only job that is due, which starts.
    fn job(&mut self) -> Option<Job> {
        let mut jobs = self.desk.due(&self.services, &self.nodes, self.now);
        assert!(jobs.len() < 2);
        let job = jobs.pop();
        if let Some(job) = &job {
            self.desk.started(job);
        }
        job
    }

    fn ends(&mut self, outcome: Outcome) -> Option<Task> {
        let job = self.job()?;
        self.desk.ended(&job, outcome, self.now);
        Some(job.task)
    }
}

#[test]
fn a_service_is_ensured_once_and_again_when_it_changes() {
    let mut scene = Scene::new();
    let job = scene.job().unwrap();
    assert!(scene.job().is_none(), "there is one job at a time about one Service");
    scene.desk.ended(&job, Outcome::Done, scene.now);
    assert_eq!(scene.ends(Outcome::Done), None);
    scene.show(&json!({"resourceVersion": "2", "labels": {"a": "b"}}), "LoadBalancer", 80);
    assert_eq!(scene.ends(Outcome::Done), None, "no change of the load balancer");
    scene.show(&json!({"resourceVersion": "3"}), "LoadBalancer", 81);
    assert_eq!(scene.ends(Outcome::Done), Some(Task::Ensure));
    assert_eq!(scene.ends(Outcome::Done), None);
}

#[test]
fn failures_are_tried_again_after_5_seconds_to_5_minutes() {
    let mut scene = Scene::new();
    for seconds in [5, 10, 20, 40, 80, 160, 300, 300] {
        assert_eq!(scene.ends(Outcome::Failed(None)), Some(Task::Ensure));
        let due = scene.desk.next(scene.now).unwrap();
        assert_eq!(due - scene.now, Duration::from_secs(seconds));
        scene.now = due - Duration::from_millis(1);
        assert_eq!(scene.ends(Outcome::Done), None);
        scene.now = due;
    }
    // The provider names the time.
    scene.ends(Outcome::Failed(Some(Duration::from_secs(42))));
    assert_eq!(scene.desk.next(scene.now).unwrap() - scene.now, Duration::from_secs(42));
    scene.now += Duration::from_secs(42);
    assert_eq!(scene.ends(Outcome::Done), Some(Task::Ensure));
    scene.show(&json!({}), "LoadBalancer", 81);
    scene.ends(Outcome::Failed(None));
    assert_eq!(scene.desk.next(scene.now).unwrap() - scene.now, Duration::from_secs(5), "it begins anew");
}

#[test]
fn nodes_that_come_together_are_one_update() {
    let mut scene = Scene::new();
    scene.ends(Outcome::Done);
    scene.nodes = nodes(&["a", "b"]);
    assert!(scene.job().is_none(), "further nodes are waited for");
    scene.now += BATCH / 2;
    scene.nodes = nodes(&["a", "b", "c"]);
    assert!(scene.job().is_none());
    scene.now = scene.desk.next(scene.now).unwrap();
    assert_eq!(scene.ends(Outcome::Done), Some(Task::UpdateNodes));
    assert_eq!(scene.ends(Outcome::Done), None);
    // An update that fails is a change of the whole load balancer next time.
    scene.nodes = nodes(&[]);
    assert!(scene.job().is_none());
    scene.now += BATCH;
    assert_eq!(scene.ends(Outcome::Failed(None)), Some(Task::UpdateNodes));
    scene.now += RETRIES[0];
    assert_eq!(scene.ends(Outcome::Done), Some(Task::Ensure));
    assert_eq!(scene.desk.next(scene.now), None);
}

#[test]
fn a_service_is_cleaned_up_once() {
    let mut scene = Scene::new();
    scene.ends(Outcome::Done);
    let ours = |version: &str| json!({"resourceVersion": version, "finalizers": [FINALIZER]});
    scene.show(&ours("2"), "ClusterIP", 80);
    assert_eq!(scene.ends(Outcome::Failed(None)), Some(Task::CleanUp));
    scene.now += RETRIES[0];
    assert_eq!(scene.ends(Outcome::Done), Some(Task::CleanUp));
    assert_eq!(scene.ends(Outcome::Done), None, "the watch shows the finalizer for a while");
    scene.show(&json!({"resourceVersion": "3"}), "ClusterIP", 80);
    assert_eq!(scene.ends(Outcome::Done), None);
    scene.show(&ours("4"), "LoadBalancer", 80);
    assert_eq!(scene.ends(Outcome::Done), Some(Task::Ensure));
    let ending = json!({"finalizers": [FINALIZER], "deletionTimestamp": "2026-01-01T00:00:00Z"});
    scene.show(&ending, "LoadBalancer", 80);
    assert_eq!(scene.ends(Outcome::Done), Some(Task::CleanUp));
    // After a restart, nothing is known of it.
    let mut scene = Scene::new();
    scene.show(&ending, "LoadBalancer", 80);
    assert_eq!(scene.ends(Outcome::Done), Some(Task::CleanUp));
}

#[test]
fn a_service_that_vanished_or_was_made_again_takes_its_load_balancer_along() {
    let mut scene = Scene::new();
    scene.ends(Outcome::Done);
    scene.show(&json!({"uid": "2"}), "LoadBalancer", 80);
    let job = scene.job().unwrap();
    assert_eq!((job.task, job.service.metadata.uid.as_deref()), (Task::Forget, Some("1")));
    scene.desk.ended(&job, Outcome::Done, scene.now);
    let job = scene.job().unwrap();
    assert_eq!((job.task, job.service.metadata.uid.as_deref()), (Task::Ensure, Some("2")));
    scene.desk.ended(&job, Outcome::Done, scene.now);
    scene.services.clear();
    assert_eq!(scene.ends(Outcome::Failed(None)), Some(Task::Forget));
    scene.now += RETRIES[0];
    assert_eq!(scene.ends(Outcome::Done), Some(Task::Forget));
    assert_eq!(scene.ends(Outcome::Done), None);
}
