//! The provider for machines that exist already as an executable.

use std::sync::Arc;

use slipway_provider_hosts::Hosts;
use slipway_provider_sdk::{ServeOptions, serve};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    serve(Arc::new(Hosts::new()), ServeOptions::from_environment()?).await?;
    Ok(())
}
