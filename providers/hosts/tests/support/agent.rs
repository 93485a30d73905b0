//! Agents of hosts, each the node provider below a folder of the test.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use slipway_provider_node::Node;
use slipway_provider_sdk::{ServeOptions, serve_until};
use slipway_resource::provider::{Info, SessionRequest};
use slipway_resource::{Provider, ProviderError, Schema, Session, Value};
use tokio::net::UnixListener;
use tokio::task::JoinHandle;

/// Serves an agent that works below a folder, until it is to stop.
pub(crate) fn serve(
    listener: UnixListener,
    root: &Path,
    stop: impl Future<Output = ()> + Send + 'static,
) -> JoinHandle<anyhow::Result<()>> {
    let provider = Arc::new(Below(Node::new(), root.to_owned()));
    tokio::spawn(async move {
        let options = ServeOptions::new(PathBuf::new(), String::new());
        Ok(serve_until(provider, listener, &options, stop).await?)
    })
}

/// The node provider below a folder, whatever its sessions ask for.
struct Below(Node, PathBuf);

#[async_trait]
impl Provider for Below {
    async fn info(&self) -> Result<Info, ProviderError> {
        self.0.info().await
    }

    async fn schema(&self) -> Result<Arc<Schema>, ProviderError> {
        self.0.schema().await
    }

    async fn validate_config(&self, _: &Value) -> Result<Vec<String>, ProviderError> {
        Ok(Vec::new())
    }

    async fn open_session(&self, request: SessionRequest) -> Result<Arc<dyn Session>, ProviderError> {
        let root = self.1.display().to_string();
        let config = Value::map([("root", root.as_str()), ("init_system", "none")]);
        self.0.open_session(SessionRequest { config, ..request }).await
    }
}
