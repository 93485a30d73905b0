//! Keys of a cloud's key service, through the provider module that speaks with it.

use std::sync::Arc;

use async_trait::async_trait;
use slipway_resource::provider::{UnwrapKeyRequest, WrapKeyRequest};
use slipway_resource::{ProviderError, Session};
use tokio::sync::OnceCell;
use zeroize::Zeroizing;

use crate::error::{Error, Result};
use crate::key::{DataKey, Identity, KeyName, Recipient, WrappedKey};

/// Opens a session with the provider that has the key service. It is called when the key is needed, not
/// before.
#[async_trait]
pub trait OpenSession: Send + Sync {
    /// A session with the provider.
    ///
    /// # Errors
    /// When the provider is not there or refuses.
    async fn open(&self) -> Result<Arc<dyn Session>, ProviderError>;
}

/// The key service of a provider, with a session that is opened once.
struct Service {
    provider: Box<dyn OpenSession>,
    session: OnceCell<Arc<dyn Session>>,
}

impl Service {
    fn new(open: Box<dyn OpenSession>) -> Self {
        Self { provider: open, session: OnceCell::new() }
    }

    async fn session(&self) -> Result<&Arc<dyn Session>, ProviderError> {
        self.session.get_or_try_init(|| self.provider.open()).await
    }

    /// Unwraps a data key with a key of the service.
    async fn unwrap(&self, key: &str, wrapped: &WrappedKey, scope: &str) -> Result<Option<DataKey>> {
        let ask = async {
            let request = UnwrapKeyRequest {
                key: key.to_owned(),
                wrapped: wrapped.wrapped.clone(),
                scope: scope.to_owned(),
            };
            self.session().await?.unwrap_key(request).await
        };
        let plain = ask.await.map_err(|error| failed(&wrapped.name, "unwrap", error))?;
        Ok(DataKey::from_bytes(&plain))
    }
}

fn failed(key: &KeyName, what: &'static str, error: ProviderError) -> Error {
    Error::KeyService { key: key.clone(), what, source: Arc::new(error) }
}

/// A session that is open already.
struct Open(Arc<dyn Session>);

#[async_trait]
impl OpenSession for Open {
    async fn open(&self) -> Result<Arc<dyn Session>, ProviderError> {
        Ok(self.0.clone())
    }
}

/// A key that never leaves its service: data keys go there to be wrapped and unwrapped.
pub struct ServiceKey {
    name: KeyName,
    key: String,
    service: Service,
}

impl ServiceKey {
    /// A key of a provider's key service, by the name that the service has for it.
    #[must_use]
    pub fn new(provider: &str, key: &str, open: Box<dyn OpenSession>) -> Self {
        let name = KeyName::of_service(provider, key);
        Self { name, key: key.to_owned(), service: Service::new(open) }
    }

    /// The same, with a session that is open already.
    #[must_use]
    pub fn with_session(provider: &str, key: &str, session: Arc<dyn Session>) -> Self {
        Self::new(provider, key, Box::new(Open(session)))
    }
}

/// All keys of a provider's key service, on a machine whose identity decides which of them it may use.
pub struct ServiceKeys {
    provider: String,
    service: Service,
}

impl ServiceKeys {
    /// The keys of a provider's key service.
    #[must_use]
    pub fn new(provider: &str, open: Box<dyn OpenSession>) -> Self {
        Self { provider: provider.to_owned(), service: Service::new(open) }
    }
}

#[async_trait]
impl Identity for ServiceKeys {
    fn claims(&self, name: &KeyName) -> bool {
        name.service().is_some_and(|(provider, _)| provider == self.provider)
    }

    async fn unwrap(&self, wrapped: &WrappedKey, scope: &str) -> Result<Option<DataKey>> {
        match wrapped.name.service() {
            Some((_, key)) => self.service.unwrap(key, wrapped, scope).await,
            None => Ok(None),
        }
    }
}

#[async_trait]
impl Recipient for ServiceKey {
    fn name(&self) -> KeyName {
        self.name.clone()
    }

    async fn wrap(&self, key: &DataKey, scope: &str) -> Result<WrappedKey> {
        let ask = async {
            let request = WrapKeyRequest {
                key: self.key.clone(),
                plain: Zeroizing::new(key.expose().to_vec()),
                scope: scope.to_owned(),
            };
            self.service.session().await?.wrap_key(request).await
        };
        let wrapped = ask.await.map_err(|error| failed(&self.name, "wrap", error))?;
        Ok(WrappedKey { name: self.name.clone(), derivation: None, wrapped })
    }
}

#[async_trait]
impl Identity for ServiceKey {
    fn claims(&self, name: &KeyName) -> bool {
        *name == self.name
    }

    async fn unwrap(&self, wrapped: &WrappedKey, scope: &str) -> Result<Option<DataKey>> {
        self.service.unwrap(&self.key, wrapped, scope).await
    }
}
