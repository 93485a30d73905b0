//! What a roll of machines asks of a cluster's API: whether a machine is a ready node, that nothing new comes onto it,
//! and that what runs on it leaves within the budgets.
//!
//! It knows no cloud and no engine. Any provider whose resources have machines can open a [`Client`], find a [`Node`]
//! by its provider id, [`Client::cordon`] it, and ask it to empty itself with [`Client::evict`], round by round.

mod budget;
mod client;
mod error;
mod evict;
mod node;

pub use client::{Access, Client, escaped};
pub use error::Error;
pub use evict::{Round, Rules};
pub use node::Node;
