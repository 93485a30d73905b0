//! Confirmations by name: what a person has to name before a plan may be carried out, and why.
//!
//! A change says in [`ResourceChange::confirmation`] why its loss needs a confirmation. This module says which name
//! is that confirmation, for everybody who asks: renderings, commands, the engine.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::change::ResourceChange;
use crate::file::{Mode, Plan};

/// A name that has to be given before a plan may be carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Confirmation {
    /// The name: the address of a resource, or the cluster's name where the whole cluster is deleted.
    pub name: String,
    /// What is lost, in the order of the addresses.
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
    /// The name of a cluster confirms the deletion of all of it, and nothing else. The address of a resource confirms
    /// the loss of this resource in any plan.
    #[must_use]
    pub fn unconfirmed(&self, given: &BTreeSet<String>) -> Vec<Confirmation> {
        if self.mode == Mode::Drift {
            // It is only looked at.
            return Vec::new();
        }
        let losses = self.changes.iter().filter_map(Loss::of).filter(|loss| !given.contains(&loss.address));
        if self.mode != Mode::Delete {
            return losses
                .map(|loss| Confirmation { name: loss.address.clone(), losses: vec![loss] })
                .collect();
        }
        let losses: Vec<Loss> = losses.collect();
        if losses.is_empty() || given.contains(&self.cluster) {
            return Vec::new();
        }
        vec![Confirmation { name: self.cluster.clone(), losses }]
    }
}
