//! Tests of the built program.

mod adopt;
mod cli;
mod concurrency;
mod crash;
mod failures;
mod formats;
mod hosts_plans;
mod laws;
mod leaves;
mod offline;
mod paused;
mod plans;
mod policy;
mod requests;
mod rollout;
mod secret_scan;
mod secrets;
mod specs_cases;
mod state;
mod state_places;
mod state_plans;
mod state_recovery;
mod terraform_cases;
mod upgrade;
