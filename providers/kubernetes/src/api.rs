//! Requests to a cluster's API, and what its answers mean.

mod catalogue;
mod connection;
mod list;
mod request;
mod silence;
mod status;

pub(crate) use catalogue::{Catalogue, Resource};
pub(crate) use connection::{Connection, Connector};
pub(crate) use list::{Selector, escaped};
pub(crate) use request::{Answer, Request};
pub(crate) use status::{Cause, Refusal, Taken};
