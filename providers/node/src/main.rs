//! The provider for the inside of a node as an executable: started by the engine, or, with `--stdio`, at the other end of a
//! stream, as behind SSH.

#![allow(clippy::print_stderr, reason = "the log of a service is its standard error")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use slipway_provider_node::{
    Node, serve_api_balancer, serve_control_plane_recovery, serve_etcd_backups, serve_virtual_address,
};
use slipway_provider_sdk::{ServeOptions, serve, serve_stream};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [verb, option, path] = arguments.as_slice()
        && option == "--config"
    {
        let tell = |text: &str| eprintln!("{text}");
        let path = Path::new(path);
        let served = match verb.as_str() {
            "etcd-backup" => serve_etcd_backups(path, &tell).await,
            "api-balancer" => serve_api_balancer(path, &tell).await,
            "control-plane-recovery" => serve_control_plane_recovery(path, &tell).await,
            "virtual-address" => serve_virtual_address(path, &tell).await,
            _ => anyhow::bail!("there is no command {verb}"),
        };
        return served.map_err(|error| anyhow::anyhow!(error.message));
    }
    let provider = Arc::new(Node::new());
    if arguments.first().is_some_and(|argument| argument == "--stdio") {
        let stream = tokio::io::join(tokio::io::stdin(), tokio::io::stdout());
        // There is no socket, so that there is no folder for it either.
        serve_stream(provider, stream, &ServeOptions::new(PathBuf::new(), String::new())).await?;
        return Ok(());
    }
    serve(provider, ServeOptions::from_environment()?).await?;
    Ok(())
}
