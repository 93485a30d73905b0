//! Tests of the built program.

mod adopt;
mod cli;
mod concurrency;
mod crash;
mod failures;
mod laws;
mod leaves;
mod plans;
mod policy;
mod rollout;
mod specs_cases;
mod upgrade;
