//! What is due for which Service: a decision about the state of the cluster, and about what has been done before.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use slipway_controller::k8s_openapi::api::core::v1::Service;

use super::difference::{Difference, difference, needs_cleanup, wants_balancer};
use crate::backoff::Backoff;
use crate::balanced_nodes::{BalancedNodes, NodeSet};

/// The times between two attempts at a Service, the first and the longest.
const RETRIES: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(300)];

/// How long further changes of nodes are waited for, so that nodes that come or go together are one update.
pub(crate) const BATCH: Duration = Duration::from_secs(1);

/// When a Service is looked at again that had changed between the read and the write.
const CHANGED: Duration = Duration::from_millis(250);

/// `namespace/name`.
pub(crate) type Key = String;

/// Work on a Service.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) key: Key,
    pub(crate) task: Task,
    pub(crate) service: Arc<Service>,
    /// What has changed since it was ensured last.
    pub(crate) difference: Option<Difference>,
    pub(crate) nodes: BalancedNodes,
}

/// The kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// The load balancer is created, or changed.
    Ensure,
    /// The load balancer is deleted, then the finalizer is removed.
    CleanUp,
    /// The load balancer of a Service that does not exist any more is deleted: its finalizer was removed by hand.
    Forget,
    /// The load balancer gets other nodes.
    UpdateNodes,
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is done.
    Done,
    /// The Service, or its load balancer, is not as it was read.
    Changed,
    /// It failed. The provider may have said when it can be tried again.
    Failed(Option<Duration>),
}

/// A Service whose load balancer was ensured, or was tried to be.
#[derive(Clone, Debug)]
struct Known {
    service: Arc<Service>,
    nodes: NodeSet,
    /// Whether the last attempt failed.
    failed: bool,
}

/// The state of the controller.
#[derive(Debug)]
pub(crate) struct Desk {
    known: HashMap<Key, Known>,
    /// Versions of Services that are cleaned up. The watch may still show them.
    cleaned: HashMap<Key, Option<String>>,
    /// Keys with a job that runs.
    running: HashSet<Key>,
    backoff: Backoff,
    /// The last set of nodes, and since when it is the last one.
    nodes: (NodeSet, Instant),
}

impl Desk {
    pub(crate) fn new(nodes: &BalancedNodes, now: Instant) -> Self {
        Self {
            known: HashMap::new(),
            cleaned: HashMap::new(),
            running: HashSet::new(),
            backoff: Backoff::between(RETRIES),
            // The first jobs use these nodes: there is nothing to wait for.
            nodes: (nodes.set(), now.checked_sub(BATCH).unwrap_or(now)),
        }
    }

    /// The jobs that can start now, in the order of their keys.
    pub(crate) fn due(
        &mut self,
        services: &BTreeMap<Key, Arc<Service>>,
        nodes: &BalancedNodes,
        now: Instant,
    ) -> Vec<Job> {
        let set = nodes.set();
        if self.nodes.0 != set {
            self.nodes = (set, now);
        }
        self.cleaned.retain(|key, version| {
            services.get(key).is_some_and(|service| service.metadata.resource_version == *version)
        });
        let (known, running) = (&self.known, &self.running);
        self.backoff
            .keep(|key| known.contains_key(key) || running.contains(key) || services.contains_key(key));
        let forgotten: Vec<Key> =
            self.known.keys().filter(|key| !services.contains_key(*key)).cloned().collect();
        let keys = services.keys().cloned().chain(forgotten);
        let is_free = |key: &Key| !self.running.contains(key) && self.backoff.is_due(key, now);
        let mut jobs: Vec<Job> =
            keys.filter(|key| is_free(key)).filter_map(|key| self.job(key, services, nodes, now)).collect();
        jobs.sort_by(|left, right| left.key.cmp(&right.key));
        jobs
    }

    fn job(
        &self,
        key: Key,
        services: &BTreeMap<Key, Arc<Service>>,
        nodes: &BalancedNodes,
        now: Instant,
    ) -> Option<Job> {
        let known = self.known.get(&key);
        let Some(service) = services.get(&key) else {
            let service = Arc::clone(&known?.service);
            return Some(Job { key, task: Task::Forget, service, difference: None, nodes: nodes.clone() });
        };
        let (task, difference, service) = match known {
            Some(known) if known.service.metadata.uid != service.metadata.uid => {
                (Task::Forget, None, &known.service)
            }
            Some(known) => {
                let difference = difference(&known.service, service);
                (self.task(service, known, difference.as_ref(), now)?, difference, service)
            }
            None if needs_cleanup(service) && !self.cleaned.contains_key(&key) => {
                (Task::CleanUp, None, service)
            }
            None if wants_balancer(service) && service.metadata.deletion_timestamp.is_none() => {
                (Task::Ensure, None, service)
            }
            None => return None,
        };
        Some(Job { service: Arc::clone(service), key, task, difference, nodes: nodes.clone() })
    }

    /// The task for a Service that is known, and still the same.
    fn task(
        &self,
        service: &Service,
        known: &Known,
        difference: Option<&Difference>,
        now: Instant,
    ) -> Option<Task> {
        let (set, since) = &self.nodes;
        if needs_cleanup(service) || !wants_balancer(service) {
            Some(Task::CleanUp)
        } else if service.metadata.deletion_timestamp.is_some() {
            // Another finalizer keeps it, and ours was removed by hand: the load balancer goes when the Service is gone.
            None
        } else if known.failed || difference.is_some() {
            Some(Task::Ensure)
        } else if known.nodes != *set && now >= *since + BATCH {
            Some(Task::UpdateNodes)
        } else {
            None
        }
    }

    /// A job has started.
    pub(crate) fn started(&mut self, job: &Job) {
        self.running.insert(job.key.clone());
    }

    /// A job has ended.
    pub(crate) fn ended(&mut self, job: &Job, outcome: Outcome, now: Instant) {
        self.running.remove(&job.key);
        match outcome {
            Outcome::Done => self.backoff.forget(&job.key),
            Outcome::Changed => self.backoff.wait(&job.key, now + CHANGED),
            Outcome::Failed(Some(after)) => self.backoff.wait(&job.key, now + after),
            Outcome::Failed(None) => {
                self.backoff.failed(&job.key, now);
            }
        }
        let failed = outcome != Outcome::Done;
        match job.task {
            Task::Ensure | Task::UpdateNodes => {
                let (service, nodes) = (Arc::clone(&job.service), job.nodes.set());
                self.known.insert(job.key.clone(), Known { service, nodes, failed });
            }
            Task::CleanUp | Task::Forget if failed => {}
            Task::CleanUp => {
                self.known.remove(&job.key);
                self.cleaned.insert(job.key.clone(), job.service.metadata.resource_version.clone());
            }
            Task::Forget => {
                self.known.remove(&job.key);
            }
        }
    }

    /// When something is due that no change of the cluster makes due.
    pub(crate) fn next(&self, now: Instant) -> Option<Instant> {
        let (set, since) = &self.nodes;
        let is_behind = self.known.values().any(|known| known.nodes != *set);
        let batch = Some(*since + BATCH).filter(|at| is_behind && *at > now);
        self.backoff.next().into_iter().chain(batch).filter(|at| *at > now).min()
    }
}

#[cfg(test)]
mod tests;
