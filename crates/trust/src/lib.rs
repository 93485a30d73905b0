//! The user who runs Slipway decides which files, variables and addresses a spec may name.
//!
//! A spec can name files, environment variables, kubeconfigs, endpoints, hosts, URLs and providers. A plan of
//! another person's spec must not read files of the user, run commands on the user's machine, or send
//! requests into the user's network. So no code opens a name from a spec directly. The name goes to the
//! [`Policy`], which is made from the settings of the user and never from the spec's folder. The policy
//! returns a value that can be opened ([`TrustedFile`], [`TrustedVariable`], [`TrustedUrl`],
//! [`TrustedProvider`], and [`Reach`] for the name of a server) or a [`Refusal`] that names the setting to
//! change.
//!
//! The crate depends on no other crate of Slipway except the one with the limits of reads.

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
