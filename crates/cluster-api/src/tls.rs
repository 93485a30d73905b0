//! TLS: how a server is trusted, and what is shown to it.

use std::sync::Arc;

use hyper_rustls::ConfigBuilderExt as _;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::{Credentials, Trust, Unusable};

/// The configuration of TLS for a server.
///
/// # Errors
/// When a certificate or a key cannot be used.
pub fn configuration(trust: &Trust, credentials: &Credentials) -> Result<ClientConfig, Unusable> {
    let unusable = |what: &str, error: &dyn std::error::Error| Unusable::Invalid(format!("{what}: {error}"));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let algorithms = provider.signature_verification_algorithms;
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Unusable::Invalid(error.to_string()))?;
    let builder = match trust {
        Trust::Authorities(pem) => builder.with_root_certificates(authorities(pem)?),
        Trust::System => {
            builder.with_native_roots().map_err(|error| unusable("the certificates of the system", &error))?
        }
        Trust::Anybody => {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(AcceptAnybody { algorithms }))
        }
    };
    match credentials {
        Credentials::Certificate { certificate, key } => {
            let chain: Result<Vec<CertificateDer<'static>>, _> =
                CertificateDer::pem_slice_iter(certificate.as_bytes()).collect();
            let chain = chain.map_err(|error| unusable("the client certificate", &error))?;
            let key = PrivateKeyDer::from_pem_slice(key.expose().as_bytes())
                .map_err(|error| unusable("the key of the client certificate", &error))?;
            builder.with_client_auth_cert(chain, key).map_err(|error| Unusable::Invalid(error.to_string()))
        }
        Credentials::Anonymous | Credentials::Token(_) => Ok(builder.with_no_client_auth()),
    }
}

fn authorities(pem: &str) -> Result<RootCertStore, Unusable> {
    let unusable =
        |error: &dyn std::error::Error| Unusable::Invalid(format!("the certificate of the CA: {error}"));
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        roots.add(certificate.map_err(|error| unusable(&error))?).map_err(|error| unusable(&error))?;
    }
    if roots.is_empty() {
        Err(Unusable::Invalid("there is no certificate of a CA".to_owned()))
    } else {
        Ok(roots)
    }
}

/// Accepts any server; that it holds the key of its certificate is still checked.
#[derive(Debug)]
struct AcceptAnybody {
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for AcceptAnybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
