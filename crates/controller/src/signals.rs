//! A graceful end at a signal.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A token that is cancelled at the first `SIGTERM` or `SIGINT`.
///
/// # Errors
/// When the signals cannot be caught.
pub fn stop_on_signals() -> std::io::Result<CancellationToken> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let stop = CancellationToken::new();
    let cancelled = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        cancelled.cancel();
    });
    Ok(stop)
}
