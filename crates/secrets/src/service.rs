//! Keys of a cloud's key service, through the provider module that speaks with it.

use std::sync::Arc;

use async_trait::async_trait;
use slipway_resource::provider::{UnwrapKeyRequest, WrapKeyRequest};
use slipway_resource::{ProviderError, Session};
use tokio::sync::OnceCell;
use zeroize::Zeroizing;

use crate::error::{Error, Result};
use crate::key::{DataKey, Identity, KeyName, Method, Recipient, WrappedKey};

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

/// A key that never leaves its service: data keys go there to be wrapped and unwrapped.
pub struct ServiceKey {
    name: KeyName,
    key: String,
    provider: Box<dyn OpenSession>,
    session: OnceCell<Arc<dyn Session>>,
}

impl ServiceKey {
    /// A key of a provider's key service, by the name that the service has for it.
    #[must_use]
    pub fn new(provider: &str, key: &str, open: Box<dyn OpenSession>) -> Self {
        let name = KeyName { method: Method::KeyService, id: format!("{provider}:{key}") };
        Self { name, key: key.to_owned(), provider: open, session: OnceCell::new() }
    }

    async fn session(&self) -> Result<&Arc<dyn Session>, ProviderError> {
        self.session.get_or_try_init(|| self.provider.open()).await
    }

    fn failed(&self, what: &'static str, error: ProviderError) -> Error {
        Error::KeyService { key: self.name.clone(), what, source: Arc::new(error) }
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
            self.session().await?.wrap_key(request).await
        };
        let wrapped = ask.await.map_err(|error| self.failed("wrap", error))?;
        Ok(WrappedKey { name: self.name.clone(), derivation: None, wrapped })
    }
}

#[async_trait]
impl Identity for ServiceKey {
    fn claims(&self, name: &KeyName) -> bool {
        *name == self.name
    }

    async fn unwrap(&self, wrapped: &WrappedKey, scope: &str) -> Result<Option<DataKey>> {
        let ask = async {
            let request = UnwrapKeyRequest {
                key: self.key.clone(),
                wrapped: wrapped.wrapped.clone(),
                scope: scope.to_owned(),
            };
            self.session().await?.unwrap_key(request).await
        };
        let key = ask.await.map_err(|error| self.failed("unwrap", error))?;
        Ok(DataKey::from_bytes(&key))
    }
}
