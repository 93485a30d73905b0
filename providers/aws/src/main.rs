//! AWS as a provider executable.

use std::sync::Arc;

use slipway_provider_aws::Aws;
use slipway_provider_sdk::{ServeOptions, serve};

// One thread: the work between calls is short, and waiting needs no thread.
#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    serve(Arc::new(Aws), ServeOptions::from_environment()?).await?;
    Ok(())
}
