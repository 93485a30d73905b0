//! Reads of objects outside of plans, for a report on a cluster's health.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value as Json;
use slipway_resource::ProviderError;

use crate::access::{Access, SecretKubeconfig};
use crate::api::{Catalogue, Connector, Request, Selector, escaped};
use crate::object::GroupKind;

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

    /// The objects of a kind, as `("apps/v1", "Deployment")`, read page by page: in one namespace, or in all if it is empty, and with
    /// `labels` only those with these labels. `None` if the API does not have the kind.
    ///
    /// # Errors
    /// When there is no answer, or a refusal.
    pub async fn objects(
        &self,
        (api_version, kind): (&str, &str),
        namespace: &str,
        labels: Option<&str>,
    ) -> Result<Option<Vec<Json>>, ProviderError> {
        let connection = self.connector.required().await?;
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let of_kind = GroupKind::new(group, kind);
        let catalogue = Catalogue::read(&connection).await?;
        let Some(resource) = catalogue.resource(&of_kind, Some(version)) else { return Ok(None) };
        let collection = resource.collection(&of_kind, namespace);
        let selector = labels.map_or(Selector::All, Selector::Labels);
        connection.list_all(&collection, (api_version, kind), selector).await.map(Some)
    }

    /// The answer of a Prometheus to a query, through the API server: the Prometheus behind a port of a Service, as
    /// `("monitoring", "prometheus", 9090)`.
    ///
    /// # Errors
    /// When there is no answer, or a refusal.
    pub async fn prometheus(
        &self,
        (namespace, service, port): (&str, &str, u16),
        query: &str,
    ) -> Result<Json, ProviderError> {
        let proxy =
            format!("/api/v1/namespaces/{}/services/{}:{port}/proxy", escaped(namespace), escaped(service));
        self.get(&format!("{proxy}/api/v1/query?query={}", escaped(query))).await
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
