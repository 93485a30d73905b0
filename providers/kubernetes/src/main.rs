//! The objects inside a cluster as a provider executable.

use std::sync::Arc;

use slipway_provider_kubernetes::Kubernetes;
use slipway_provider_sdk::{ServeOptions, serve};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    serve(Arc::new(Kubernetes::configured()), ServeOptions::from_environment()?).await?;
    Ok(())
}
