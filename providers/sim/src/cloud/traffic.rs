//! Load balancers of Services and routes to pods, as a cloud controller makes them. No resource of a plan is one of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::clock::Millis;

/// A load balancer of a Service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Balancer {
    /// The cluster. Two clusters may have load balancers with one name.
    pub cluster: String,
    /// Its name.
    pub name: String,
    /// Namespace and name of the Service.
    pub service: String,
    /// Its address.
    pub address: String,
    /// Its ports.
    pub ports: Vec<BalancerPort>,
    /// The address ranges that may connect.
    pub source_ranges: Vec<String>,
    /// For how many seconds a client stays with a pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_affinity_seconds: Option<u64>,
    /// The port that tells which machines take connections; `None` when all do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_check_port: Option<u16>,
    /// The annotations of the Service.
    pub annotations: BTreeMap<String, String>,
    /// The identities of the machines behind it, sorted.
    pub machines: Vec<String>,
    /// When it was created.
    pub created_at: Millis,
}

/// A port of a load balancer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BalancerPort {
    /// Its name.
    pub name: String,
    /// `TCP` or `UDP`.
    pub protocol: String,
    /// The port of the load balancer.
    pub port: u16,
    /// The port of the machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_port: Option<u16>,
}

/// A route to the pods of a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PodRoute {
    /// The cluster.
    pub cluster: String,
    /// Its name.
    pub name: String,
    /// The range of the pods.
    pub destination: String,
    /// The identity of the machine. The route is a black hole once the machine is gone.
    pub machine: String,
}

/// The key of something that one cluster has under a name.
pub(crate) fn key(cluster: &str, name: &str) -> String {
    format!("{cluster}/{name}")
}

impl Balancer {
    pub(crate) fn key(&self) -> String {
        key(&self.cluster, &self.name)
    }
}

impl PodRoute {
    /// A cluster has one route for a destination.
    pub(crate) fn key(&self) -> String {
        key(&self.cluster, &self.destination)
    }
}
