//! Plan, apply, delete, roll, upgrade, adopt, recover: the operations of the command line, controllers and
//! tests.
//!
//! An [`Environment`] is shared by all operations of one caller. [`Opened`] is a cluster with its state and
//! its providers; a [`Request`] says what to do with it. [`bring`] makes a plan, gets a decision about it
//! ([`Decide`]), and executes it. An [`Observer`] gets [`Event`]s. The library prints nothing and reads no
//! input.
//!
//! ```
#![doc = include_str!("../examples/apply.rs")]
//! ```
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod access;
mod actor;
mod adopting;
mod applying;
mod approving;
pub mod code;
mod composition;
pub mod decide;
#[allow(clippy::disallowed_methods, reason = "the lines of specs that were read")]
pub mod diagnose;
mod environment;
mod error;
pub mod etcd;
pub mod health;
mod holding;
pub mod importing;
pub mod node_logs;
mod observe;
mod opened;
mod plannable;
mod planning;
pub mod plans;
pub mod policies;
pub mod protection;
pub mod providers;
pub mod rebuilding;
pub mod recorded;
mod request;
mod reversible;
pub mod rotation;
pub mod secrets;
mod spec;
mod stage;
pub mod state;
pub mod support;
mod trust;
mod unplanned;
mod upgrade;
mod version;
mod version_change;
mod weakening;

pub use access::{ClusterAccess, Entry, KnownApi};
pub use actor::{Actor, account_of, person_of};
pub use adopting::{Adopting, KeyProblem, KeySource, KeysetError};
pub use applying::{Applied, Manner, Outcome, bring, stop_at_findings};
pub use decide::{Approve, Decide, Decline, Declined, Names, Occasion};
pub use environment::{Download, Environment, Identities, NoDownload, Processes, Store};
pub use error::{DownloadProblem, Error, KubeletProblem, VersionError, store_hint};
pub use holding::{Holding, commit, lost_head, meta};
pub use observe::{Event, Ignore, Observer};
pub use opened::Opened;
pub use plannable::{Plannable, Planned};
pub use planning::Expansion;
pub use plans::Saved;
pub use rebuilding::{Damage, Rebuilding};
pub use request::{Approvals, Request, Terms};
pub use slipway_engine::READ_AGE;
pub use spec::{ClusterSpec, Specs, load};
pub use unplanned::{Allowed, Unplanned};
pub use upgrade::{Baseline, Upgrade, UpgradeStep, UpgradeVersions, WayBack};
pub use weakening::{Weakening, weakened};
