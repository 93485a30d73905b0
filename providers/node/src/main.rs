//! The provider for the inside of a node as an executable.

use std::sync::Arc;

use slipway_provider_node::Node;
use slipway_provider_sdk::{ServeOptions, serve};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    serve(Arc::new(Node::new()), ServeOptions::from_environment()?).await?;
    Ok(())
}
