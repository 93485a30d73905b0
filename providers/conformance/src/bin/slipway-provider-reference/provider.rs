//! The provider: its configuration and its sessions.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use slipway_resource::provider::{Info, Scope, SessionRequest, Terms};
use slipway_resource::{ErrorClass, Provider, ProviderError, Schema, Session, Value};

use crate::cloud::Cloud;
use crate::defect::Defect;
use crate::kinds;
use crate::session::ReferenceSession;

/// The reference provider.
pub struct Reference {
    defect: Defect,
    schema: Arc<Schema>,
    turn: Arc<Mutex<()>>,
    /// The directory of the first session, for the defect of mixing sessions up.
    first: Mutex<Option<PathBuf>>,
}

impl Reference {
    pub fn new(defect: Defect) -> Self {
        Self {
            schema: Arc::new(kinds::schema(&defect)),
            turn: Arc::default(),
            first: Mutex::default(),
            defect,
        }
    }
}

#[async_trait]
impl Provider for Reference {
    async fn info(&self) -> Result<Info, ProviderError> {
        Ok(kinds::info(&self.defect))
    }

    async fn schema(&self) -> Result<Arc<Schema>, ProviderError> {
        Ok(Arc::clone(&self.schema))
    }

    async fn validate_config(&self, config: &Value) -> Result<Vec<String>, ProviderError> {
        let directory = config.get("directory").and_then(Value::as_str).unwrap_or_default();
        if directory.starts_with('/') || self.defect.breaks("config-validated") {
            return Ok(Vec::new());
        }
        Ok(vec![format!("directory `{directory}` is not an absolute path")])
    }

    async fn open_session(&self, request: SessionRequest) -> Result<Arc<dyn Session>, ProviderError> {
        self.open_session_on(request, Terms::default()).await
    }

    async fn open_session_on(
        &self,
        request: SessionRequest,
        terms: Terms,
    ) -> Result<Arc<dyn Session>, ProviderError> {
        if request.offline && self.defect.breaks("offline") {
            return Err(ProviderError::new(ErrorClass::Unauthenticated, "no credentials"));
        }
        let directory = request.config.get("directory").and_then(Value::as_str);
        let Some(directory) = directory.filter(|directory| directory.starts_with('/')) else {
            return Err(ProviderError::new(ErrorClass::Invalid, "directory is not an absolute path"));
        };
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        let first = first.get_or_insert_with(|| PathBuf::from(directory)).clone();
        let directory =
            if self.defect.breaks("sessions-isolated") { first } else { PathBuf::from(directory) };
        let blind = request.config.get("blind").and_then(Value::as_bool) == Some(true);
        let scope = Scope {
            account: if request.offline { String::new() } else { directory.display().to_string() },
            region: request.region,
        };
        Ok(Arc::new(ReferenceSession::new(
            Cloud::new(&directory, Arc::clone(&self.turn)),
            Arc::clone(&self.schema),
            scope,
            (blind, terms.read_only),
            self.defect.clone(),
        )))
    }
}
