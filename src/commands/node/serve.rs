//! `slipway node serve`

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use slipway_provider_node::Node;
use slipway_provider_sdk::{ServeError, ServeOptions, serve_stream};
use tokio::net::UnixListener;

use crate::cli::node::ServeArguments;
use crate::error::CommandError;

/// Serves the node provider: one client over standard input and output, or many on a socket.
pub(super) async fn run(arguments: &ServeArguments) -> Result<ExitCode, CommandError> {
    match &arguments.socket {
        Some(path) => on_socket(path).await?,
        None => {
            let stream = tokio::io::join(tokio::io::stdin(), tokio::io::stdout());
            serve_stream(Arc::new(Node::new()), stream, &options()).await.map_err(failed)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Serves all clients that connect, until the process ends. Only root can connect.
async fn on_socket(path: &Path) -> Result<(), CommandError> {
    use std::os::unix::fs::PermissionsExt as _;
    let unusable = |error: std::io::Error| CommandError::file("the socket", path, error);
    if path.exists() && tokio::net::UnixStream::connect(path).await.is_err() {
        // The socket of a process that has ended.
        std::fs::remove_file(path).map_err(unusable)?;
    }
    let listener = UnixListener::bind(path).map_err(unusable)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).map_err(unusable)?;
    let provider = Arc::new(Node::new());
    let mut clients = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let (stream, _) = accepted.map_err(unusable)?;
                let provider = provider.clone();
                clients.spawn(async move { serve_stream(provider, stream, &options()).await });
            }
            Some(served) = clients.join_next() => {
                if let Ok(Err(error)) = served {
                    tracing::warn!(%error, "a client was not served to its end");
                }
            }
            _ = tokio::signal::ctrl_c() => break,
        }
    }
    let _ = std::fs::remove_file(path);
    Ok(())
}

fn options() -> ServeOptions {
    ServeOptions::new(std::env::temp_dir(), String::new())
}

fn failed(error: ServeError) -> CommandError {
    CommandError::new(error.code(), error.to_string())
}
