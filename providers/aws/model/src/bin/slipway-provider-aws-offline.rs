//! AWS as a provider executable that plans without AWS.

use std::sync::Arc;

use slipway_aws_model::offline::OfflineProvider;
use slipway_provider_sdk::{ServeError, ServeOptions, serve};

// One thread: planning is pure, and its work is short.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), ServeError> {
    serve(Arc::new(OfflineProvider), ServeOptions::from_environment()?).await
}
