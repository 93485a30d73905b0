//! How the machine's own plan comes to the cluster's API.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use slipway_provider_kubernetes::{Access, SecretKubeconfig};
use slipway_resource::{ErrorClass, ProviderError, SecretText};

/// Kubeconfigs of the machine, the first that is there.
#[derive(Clone, Debug)]
pub struct NodeAccess {
    /// The files, in the order in which they are tried.
    pub files: Vec<PathBuf>,
    /// The URL of the API server on this machine, where it has one: it answers before a shared endpoint does.
    pub server: Option<String>,
    /// Whether the API exists; while it does not, no object behind it does.
    pub exists: Arc<AtomicBool>,
}

#[async_trait]
impl Access for NodeAccess {
    async fn kubeconfig(&self) -> Result<Option<SecretKubeconfig>, ProviderError> {
        if !self.exists.load(Ordering::SeqCst) {
            return Ok(None);
        }
        for path in &self.files {
            match tokio::fs::read_to_string(path).await {
                Ok(text) => return Ok(Some(SecretKubeconfig::new(self.local(text)?.expose()))),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => {
                    let text = format!("the kubeconfig {} cannot be read: {error}", path.display());
                    return Err(ProviderError::new(ErrorClass::Invalid, text));
                }
            }
        }
        Ok(None)
    }
}

impl NodeAccess {
    /// The kubeconfig with the machine's own API server in it.
    fn local(&self, text: String) -> Result<SecretText, ProviderError> {
        let Some(server) = &self.server else { return Ok(SecretText::new(text)) };
        let unusable = |error: &dyn std::fmt::Display| {
            ProviderError::new(
                ErrorClass::Invalid,
                format!("a kubeconfig of this machine cannot be used: {error}"),
            )
        };
        let mut document: serde_json::Value =
            serde_yaml::from_str(&text).map_err(|error| unusable(&error))?;
        let clusters = document.get_mut("clusters").and_then(serde_json::Value::as_array_mut);
        for cluster in clusters.into_iter().flatten() {
            if let Some(place) = cluster.pointer_mut("/cluster/server") {
                *place = serde_json::Value::from(server.as_str());
            }
        }
        Ok(SecretText::new(document.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_machine_asks_its_own_server_once_there_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("admin.conf");
        let access = NodeAccess {
            files: vec![folder.path().join("super-admin.conf"), path.clone()],
            server: Some("https://10.0.0.1:6443".to_owned()),
            exists: Arc::new(AtomicBool::new(false)),
        };
        std::fs::write(&path, "clusters:\n- name: a\n  cluster: {server: 'https://api.example.test:6443'}\n")
            .unwrap();
        assert!(access.kubeconfig().await.unwrap().is_none());
        access.exists.store(true, Ordering::SeqCst);
        let text = access.kubeconfig().await.unwrap().unwrap().text;
        assert!(text.expose().contains("https://10.0.0.1:6443"), "{}", text.expose());
        std::fs::remove_file(&path).unwrap();
        assert!(access.kubeconfig().await.unwrap().is_none());
    }
}
