//! Encryption of the whole state: a layer over its backend.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use slipway_state_store::backend::{Error as BackendError, Result as BackendResult};
use slipway_state_store::{Backend, Key, Locality, Prefix, Tag, controllers, layout};

use crate::envelope::{Context, Envelope, Expected};
use crate::error::{Error, Result};
use crate::keyring::Keyring;
use crate::store;

/// Encrypts and decrypts the contents of objects in envelopes.
///
/// Encrypted objects are decrypted on reads, whatever the configuration says. On writes, everything is
/// encrypted when the whole state is to be encrypted: snapshots, segments of the journal, plans. Four kinds
/// of objects are not changed: heads, which compare-and-swap must be able to read and which contain names,
/// numbers and digests only; secrets, which are envelopes already; documents of controllers, which have no
/// secrets and are compared and swapped too; and keys of one segment, which belong to no cluster.
#[derive(Debug)]
pub struct SealedBackend {
    inner: Arc<dyn Backend>,
    keyring: Arc<Keyring>,
    seals: bool,
    refuses_clear: bool,
}

impl SealedBackend {
    /// A layer over a backend. With `seals` the whole state is encrypted, and objects in plain text are
    /// refused.
    #[must_use]
    pub fn new(inner: Arc<dyn Backend>, keyring: Arc<Keyring>, seals: bool) -> Self {
        Self { inner, keyring, seals, refuses_clear: seals }
    }

    /// The same layer for a caller that is about to encrypt plain objects: it reads them too.
    #[must_use]
    pub fn with_clear(self) -> Self {
        Self { refuses_clear: false, ..self }
    }

    /// The backend below the layer.
    #[must_use]
    pub fn inner(&self) -> &Arc<dyn Backend> {
        &self.inner
    }

    /// Whether an object that this layer would encrypt is stored in plain text.
    ///
    /// # Errors
    /// The errors of the backend.
    pub async fn is_clear(&self, key: &Key) -> BackendResult<bool> {
        if passes(key) {
            return Ok(false);
        }
        Ok(self.inner.get(key).await?.is_some_and(|(bytes, _)| !Envelope::is(&bytes)))
    }

    async fn sealed(&self, key: &Key, bytes: Bytes) -> BackendResult<Bytes> {
        if !self.seals || passes(key) {
            return Ok(bytes);
        }
        seal(&self.keyring, key, &bytes).await.map(Into::into).map_err(failed)
    }

    async fn opened(&self, key: &Key, bytes: Bytes) -> BackendResult<Bytes> {
        if passes(key) {
            return Ok(bytes);
        }
        if !Envelope::is(&bytes) {
            let clear = || failed(Error::Clear { path: key.to_string() });
            return if self.refuses_clear { Err(clear()) } else { Ok(bytes) };
        }
        let opened = self.keyring.open(&Expected::at(key.as_str()), &bytes).await.map_err(failed)?;
        Ok(Bytes::copy_from_slice(&opened.plain))
    }
}

/// Whether an object is stored unchanged.
pub(crate) fn passes(key: &Key) -> bool {
    if controllers::is_document(key) {
        return true;
    }
    let mut segments = key.as_str().split('/').skip(1);
    match segments.next() {
        None => true,
        Some(second) => second == store::FOLDER || second == layout::HEAD && segments.next().is_none(),
    }
}

/// Encrypts an object of the state. Its path has its generation, or its epoch and sequence.
pub(crate) async fn seal(keyring: &Keyring, key: &Key, bytes: &[u8]) -> Result<Vec<u8>> {
    let cluster = key.as_str().split('/').next().unwrap_or_default().to_owned();
    keyring.seal(Context { path: key.to_string(), cluster, uid: None, generation: 0 }, bytes).await
}

fn failed(error: Error) -> BackendError {
    match error {
        Error::Store(slipway_state_store::Error::Backend(error)) => error,
        error => BackendError::Sealed {
            code: error.code(),
            hint: error.hint(),
            lacks_key: error.lacks_key(),
            source: Arc::new(error),
        },
    }
}

#[async_trait]
impl Backend for SealedBackend {
    async fn create(&self, key: &Key, bytes: Bytes) -> BackendResult<Tag> {
        self.inner.create(key, self.sealed(key, bytes).await?).await
    }

    async fn get(&self, key: &Key) -> BackendResult<Option<(Bytes, Tag)>> {
        match self.inner.get(key).await? {
            Some((bytes, tag)) => Ok(Some((self.opened(key, bytes).await?, tag))),
            None => Ok(None),
        }
    }

    async fn update(&self, key: &Key, bytes: Bytes, tag: &Tag) -> BackendResult<Tag> {
        self.inner.update(key, self.sealed(key, bytes).await?, tag).await
    }

    async fn list(&self, prefix: &Prefix) -> BackendResult<Vec<Key>> {
        self.inner.list(prefix).await
    }

    async fn list_children(&self, prefix: &Prefix) -> BackendResult<Vec<String>> {
        self.inner.list_children(prefix).await
    }

    async fn delete(&self, key: &Key) -> BackendResult<()> {
        self.inner.delete(key).await
    }

    fn locality(&self) -> Locality {
        self.inner.locality()
    }
}
