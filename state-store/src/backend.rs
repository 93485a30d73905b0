//! Storage of objects: conditional writes on named, small, whole objects.
//!
//! The state store needs two promises of a backend: a create succeeds at most once for a key, and an update
//! succeeds only on the version that its writer read. [`crate::conformance`] checks them.

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
/// It is opaque: only the backend that returned it compares it. Both fields are kept and handed back, since
/// some backends compare one and some the other.
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

/// The location of a backend's writers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locality {
    /// Writers may share this host. A holder that is a dead process of this host is replaced at once, and
    /// writes are too cheap to be batched.
    Local,
    /// Writers are on any host, and each write is a request over a network.
    Remote,
}

/// A backend that stores whole objects by key, with conditional writes only.
///
/// Each call is atomic: a reader sees a whole object or none, and a completed write is durable.
/// [`Error::OutcomeUnknown`] is the one exception: the write may have happened, and may still happen. Callers
/// resolve it by writing the same bytes under the same condition again, and reading when that is refused.
#[async_trait]
pub trait Backend: fmt::Debug + Send + Sync {
    /// Writes an object that does not exist yet.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`] when there is one, possibly from an earlier attempt of this call.
    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Tag>;

    /// The object and the tag of the version that was read; `None` when there is no object.
    ///
    /// # Errors
    /// [`Error::Corrupt`] when the stored bytes are not the written ones.
    async fn get(&self, key: &Key) -> Result<Option<(Bytes, Tag)>>;

    /// Replaces an object when it still is the version that `tag` names.
    ///
    /// # Errors
    /// [`Error::Conflict`] when it is another version, [`Error::NotFound`] when there is none.
    async fn update(&self, key: &Key, bytes: Bytes, tag: &Tag) -> Result<Tag>;

    /// Every key below `prefix`, sorted. The cost depends only on the number of keys below the prefix.
    ///
    /// # Errors
    /// When the backend cannot be read. A prefix with nothing below it is an empty list.
    async fn list(&self, prefix: &Prefix) -> Result<Vec<Key>>;

    /// The names directly below `prefix` that have keys below them, sorted (a listing with the delimiter
    /// `/`). The cost does not depend on deeper keys.
    ///
    /// # Errors
    /// When the backend cannot be read.
    async fn list_children(&self, prefix: &Prefix) -> Result<Vec<String>>;

    /// Removes an object, if there is one. Only for snapshots and journal segments that a later snapshot
    /// replaced, plans and approvals, and for objects of a probe; never for a head.
    ///
    /// # Errors
    /// When the backend refuses.
    async fn delete(&self, key: &Key) -> Result<()>;

    /// The location of the writers.
    fn locality(&self) -> Locality {
        Locality::Remote
    }
}
