//! The simulated cloud as a provider executable.

use std::sync::Arc;

use slipway_provider_sdk::{ServeOptions, serve};
use slipway_provider_sim::Sim;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    serve(Arc::new(Sim), ServeOptions::from_environment()?).await?;
    Ok(())
}
