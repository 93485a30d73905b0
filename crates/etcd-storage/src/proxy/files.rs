//! Certificates and keys in files, which others replace while the proxy runs.

use std::path::Path;
use std::time::Duration;

use slipway_limits::file;
use slipway_limits::size::KEY_FILE;
use tokio_util::sync::CancellationToken;

use super::error::Error;
use super::settings::TlsFiles;

/// The content of [`TlsFiles`].
#[derive(Clone, PartialEq, Eq)]
pub struct Contents {
    /// The authorities.
    pub authorities: String,
    /// The certificate.
    pub certificate: String,
    /// The key.
    pub key: String,
}

/// Reads the files.
pub fn read(files: &TlsFiles) -> Result<Contents, Error> {
    let text = |path: &Path| {
        file::read_given_text(path, KEY_FILE).map_err(|source| Error::File { path: path.to_owned(), source })
    };
    Ok(Contents {
        authorities: text(&files.authorities)?,
        certificate: text(&files.certificate)?,
        key: text(&files.key)?,
    })
}

/// Reads the files again and again, and calls `install` when they changed. What cannot be used is reported and left:
/// the certificate and the key are not replaced at the same moment, and the next look sees both.
pub async fn follow(
    files: &TlsFiles,
    mut current: Contents,
    every: Duration,
    stop: &CancellationToken,
    install: impl Fn(&Contents) -> Result<(), Error>,
) {
    while stop.run_until_cancelled(tokio::time::sleep(every)).await.is_some() {
        match read(files) {
            Ok(found) if found == current => {}
            Ok(found) => match install(&found) {
                Ok(()) => {
                    tracing::info!(certificate = %files.certificate.display(), "certificates are reloaded");
                    current = found;
                }
                Err(error) => tracing::warn!(%error, "changed certificates are not used"),
            },
            Err(error) => tracing::warn!(%error, "certificates cannot be read"),
        }
    }
}
