//! The cloud's provider on a machine: it proves the identity of this machine, verifies that of another one, and opens keys
//! with the cloud's key service.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use slipway_protocol::{Launch, Running};
use slipway_resource::provider::{SessionRequest, Terms, executable_name};
use slipway_resource::{Session, Value};

use crate::code;
use crate::error::Error;
use crate::facts::program;

/// How often a provider is looked after.
const LOOK: Duration = Duration::from_secs(1);

/// A running provider with a session.
pub struct Identifier {
    running: Running,
    session: Arc<dyn Session>,
}

impl Identifier {
    /// The path of a provider's executable on this machine; `None` when it is not installed.
    pub fn find(provider: &str) -> Option<PathBuf> {
        // The name comes from the document; it is no path.
        let is_name = provider.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        program(&executable_name(provider)).filter(|_| is_name)
    }

    /// Starts a provider and opens a session in a region that only looks.
    pub async fn start(provider: &str, region: Option<&str>) -> Result<Self, Error> {
        Self::open(provider, region, Terms { read_only: true, ..Terms::default() }).await
    }

    /// Starts a provider and opens a session in a region that may change objects of the cloud.
    pub async fn start_to_change(provider: &str, region: Option<&str>) -> Result<Self, Error> {
        Self::open(provider, region, Terms::default()).await
    }

    async fn open(provider: &str, region: Option<&str>, terms: Terms) -> Result<Self, Error> {
        let name = executable_name(provider);
        let failed = |cause: String| {
            Error::new(code::IDENTITY, format!("{name} cannot be used on this machine")).cause(cause)
        };
        let path = Self::find(provider).ok_or_else(|| failed("it is not on this machine".to_owned()))?;
        let running = Running::launch(&Launch::new(provider, &path))
            .await
            .map_err(|error| failed(error.to_string()))?;
        let client = running.provider();
        let info = client.info().await.map_err(|error| failed(error.message))?;
        if !info.capabilities.node_identity {
            return Err(failed("this provider does not support the identity of machines".to_owned()));
        }
        let request =
            SessionRequest { config: Value::Null, region: region.map(str::to_owned), offline: false };
        let session = client.open_session_on(request, terms).await;
        let session = session.map_err(|error| failed(error.message))?;
        Ok(Self { running, session })
    }

    /// The type of the provider's objects that has an operation; `None` when there is none.
    pub async fn type_with(&self, operation: &str) -> Result<Option<String>, Error> {
        let schema = self.running.provider().schema().await.map_err(|error| {
            Error::new(code::IDENTITY, "the types of the provider are not known").cause(error.message)
        })?;
        let found = schema.types.iter().find(|(_, kind)| kind.operations.contains_key(operation));
        Ok(found.map(|(name, _)| name.clone()))
    }

    /// The session.
    pub fn session(&self) -> &Arc<dyn Session> {
        &self.session
    }

    /// Waits until the provider has ended by itself, and says how.
    pub async fn ended(&self) -> String {
        loop {
            if let Some(how) = self.running.process().life().ended() {
                return how;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Ends the provider.
    pub async fn end(self) {
        let Self { running, session } = self;
        // The process ends in any case.
        let _ = session.close().await;
        running.end().await;
    }
}
