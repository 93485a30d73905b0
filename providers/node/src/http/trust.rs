//! The verification of servers, and the client's own certificate.

use std::sync::Arc;

use rustls::client::WantsClientCert;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, ConfigBuilder, DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::Failure;

/// Certificates in PEM.
#[derive(Default)]
pub(crate) struct Trust {
    /// The CA certificates for the server. Without them, only this machine may be asked, and its certificate
    /// is not verified.
    pub(crate) authorities: Option<Vec<u8>>,
    /// The client's certificate and its key.
    pub(crate) client: Option<(Vec<u8>, Vec<u8>)>,
}

fn failed(what: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure(format!("{what}: {error}"))
}

impl Trust {
    /// The verification of the server, before the client's certificate is decided.
    pub(super) fn verifying(&self) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>, Failure> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| failed("TLS", &error))?;
        match &self.authorities {
            Some(pem) => {
                let mut roots = RootCertStore::empty();
                for certificate in CertificateDer::pem_slice_iter(pem) {
                    let certificate = certificate.map_err(|error| failed("the CA", &error))?;
                    roots.add(certificate).map_err(|error| failed("the CA", &error))?;
                }
                if roots.is_empty() {
                    return Err(Failure("the CA's file holds no certificate".to_owned()));
                }
                Ok(builder.with_root_certificates(roots))
            }
            None => Ok(builder.dangerous().with_custom_certificate_verifier(Arc::new(ThisMachine(provider)))),
        }
    }

    pub(super) fn to_tls(&self) -> Result<ClientConfig, Failure> {
        let builder = self.verifying()?;
        let Some((certificate, key)) = &self.client else { return Ok(builder.with_no_client_auth()) };
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate).collect();
        let chain = chain.map_err(|error| failed("the client's certificate", &error))?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| failed("the client's key", &error))?;
        builder.with_client_auth_cert(chain, key).map_err(|error| failed("the client's certificate", &error))
    }
}

/// Accepts any certificate of this machine itself, and no other: components serve their health there with
/// self-signed certificates.
#[derive(Debug)]
struct ThisMachine(Arc<CryptoProvider>);

impl ServerCertVerifier for ThisMachine {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let is_here = match name {
            ServerName::IpAddress(address) => std::net::IpAddr::from(*address).is_loopback(),
            ServerName::DnsName(name) => name.as_ref() == "localhost",
            _ => false,
        };
        if is_here {
            return Ok(ServerCertVerified::assertion());
        }
        Err(rustls::Error::General("there is no CA to trust it by".to_owned()))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
