//! The simulated cloud as a provider executable.

use std::sync::Arc;

use slipway_provider_sdk::{ServeOptions, serve};
use slipway_provider_sim::Sim;

// One thread: the work of a call is short, and passing memory between threads costs more.
#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    serve(Arc::new(Sim), ServeOptions::from_environment()?).await?;
    Ok(())
}
