//! The planner, the plan file and its renderings.
//!
//! [`plan`] takes what is wanted, what exists and what was applied last, and returns a [`Plan`]: an explicit
//! graph of [`Step`]s. Nothing is decided after that.

pub mod change;
mod error;
pub mod file;
pub mod precondition;
pub mod reason;
pub mod state;
pub mod step;

pub use change::{ChangeAction, ResourceChange};
pub use error::Error;
pub use file::{Binding, Mode, Plan, ProviderPin};
pub use reason::{Reason, ReasonCode};
pub use state::{Record, Snapshot};
pub use step::{Step, StepAction, StepId};
