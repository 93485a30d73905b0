//! The authority of the cluster, on a control plane that has its key.

use std::time::Duration;

use jiff::Timestamp;
use slipway_bootstrap::configuration::EncryptionAlgorithm;
use slipway_bootstrap::kubeconfig::{Credentials as Proof, client_certificate};
use slipway_bootstrap::pki::{Certificate, PrivateKey, Subject, inventory};
use slipway_resource::SecretText;

use super::api::Credentials;
use crate::code;
use crate::error::Error;

/// The lifetime of the administrator's certificate with which a machine reads from the cluster for a join.
pub const SHORT: Duration = Duration::from_secs(600);

/// The certificate of an authority and its key.
pub struct Authority {
    /// The certificate.
    pub certificate: Certificate,
    /// Its private key.
    pub key: PrivateKey,
}

impl Authority {
    /// Reads the certificate and the key from PEM.
    pub fn from_pem(certificate: &str, key: &SecretText) -> Result<Self, Error> {
        let certificate = Certificate::from_pem(certificate).map_err(|error| unusable(&error))?;
        let key = PrivateKey::from_pem(key.expose()).map_err(|error| unusable(&error))?;
        Ok(Self { certificate, key })
    }

    /// The credentials of an administrator of the cluster, for [`SHORT`].
    pub fn administrator(&self, algorithm: EncryptionAlgorithm) -> Result<Credentials, Error> {
        let subject = Subject::new("kubernetes-admin").with_organizations([inventory::ADMINISTRATORS]);
        let (authority, key) = (&self.certificate, &self.key);
        match client_certificate(&subject, algorithm, authority, key, Timestamp::now(), SHORT) {
            Ok(Proof::Certificate { certificate, key }) => Ok(Credentials::Certificate { certificate, key }),
            Ok(_) => Err(unusable(&"it signs no certificate")),
            Err(error) => Err(unusable(&error)),
        }
    }
}

fn unusable(error: &dyn std::fmt::Display) -> Error {
    Error::new(code::CLUSTER_CONFIGURATION, "the cluster's CA cannot be used").cause(error.to_string())
}
