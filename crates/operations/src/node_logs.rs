//! Logs of the components of nodes that no spec lists, such as those of a cloud: the API server reads them.

use serde_json::Value as Json;
use slipway_provider_kubernetes::Reader;
use slipway_resource::{ErrorClass, ProviderError};

use crate::error::Error;
use crate::health;
use crate::opened::Opened;
use crate::support::Report;

/// The components of control planes that run in pods. The log of a kubelet is on its machine only.
const IN_PODS: [&str; 4] = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"];

/// Nodes with this label run these components.
const CONTROL_PLANES: &str = "/api/v1/nodes?labelSelector=node-role.kubernetes.io/control-plane";

/// The logs of the nodes of one cluster.
pub struct NodeLogs {
    api: Reader,
}

impl NodeLogs {
    /// The logs of a cluster, or why its API cannot be reached. No request is sent yet.
    ///
    /// # Errors
    /// When the cluster has an API, and credentials for it cannot be created.
    pub async fn of(opened: &Opened) -> Result<Result<Self, String>, Error> {
        Ok(health::api(&opened.access()).await?.map(|api| Self { api }))
    }

    /// Whether the cluster has a node.
    ///
    /// # Errors
    /// When the API does not answer, or refuses.
    pub async fn has(&self, node: &str) -> Result<bool, ProviderError> {
        match self.api.get(&format!("/api/v1/nodes/{node}")).await {
            Ok(_) => Ok(true),
            Err(error) if error.class == ErrorClass::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The last lines of a component that runs in a static pod of a node.
    ///
    /// # Errors
    /// When the node has no such pod, or the API or the kubelet does not answer.
    pub async fn read(&self, node: &str, component: &str, lines: usize) -> Result<String, ProviderError> {
        let path = format!("/api/v1/namespaces/kube-system/pods/{component}-{node}/log?tailLines={lines}");
        self.api.text(&path).await
    }

    /// The last lines of each component of each control plane. If a log cannot be read, the error is in its place.
    ///
    /// # Errors
    /// When the nodes cannot be listed.
    pub async fn reports(&self, lines: usize) -> Result<Vec<Report>, ProviderError> {
        let nodes = self.api.get(CONTROL_PLANES).await?;
        let mut reports = Vec::new();
        for node in names(&nodes) {
            for component in IN_PODS {
                let text = self.read(node, component, lines).await;
                let text = text.unwrap_or_else(|error| format!("{}\n", error.message));
                reports.push(Report::new(format!("{node}-{component}.log"), &text));
            }
        }
        Ok(reports)
    }
}

/// Whether a component runs in a static pod of its node, so that the API server can read its log.
#[must_use]
pub fn is_in_pod(component: &str) -> bool {
    IN_PODS.contains(&component)
}

/// The names of the objects of a list.
fn names(list: &Json) -> impl Iterator<Item = &str> {
    let items = list.get("items").and_then(Json::as_array).into_iter().flatten();
    items.filter_map(|item| item.pointer("/metadata/name").and_then(Json::as_str))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_of_a_list_are_read() {
        let list =
            json!({"items": [{"metadata": {"name": "a"}}, {"metadata": {}}, {"metadata": {"name": "b"}}]});
        assert_eq!(names(&list).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(names(&json!({"kind": "Status"})).count(), 0);
        assert!(is_in_pod("etcd") && !is_in_pod("kubelet"));
    }
}
