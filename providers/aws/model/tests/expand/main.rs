//! What a cluster becomes on AWS.

mod balancers;
mod harness;
mod laws;
mod networks;
mod refusals;
mod rules;
mod snapshots;
