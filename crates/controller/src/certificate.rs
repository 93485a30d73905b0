//! The certificate of a server, in files that others replace while it runs.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use slipway_limits::{file, size};
use tokio_rustls::TlsAcceptor;

/// The time between two looks at the files.
const RELOAD: Duration = Duration::from_secs(30);

/// A certificate cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file cannot be read.
    #[error("{path} cannot be read")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
    /// The certificate and the key cannot be used.
    #[error("{path} and its key cannot be used: {reason}")]
    Unusable {
        /// The file of the certificate.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

/// A certificate and its key, in PEM. Changed files are used for new connections after half a minute at most.
pub struct ServingCertificate {
    chain: PathBuf,
    key: PathBuf,
    current: Mutex<Current>,
}

struct Current {
    files: [Vec<u8>; 2],
    configuration: Arc<ServerConfig>,
    read: Instant,
}

impl std::fmt::Debug for ServingCertificate {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ServingCertificate").field("chain", &self.chain).finish_non_exhaustive()
    }
}

impl ServingCertificate {
    /// Reads the files.
    ///
    /// # Errors
    /// When they cannot be read or used.
    pub fn read(chain: &Path, key: &Path) -> Result<Self, CertificateError> {
        let files = contents(chain, key)?;
        let configuration = configuration(chain, &files)?;
        let current = Mutex::new(Current { files, configuration, read: Instant::now() });
        Ok(Self { chain: chain.to_owned(), key: key.to_owned(), current })
    }

    /// What a new connection uses.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.read.elapsed() > RELOAD {
            current.read = Instant::now();
            self.reload(&mut current);
        }
        TlsAcceptor::from(Arc::clone(&current.configuration))
    }

    /// Reads the files again. Files that cannot be used are reported, and the certificate stays.
    fn reload(&self, current: &mut Current) {
        let changed = contents(&self.chain, &self.key).and_then(|files| {
            if files == current.files {
                return Ok(None);
            }
            let configuration = configuration(&self.chain, &files)?;
            Ok(Some((files, configuration)))
        });
        match changed {
            Ok(None) => {}
            Ok(Some((files, configuration))) => {
                tracing::info!(certificate = %self.chain.display(), "the certificate was read again");
                (current.files, current.configuration) = (files, configuration);
            }
            Err(error) => tracing::warn!(%error, "the changed certificate is not used"),
        }
    }
}

fn contents(chain: &Path, key: &Path) -> Result<[Vec<u8>; 2], CertificateError> {
    let read = |path: &Path| {
        file::read_given(path, size::KEY_FILE)
            .map_err(|cause| CertificateError::Unreadable { path: path.to_owned(), cause })
    };
    Ok([read(chain)?, read(key)?])
}

fn configuration(path: &Path, files: &[Vec<u8>; 2]) -> Result<Arc<ServerConfig>, CertificateError> {
    let unusable = |reason: String| CertificateError::Unusable { path: path.to_owned(), reason };
    let chain = CertificateDer::pem_slice_iter(&files[0]).collect::<Result<Vec<_>, _>>();
    let chain = chain.map_err(|error| unusable(error.to_string()))?;
    let key = PrivateKeyDer::from_pem_slice(&files[1]).map_err(|error| unusable(error.to_string()))?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let built = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key));
    built.map(Arc::new).map_err(|error| unusable(error.to_string()))
}
