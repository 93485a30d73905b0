//! Cluster state: compare-and-swapped head, immutable snapshots, fenced journal, leases.
//!
//! A cluster's state is one mutable object, its [`Head`], and immutable objects beside it: snapshots, and the segments
//! of a journal. [`read`] gives what is stored without writing anything; a [`Holder`] is the one writer at a time:
//! taking over from another holder counts the epoch up and seals the journal of the old one, so that a holder that
//! lost its lease can neither commit nor append again.
//!
//! ```
//! # use std::sync::Arc;
//! # use slipway_state_store::{Acquire, ClusterName, CommitMeta, Holder, Identity, SystemClock};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let url = directory.path().to_str().ok_or("path")?;
//! let backend = slipway_state_store::open(url)?;
//! let cluster = ClusterName::new("prod.example.com")?;
//! let clock = Arc::new(SystemClock);
//!
//! let acquire = Acquire::new(Identity::current("ada", "apply")).create("3f0c".parse()?);
//! let mut holder = Holder::acquire(backend.clone(), &cluster, acquire, clock).await?;
//! holder.append(vec![br#"{"begin":"aws_vpc.main"}"#.to_vec()]).await?;
//! holder.valid()?;
//! // … the call to the cloud leaves here …
//! holder.append(vec![br#"{"end":"aws_vpc.main"}"#.to_vec()]).await?;
//! holder.commit(b"the whole state".to_vec(), CommitMeta::default()).await?;
//! holder.release(None).await?;
//!
//! let view = slipway_state_store::read(&*backend, &cluster).await?.ok_or("no such cluster")?;
//! assert_eq!(view.snapshot.as_deref(), Some(&b"the whole state"[..]));
//! assert!(view.records.is_empty());
//! # Ok(())
//! # }
//! ```

pub mod approvals;
pub mod archive;
pub mod backend;
pub mod clock;
pub mod conformance;
pub mod controllers;
pub mod digest;
mod error;
#[cfg(any(test, feature = "faults"))]
pub mod faults;
pub mod head;
pub mod history;
pub mod holder;
pub mod journal;
pub mod layout;
#[cfg(test)]
mod model;
pub mod name;
pub mod plans;
pub mod probe;
pub mod process;
mod random;
mod readable;
mod retry;
pub mod runs;
pub mod state;
pub mod verify;
mod write;

pub use backend::file::FileBackend;
pub use backend::key::{Key, Prefix};
pub use backend::memory::MemoryBackend;
pub use backend::open::{open, open_with};
pub use backend::settings::Settings;
pub use backend::{Backend, Locality, Tag};
pub use clock::{Clock, SystemClock};
pub use digest::Digest;
pub use error::{Error, Result};
pub use head::{CommitMeta, Head, Outcome};
pub use holder::{
    Acquire, Garbage, HeadStands, Holder, Options, Retention, find_garbage, head_stands, restore_head,
};
pub use journal::Journal;
pub use name::{ClusterName, ClusterUid, Epoch, Generation, HolderId, Sequence};
pub use probe::{Initialised, ProbeReport, initialise, probe};
pub use process::{Identity, Process};
pub use readable::Readable;
pub use retry::Retry;
pub use state::{Record, View, list_clusters, read, read_head};
