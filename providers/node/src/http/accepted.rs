//! The authorities whose clients a server accepts, as the server itself names them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::SignatureScheme;
use rustls::client::ResolvesClientCert;
use rustls::sign::CertifiedKey;
use slipway_bootstrap::pki::Subject;

use super::{Client, Failure, Trust};

/// A server that asks for the certificate of its client names the authorities that it accepts (RFC 8446, 4.2.4). This shows what a
/// running process uses, whatever is in the files on its disk.
#[derive(Debug, Default)]
struct Asked(Mutex<Option<Vec<Vec<u8>>>>);

impl ResolvesClientCert for Asked {
    fn resolve(&self, authorities: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        if let Ok(mut asked) = self.0.lock() {
            *asked = Some(authorities.iter().map(|name| name.to_vec()).collect());
        }
        None
    }

    fn has_certs(&self) -> bool {
        true
    }
}

/// The common names of the authorities whose clients the server at a URL accepts. The server is verified by `authorities`, which
/// are certificates in PEM. No certificate is sent, so that the server may refuse the request itself.
///
/// # Errors
/// When the server does not answer, cannot be verified, or does not ask for a certificate.
pub(crate) async fn accepted_authorities(
    url: &str,
    authorities: Vec<u8>,
    limit: Duration,
) -> Result<Vec<String>, Failure> {
    let asked = Arc::new(Asked::default());
    let trust = Trust { authorities: Some(authorities), client: None };
    let resolver: Arc<dyn ResolvesClientCert> = asked.clone();
    let tls = trust.verifying()?.with_client_cert_resolver(resolver);
    let answer = Client::with(tls, limit).get(url).await;
    let names = asked.0.lock().ok().and_then(|mut asked| asked.take());
    match (names, answer) {
        (Some(names), _) => {
            let subjects = names.iter().filter_map(|name| Subject::from_der(name).ok());
            Ok(subjects.map(|subject| subject.common_name).collect())
        }
        (None, Err(failure)) => Err(failure),
        (None, Ok(_)) => Err(Failure("it asks for no certificate of its client".to_owned())),
    }
}
