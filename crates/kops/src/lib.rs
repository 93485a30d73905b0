//! Reads kOps Cluster and InstanceGroup documents into the internal spec.
//!
//! Documents of `kops.k8s.io/v1alpha2` and `v1alpha3` are read as they are; the latter are brought into the form of the
//! former first. [`KopsReader`] plugs into
//! [`slipway_spec::load::load_with`]; the clusters that it makes are checked like any other.
//!
//! Nothing is dropped in silence. A table ([`fields`]) knows every field of kOps with its type, and a list of rules
//! ([`rules`]) says of each what becomes of it: *honoured* (read into the model, or kept in kOps' words for the provider
//! under `provider.config.kops` and `pools[].providerConfig.kops`, for an add-on or the pod network under
//! `config.kops`), *refused* (an error), or *without effect* (a note where that is harmless, a warning where it is not).
//! [`native()`] takes the key `kops` away, for a document of Slipway's own.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod account;
mod bounds;
pub mod code;
mod convert;
mod defaults;
mod field;
pub mod fields;
mod native;
mod outcome;
pub mod reader;
pub mod rules;
mod structure;
mod v1alpha3;
mod values;

pub use native::native;
pub use reader::KopsReader;
