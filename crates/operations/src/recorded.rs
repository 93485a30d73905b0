//! The record of a cluster at one of its generations, with the schemas of its providers.

use std::collections::BTreeMap;
use std::sync::Arc;

use slipway_engine::State;
use slipway_plan::Snapshot;
use slipway_resource::pattern::matches;
use slipway_resource::provider::operation;
use slipway_resource::{Address, ResourceType, Schema};
use slipway_state_store::{ClusterName, Generation, history};

use crate::environment::Environment;
use crate::error::Error;
use crate::observe::Event;
use crate::providers;

/// The state of a cluster at one of its generations.
pub struct Recorded {
    /// Which generation.
    pub generation: Generation,
    /// The state.
    pub snapshot: Snapshot,
    /// Whether a run is under way or was interrupted, so that the state has more than the generation.
    pub is_ahead: bool,
}

/// The state of a generation; with what the journal has since, of the present one.
///
/// # Errors
/// When the store has no such cluster or generation, or when it cannot be read.
pub async fn read(
    environment: &Environment,
    cluster: &str,
    generation: Option<u64>,
) -> Result<Recorded, Error> {
    let store = environment.store(cluster)?;
    let backend = &store.backend;
    let Some(generation) = generation else {
        let state = State::read(&**backend, cluster).await?.ok_or_else(|| unknown(cluster, &store.place))?;
        let is_ahead = state.is_interrupted();
        return Ok(Recorded { generation: state.head.generation, snapshot: state.snapshot, is_ahead });
    };
    let name = ClusterName::new(cluster)?;
    let entry = history::entry(&**backend, &name, Some(Generation(generation))).await?;
    let bytes = history::snapshot(&**backend, &entry).await?;
    let snapshot = State::snapshot_of(cluster, &bytes)?;
    Ok(Recorded { generation: entry.generation, snapshot, is_ahead: false })
}

/// The state store has no such cluster.
#[must_use]
pub fn unknown(cluster: &str, place: &str) -> Error {
    Error::UnknownCluster { cluster: cluster.to_owned(), place: place.to_owned() }
}

/// The resource types of the providers that a state names.
#[derive(Default)]
pub struct Types(BTreeMap<String, Arc<Schema>>);

impl Types {
    /// Reads the schemas of the providers of some states. Types of a provider that is not available stay
    /// unknown.
    ///
    /// # Errors
    /// When an available provider does not return its schema.
    pub async fn of(environment: &Environment, snapshots: &[&Snapshot]) -> Result<Self, Error> {
        let records = snapshots.iter().flat_map(|snapshot| snapshot.resources.values());
        let mut names: Vec<&str> = records.map(|record| record.provider.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let mut types = Self::default();
        for name in names {
            match providers::find_named(environment, name).await {
                Ok(provider) => drop(types.0.insert(name.to_owned(), provider.schema().await?)),
                Err(_) => environment.observer.event(Event::NoProvider(name.to_owned())),
            }
        }
        Ok(types)
    }

    /// The irreplaceable content of an object in a state, as a part of a sentence: `holds data`. `None` for
    /// an object that can be made again. An object of an unknown type may hold anything.
    #[must_use]
    pub fn holds(&self, snapshot: &Snapshot, address: &Address) -> Option<&'static str> {
        let is_protected = snapshot.resources.get(address).is_some_and(|record| record.protected);
        match self.get(address.kind()) {
            _ if is_protected => Some("is protected"),
            None => Some("may hold data: its provider was not found"),
            Some(kind) if kind.irreplaceable.is_some() => Some("holds what nothing can make again"),
            Some(kind) if kind.stateful => Some("holds data"),
            Some(kind) if kind.operations.contains_key(operation::REMOVE) => {
                Some("has machines, whose disks may hold data")
            }
            Some(_) => None,
        }
    }

    /// The type of a name.
    #[must_use]
    pub fn get(&self, kind: &str) -> Option<&ResourceType> {
        self.0.values().find_map(|schema| schema.types.get(kind))
    }
}

/// The addresses of a state that patterns name, sorted; all of them without patterns. A pattern without a match is a
/// mistake.
///
/// # Errors
/// [`Error::UnknownResource`].
pub fn select<'a>(
    cluster: &str,
    snapshot: &'a Snapshot,
    patterns: &[String],
) -> Result<Vec<&'a Address>, Error> {
    let addresses = || snapshot.resources.keys();
    let missing: Vec<&String> = patterns
        .iter()
        .filter(|pattern| !addresses().any(|address| matches(pattern, &address.to_string())))
        .collect();
    if let Some((first, more)) = missing.split_first() {
        return Err(Error::UnknownResource {
            cluster: cluster.to_owned(),
            first: (*first).clone(),
            more: more.iter().map(|pattern| (*pattern).clone()).collect(),
        });
    }
    let is_named = |address: &&Address| {
        patterns.is_empty() || patterns.iter().any(|pattern| matches(pattern, &address.to_string()))
    };
    Ok(addresses().filter(is_named).collect())
}
