//! The controller of `EtcdStorage` objects: it gives each aggregated API server proxies of its own, and certificates for them.
//!
//! | module | what it does |
//! | --- | --- |
//! | `program`, `settings`, `error` | the process: election, watches, endpoints |
//! | `reconcile`, `delete` | one look at an `EtcdStorage`, and its end |
//! | `authority`, `leaf` | when certificates are made and how long they are trusted; pure |
//! | `signers`, `certificates`, `clients` | the same in Secrets and ConfigMaps |
//! | `destination` | objects of API servers, of which the controller writes its own keys only |
//! | `workload`, `names` | the Deployment, its Service and all names; pure |
//! | `apply` | writes of the controller's own objects |
//! | `core` | the certificates for the core etcd |
//! | `report` | conditions, status and events; pure |
//! | `context`, `metrics`, `failure` | what all of them use |

mod apply;
mod authority;
mod certificates;
mod clients;
mod context;
mod core;
mod delete;
mod destination;
mod error;
mod failure;
mod leaf;
mod metrics;
mod names;
mod program;
mod reconcile;
mod report;
mod settings;
mod signers;
mod workload;

pub use error::Error;
pub(crate) use program::NAME;
pub use program::run;
pub use settings::Settings;
