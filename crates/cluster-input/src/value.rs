//! Values that are parsed once, at the border: addresses, versions, durations, amounts, references to secrets.
//!
//! Every type here reads from and prints to one canonical string, and its JSON schema carries a `format` (see
//! [`Format`]) by which documents are checked before they are converted.

mod access;
mod amount;
mod cidr;
mod duration;
mod format;
mod go_duration;
mod port_range;
mod quantity;
mod secret_reference;
mod version;

pub use access::AccessSource;
pub use amount::Amount;
pub use cidr::Cidr;
pub use duration::Duration;
pub use format::{Format, Malformed};
pub use go_duration::{GoDuration, GoDurationError};
pub use port_range::PortRange;
pub use quantity::Quantity;
pub use secret_reference::SecretReference;
pub use version::KubernetesVersion;
