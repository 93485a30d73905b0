//! Workloads in a cluster.

use slipway_resource::{Attribute, ProviderError, Type, Value};

use super::{Candidate, Kind};
use crate::cloud::World;
use crate::error::invalid;

/// The type of workloads.
pub(crate) const WORKLOAD: &str = "sim_workload";

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::new(WORKLOAD, "wl", "Pods of one kind in a cluster, and their disruption budget.")
            .attribute(
                "cluster",
                Attribute::required(Type::String).immutable(),
                "The cluster on whose nodes it runs.",
            )
            .attribute(
                "namespace",
                Attribute::optional(Type::String).immutable().default_to("kube-system"),
                "Its namespace.",
            )
            .attribute(
                "name",
                Attribute::required(Type::String).immutable(),
                "Its name, unique in the namespace.",
            )
            .attribute(
                "kind",
                Attribute::optional(Type::String).immutable().default_to("deployment"),
                "`deployment`, or `daemon` for one pod on every node, which drains leave alone.",
            )
            .attribute("version", Attribute::optional(Type::String), "Its version.")
            .attribute("replicas", Attribute::optional(Type::Integer).default_to(1i64), "How many pods.")
            .attribute(
                "minimum_available",
                Attribute::optional(Type::String),
                "How many pods, or percent of them, stay up during disruptions.",
            )
            .attribute(
                "node_selector",
                Attribute::optional(Type::map(Type::String)),
                "Labels that its nodes must have.",
            )
            .attribute("configuration", Attribute::optional(Type::String), "Its settings.")
            .attribute("manifest", Attribute::optional(Type::String), "Where its objects come from.")
            .attribute("available", Attribute::computed(Type::Integer), "How many pods are ready now.")
            .unique(&["cluster", "namespace", "name"])
            .check(check)
            .rate_class("workload")
            .quota(50_000)
            .takes(8, 4, 2),
    ]
}

fn check(_: &World, candidate: &Candidate<'_>) -> Result<(), ProviderError> {
    let name = candidate.text("name");
    match candidate.attributes.get("replicas").and_then(Value::as_integer) {
        Some(replicas) if !(0..=10_000).contains(&replicas) => {
            Err(invalid(format!("workload {name}: {replicas} is not a number of pods")))
        }
        _ => Ok(()),
    }
}
