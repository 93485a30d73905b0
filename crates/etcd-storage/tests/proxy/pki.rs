//! Certificates of a test.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use slipway_bootstrap::configuration::EncryptionAlgorithm;
use slipway_bootstrap::pki::{AlternativeNames, Certificate, PrivateKey, Subject, Template, Usage};
use slipway_etcd_storage::proxy::TlsFiles;

const DAY: Duration = Duration::from_secs(86_400);

/// An authority.
pub struct Authority {
    certificate: Certificate,
    key: PrivateKey,
}

impl Authority {
    pub fn new(name: &str) -> Self {
        let key = key();
        let certificate =
            Template::authority(name, Timestamp::now(), DAY).unwrap().self_signed(&key).unwrap();
        Self { certificate, key }
    }

    pub fn pem(&self) -> String {
        self.certificate.to_pem()
    }

    /// Writes a certificate for servers and clients at the loopback interface, and its key.
    pub fn write(&self, certificate: &Path, key_file: &Path) {
        let key = key();
        let leaf = Template::leaf(Subject::new("leaf"), Timestamp::now(), DAY)
            .unwrap()
            .with_names(AlternativeNames::of(["127.0.0.1", "localhost"]))
            .with_usages([Usage::Server, Usage::Client])
            .signed_by(key.public_key(), &self.certificate, &self.key)
            .unwrap();
        fs::write(certificate, leaf.to_pem()).unwrap();
        fs::write(key_file, key.to_pem().unwrap().expose()).unwrap();
    }

    /// Writes a certificate of this authority, and the authorities that the other side is checked with.
    pub fn files(&self, folder: &Path, name: &str, trusted: &[&Self]) -> TlsFiles {
        let file = |ending: &str| -> PathBuf { folder.join(format!("{name}{ending}")) };
        let files = TlsFiles { authorities: file("-ca.crt"), certificate: file(".crt"), key: file(".key") };
        fs::write(&files.authorities, trusted.iter().map(|one| one.pem()).collect::<String>()).unwrap();
        self.write(&files.certificate, &files.key);
        files
    }
}

fn key() -> PrivateKey {
    PrivateKey::generate(EncryptionAlgorithm::EcdsaP256).unwrap()
}
