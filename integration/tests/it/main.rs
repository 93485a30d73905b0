//! Tests of the built program.

mod adopt;
pub(crate) mod cli;
mod concurrency;
mod controller;
mod crash;
mod crash_upkeep;
mod documents;
mod failures;
mod findings;
mod formats;
mod frozen_provider;
mod hints;
mod hostile;
mod hosts_plans;
mod laws;
mod leaves;
mod limits;
mod lists;
mod offline;
mod paused;
mod plans;
mod policy;
mod recovery;
mod requests;
mod results;
mod review;
mod rollout;
mod secret_scan;
mod secrets;
mod specs_cases;
mod state;
mod state_approvals;
mod state_places;
mod state_plans;
mod state_recovery;
mod state_runs;
mod stopped_provider;
mod terraform_cases;
mod traces;
mod trust;
mod upgrade;
mod whole_plans;
mod widths;
mod words;

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_slipway-under-test");

/// A cluster named `line`, with one control plane and no more.
const SMALL: &str = include_str!("small.yaml");

const PLAN: &[&str] = &["plan", "-f", "spec.yaml"];
const APPLY: &[&str] = &["apply", "-f", "spec.yaml", "--yes"];
