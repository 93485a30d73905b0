//! Confirmations by name: the names that a person must give before a plan may be carried out, and why.
//!
//! [`ResourceChange::confirmation`] says why the loss of a resource needs a confirmation. This module says
//! which name confirms it, for renderings, commands and the engine.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::change::ResourceChange;
use crate::file::{Mode, Plan};

/// A name that must be given before a plan may be carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Confirmation {
    /// The name: the address of a resource, or the cluster's name where the whole cluster is deleted.
    pub name: String,
    /// The resources that lose data, in the order of the addresses. The deletion of a cluster may have none.
    pub losses: Vec<Loss>,
}

/// A resource that is lost when a plan is carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// Its address.
    pub address: String,
    /// Why it must be named, as "deleting it loses its data".
    pub reason: String,
}

impl Loss {
    fn of(change: &ResourceChange) -> Option<Self> {
        Some(Self { address: change.address.to_string(), reason: change.confirmation.clone()? })
    }
}

impl Plan {
    /// The confirmations that the plan needs.
    #[must_use]
    pub fn confirmations(&self) -> Vec<Confirmation> {
        self.unconfirmed(&BTreeSet::new())
    }

    /// The confirmations that the plan needs and that are not among the names that were given.
    ///
    /// Every deletion of a cluster must be confirmed by the name of the cluster, also when the plan only removes resources from
    /// the state because they were not found. Any other loss is confirmed by the address of the resource.
    #[must_use]
    pub fn unconfirmed(&self, given: &BTreeSet<String>) -> Vec<Confirmation> {
        if self.mode == Mode::Drift {
            // A report of drift changes nothing.
            return Vec::new();
        }
        let losses = self.changes.iter().filter_map(Loss::of);
        if self.mode != Mode::Delete {
            return losses
                .filter(|loss| !given.contains(&loss.address))
                .map(|loss| Confirmation { name: loss.address.clone(), losses: vec![loss] })
                .collect();
        }
        if self.is_empty() || given.contains(&self.cluster) {
            return Vec::new();
        }
        vec![Confirmation { name: self.cluster.clone(), losses: losses.collect() }]
    }
}
