//! A graceful end at a signal.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A token that is cancelled at the first `SIGTERM` or `SIGINT`.
///
/// # Errors
/// When the signals cannot be caught.
pub fn stop_on_signals() -> std::io::Result<CancellationToken> {
    stop_on_two_signals().map(|(stop, _)| stop)
}

/// Two tokens: one that is cancelled at the first `SIGTERM` or `SIGINT`, and one that is cancelled at the second.
///
/// # Errors
/// When the signals cannot be caught.
pub fn stop_on_two_signals() -> std::io::Result<(CancellationToken, CancellationToken)> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let (stop, at_once) = (CancellationToken::new(), CancellationToken::new());
    let tokens = [stop.clone(), at_once.clone()];
    tokio::spawn(async move {
        for token in tokens {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            token.cancel();
        }
    });
    Ok((stop, at_once))
}
