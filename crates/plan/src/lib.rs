//! The planner, the plan file and its renderings.
//!
//! [`plan`] compares the desired resources, the existing objects and the applied attributes, and returns a
//! [`Plan`]: an explicit graph of [`Step`]s. All decisions are in it.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod assemble;
mod cascade;
pub mod change;
mod circles;
pub mod compare;
pub mod confirmation;
mod cordoned;
mod decide;
mod derived;
mod error;
pub mod estimate;
#[cfg(test)]
mod examples;
mod exclusives;
pub mod fields;
pub mod file;
mod forgotten;
mod graph;
mod ground;
mod holds;
mod ignored;
mod imports;
pub mod irreplaceable;
pub mod lifecycle;
mod lint;
mod losses;
mod nodes;
pub mod observations;
mod on_demand;
mod orphans;
mod outdated;
mod outside;
mod planner;
pub mod precondition;
pub mod prices;
mod providers;
pub mod queue;
pub mod reason;
mod recorded;
pub mod removed;
mod renames;
pub mod render;
mod requested;
mod resolve;
mod rollout;
mod scope;
mod soundness;
pub mod state;
pub mod step;
mod step_graph;
mod succession;
mod target;
pub mod terraform;
mod titles;
mod topology;
mod turns;
mod used;

pub use change::{ChangeAction, ResourceChange};
pub use compare::{Comparison, compare};
pub use confirmation::{Confirmation, Loss};
pub use error::{Error, IRREPLACEABLE};
pub use file::{Binding, Continued, Mode, Plan, ProviderPin};
pub use ignored::Ignored;
pub use lint::lint;
pub use observations::Observations;
pub use planner::{Inputs, Options, Uncompared, plan};
pub use prices::Prices;
pub use providers::{ProviderHandle, Providers};
pub use reason::{Located, Reason, ReasonCode};
pub use requested::Unfinished;
pub use resolve::resolve_known;
pub use scope::LeftOut;
pub use state::{Cordoned, Record, Snapshot, by_identity};
pub use step::{Step, StepAction, StepId};
pub use titles::Titles;
