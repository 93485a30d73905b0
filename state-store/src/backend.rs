//! Where objects are kept: conditional writes on named, small, whole objects.
//!
//! Everything above needs only two promises of a place: a create happens at most once for a key, and an update happens
//! only on top of the version that its writer read. [`crate::conformance`] checks them.

mod envelope;
pub mod error;
pub mod file;
pub mod key;
pub mod memory;
pub mod open;
pub mod patient;
pub mod proved;
pub mod remote;
pub mod settings;
pub mod url;

use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;

pub use error::{Error, Result};
pub use key::{Key, Prefix};

/// One version of one object, as its backend names it.
///
/// It is opaque: only the backend that gave it out compares it. Both fields are kept and handed back, since some
/// places compare one and some the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tag {
    /// The entity tag (S3, Azure, files).
    pub e_tag: Option<String>,
    /// The version or generation (GCS, versioned buckets).
    pub version: Option<String>,
}

impl Tag {
    /// A tag that has an entity tag only.
    pub fn from_e_tag(e_tag: impl Into<String>) -> Self {
        Self { e_tag: Some(e_tag.into()), version: None }
    }
}

/// Where a backend's writers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locality {
    /// Writers may share this host: a holder that is a dead process of this host is replaced at once, and writes are
    /// cheap enough to never be held back for company.
    Local,
    /// Writers are anywhere, and each write is a request over a network.
    Remote,
}

/// A place that keeps whole objects by key, with conditional writes only.
///
/// Each call is atomic: a reader sees an object whole or not at all, and a completed write is durable.
/// [`Error::OutcomeUnknown`] is the one exception: the write may have happened, and may still happen. Callers resolve
/// it by writing the same bytes under the same condition again, and reading when that is refused.
#[async_trait]
pub trait Backend: fmt::Debug + Send + Sync {
    /// Writes an object that does not exist yet.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`] when there is one, whoever wrote it: possibly an earlier attempt of this very call.
    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Tag>;

    /// The object and the tag of the version that was read; nothing when there is none.
    ///
    /// # Errors
    /// [`Error::Corrupt`] when what is stored is not what was written.
    async fn get(&self, key: &Key) -> Result<Option<(Bytes, Tag)>>;

    /// Replaces an object when it still is the version that `tag` names.
    ///
    /// # Errors
    /// [`Error::Conflict`] when it is another version, [`Error::NotFound`] when there is none.
    async fn update(&self, key: &Key, bytes: Bytes, tag: &Tag) -> Result<Tag>;

    /// Every key below `prefix`, sorted. The cost grows with the number of keys below the prefix, and with nothing
    /// else that is stored.
    ///
    /// # Errors
    /// When the place cannot be read. A prefix with nothing below it is an empty list.
    async fn list(&self, prefix: &Prefix) -> Result<Vec<Key>>;

    /// The names of what is directly below `prefix` and itself has keys below it, sorted (a listing with the delimiter
    /// `/`). The cost does not grow with what lies deeper.
    ///
    /// # Errors
    /// When the place cannot be read.
    async fn list_children(&self, prefix: &Prefix) -> Result<Vec<String>>;

    /// Removes an object, if there is one. Only for snapshots and journal segments that a later snapshot replaced, and
    /// for what a probe wrote; never for a head.
    ///
    /// # Errors
    /// When the place refuses.
    async fn delete(&self, key: &Key) -> Result<()>;

    /// Where the writers are.
    fn locality(&self) -> Locality {
        Locality::Remote
    }
}
