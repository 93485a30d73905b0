//! Reads of objects outside of plans, for a report on a cluster's health.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value as Json;
use slipway_resource::ProviderError;

use crate::access::{Access, SecretKubeconfig};
use crate::api::{Connector, Request, Selector};

/// Reads objects of one cluster's API: once each, and changing nothing.
pub struct Reader {
    connector: Connector,
}

/// An existing kubeconfig.
pub(crate) struct Given(pub(crate) SecretKubeconfig);

#[async_trait]
impl Access for Given {
    async fn kubeconfig(&self) -> Result<Option<SecretKubeconfig>, ProviderError> {
        Ok(Some(self.0.clone()))
    }
}

impl Reader {
    /// A reader with a kubeconfig. No request is sent yet.
    #[must_use]
    pub fn new(kubeconfig: SecretKubeconfig) -> Self {
        Self { connector: Connector::new(Arc::new(Given(kubeconfig))) }
    }

    /// The object or list at a path.
    ///
    /// # Errors
    /// When there is no answer, or a refusal.
    pub async fn get(&self, path: &str) -> Result<Json, ProviderError> {
        self.connector.required().await?.send(&Request::get(path)).await?.body()
    }

    /// The text at a path that has no object, such as `/metrics`.
    ///
    /// # Errors
    /// When there is no answer, or a refusal.
    pub async fn text(&self, path: &str) -> Result<String, ProviderError> {
        self.connector.required().await?.text(path).await
    }

    /// All pods, read page by page.
    ///
    /// # Errors
    /// When there is no answer, or a refusal.
    pub async fn pods(&self) -> Result<Vec<Json>, ProviderError> {
        self.connector.required().await?.list_all("/api/v1/pods", ("v1", "Pod"), Selector::All).await
    }

    /// For each node, by name, the budgets that block its drain now, as `budget default/web allows 0 disruptions`. Other nodes are
    /// missing.
    ///
    /// # Errors
    /// When there is no answer, or a refusal.
    pub async fn blockers(&self) -> Result<BTreeMap<String, Vec<String>>, ProviderError> {
        self.connector.required().await?.blockers().await
    }
}
