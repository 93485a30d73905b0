//! Services beside EC2 over HTTP: each kind made, read, changed attribute by attribute and deleted against moto.

#[path = "../support.rs"]
mod support;

mod balance;
mod calls;
mod dns;
mod iam;
mod interruption;
mod keys;
mod life;
mod object;
mod trouble;
