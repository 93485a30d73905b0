//! How a session comes to a cluster's API.

use std::path::PathBuf;

use async_trait::async_trait;
use slipway_resource::{ErrorClass, ProviderError, SecretText};

use crate::endpoint::ApiEndpoint;

/// A kubeconfig: where an API is and as whom to speak with it. It is never shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretKubeconfig {
    /// The document, YAML or JSON, with all keys and certificates in it or in files that it names.
    pub text: SecretText,
    /// Which of its contexts; the current one without.
    pub context: Option<String>,
    /// Whether it is the caller's own: then commands that it names are run, and files that it names are read. One that a spec
    /// names has everything in it.
    pub is_callers: bool,
    /// Of a server that a spec names: the networks and names in which the caller allows reserved addresses. None for a server
    /// of the caller's own, which may be anywhere.
    pub networks: Option<Vec<String>>,
}

impl SecretKubeconfig {
    /// A kubeconfig of the caller's own, of which the current context counts.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: SecretText::new(text), context: None, is_callers: true, networks: None }
    }
}

/// Gives a session its way to the API. It is asked until there is one, and again when that way fails, since an endpoint
/// may move and credentials expire. So it may make credentials when it is asked.
#[async_trait]
pub trait Access: Send + Sync {
    /// The kubeconfig; `None` when the API does not exist yet: then no object does.
    ///
    /// # Errors
    /// When it cannot be told. The objects are unreadable then, and not absent.
    async fn kubeconfig(&self) -> Result<Option<SecretKubeconfig>, ProviderError>;

    /// The kubeconfig for an API at an address that a step of the session has or waits for. A kubeconfig that is at hand names
    /// its own server, and remains.
    ///
    /// # Errors
    /// As [`Access::kubeconfig`].
    async fn kubeconfig_at(
        &self,
        _endpoint: &ApiEndpoint,
    ) -> Result<Option<SecretKubeconfig>, ProviderError> {
        self.kubeconfig().await
    }
}

/// An API that does not exist yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct NotYet;

#[async_trait]
impl Access for NotYet {
    async fn kubeconfig(&self) -> Result<Option<SecretKubeconfig>, ProviderError> {
        Ok(None)
    }
}

/// A kubeconfig in a file, read anew each time.
#[derive(Clone, Debug)]
pub struct FileAccess {
    /// The file.
    pub path: PathBuf,
    /// Which of its contexts; the current one without.
    pub context: Option<String>,
    /// Whether a missing file means that there is no API yet; else it is a failure.
    pub may_be_missing: bool,
    /// Whether the caller has named it, and no spec.
    pub is_callers: bool,
    /// Networks in which the caller allows servers whose addresses are reserved.
    pub networks: Vec<String>,
}

impl FileAccess {
    /// A kubeconfig that the caller has named.
    #[must_use]
    pub fn of_caller(path: PathBuf) -> Self {
        Self { path, context: None, may_be_missing: false, is_callers: true, networks: Vec::new() }
    }
}

#[async_trait]
impl Access for FileAccess {
    async fn kubeconfig(&self) -> Result<Option<SecretKubeconfig>, ProviderError> {
        let path = self.path.clone();
        let read = move || slipway_limits::file::read_given_text(&path, slipway_limits::size::KUBECONFIG);
        match tokio::task::spawn_blocking(read).await.unwrap_or_else(|error| Err(error.into())) {
            Ok(text) => {
                let text = SecretText::new(text);
                let context = self.context.clone();
                let networks = (!self.is_callers).then(|| self.networks.clone());
                Ok(Some(SecretKubeconfig { text, context, is_callers: self.is_callers, networks }))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && self.may_be_missing => Ok(None),
            Err(error) => {
                let text = format!("the kubeconfig {} cannot be read: {error}", self.path.display());
                Err(ProviderError::new(ErrorClass::Invalid, text)
                    .with_hint("name another file in the provider's configuration, or by KUBECONFIG"))
            }
        }
    }
}
