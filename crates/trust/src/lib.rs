//! What a spec may name is decided by the one who runs Slipway.
//!
//! A spec can name files, environment variables, kubeconfigs, endpoints, hosts, URLs and providers. Whoever plans a
//! stranger's spec must not have their own files read, their own commands run or their own network spoken to by it. So
//! nothing that a spec names is opened by its name: the name goes to the [`Policy`], which is made of the settings of
//! the user and never of the spec's folder, and which hands out a value that can be opened ([`TrustedFile`],
//! [`TrustedVariable`], [`TrustedUrl`], [`TrustedProvider`], and [`Reach`] for the name of a server) or a [`Refusal`] that names the setting to change.
//!
//! The crate knows no other crate of Slipway but the limits of what is read.

mod environment;
mod file;
pub mod kubeconfig;
mod network;
mod policy;
mod reach;
mod refusal;
mod reserved;
mod settings;
mod tree;

pub use environment::{ProcessEnvironment, TrustedVariable};
pub use file::TrustedFile;
pub use network::TrustedUrl;
pub use policy::{Mode, Policy, ProviderKind, TrustedProvider};
pub use reach::{Reach, Resolve, Resolving, SystemResolver};
pub use refusal::Refusal;
pub use reserved::is_reserved;
pub use settings::{Settings, SettingsError, path_in};
pub use tree::Tree;
