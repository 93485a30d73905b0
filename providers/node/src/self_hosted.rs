//! A control plane that its own cluster runs: the API server, the controller manager and the scheduler are pods of DaemonSets.
//!
//! Each component of a machine has a DaemonSet of its own, so that manifests of machines may differ, and a change reaches one machine
//! at a time. Its manifest stays on disk, beside the folder of the kubelet. While no pod of a component runs, a service gives the
//! manifest to the kubelet. Both pods can listen on the same port for a while, so that one takes over from the other.

mod form;
mod lock;
mod record;
mod seen;
mod serve;
mod settings;
mod watch;

pub use serve::serve_control_plane_recovery;

pub(crate) use form::{REVISION, daemon_set, daemon_set_name, revision_of, shared};
pub(crate) use lock::Lock;
pub(crate) use record::{Access, Record};
pub(crate) use seen::Seen;
pub(crate) use settings::Settings;
