//! Proves any provider executable against the contract.
//!
//! A [`Suite`] has the executable and a [`Scenario`] of samples that the provider ships; [`Suite::run`] holds it
//! against the [`Rule`]s of `docs/design/provider-contract.md` and gives a [`Report`].

#![allow(
    clippy::result_large_err,
    reason = "the error is that of the provider trait; one is made for a call over a socket at most"
)]

mod bench;
mod checks;
mod report;
mod rule;
mod scenario;
mod stop;
mod suite;

pub use report::{Report, Verdict};
pub use rule::{RULES, Rule};
pub use scenario::{
    Expand, NodeInstance, Operation, Place, Sample, Scenario, ScenarioError, ServiceKeys, Slow,
};
pub use suite::{Limits, Suite};
