//! Fingerprints of irreplaceable material: public fingerprints of authorities, keys and encryption keys.
//!
//! The state and the nodes compare their material by these fingerprints. None of them reveals a private key.

use aws_lc_rs::digest::{SHA256, digest};
use slipway_resource::hexadecimal;

use crate::pki::{Certificate, Pin, PrivateKey, PublicKey};

/// The name of the attribute that has a fingerprint.
pub const FINGERPRINT: &str = "fingerprint";

/// The folder of kubeadm's control-plane files.
const FOLDER: &str = "/etc/kubernetes/";

/// The prefix of an encryption configuration before it is hashed.
const ENCRYPTION: &[u8] = b"slipway encryption configuration\0";

/// The fingerprint of a key pair: the digest of its public key, as in the pins of `kubeadm join`.
#[must_use]
pub fn of_key(key: &PublicKey) -> String {
    Pin::of(key).to_string()
}

/// The fingerprint of a public key in PEM; `None` for any other text.
#[must_use]
pub fn of_public_key_pem(text: &str) -> Option<String> {
    PublicKey::from_pem(text).ok().map(|key| of_key(&key))
}

/// The fingerprint of an `EncryptionConfiguration`, or of another text with a key for data.
#[must_use]
pub fn of_encryption(text: &str) -> String {
    let bytes = [ENCRYPTION, text.trim_end().as_bytes()].concat();
    format!("sha256:{}", hexadecimal(digest(&SHA256, &bytes).as_ref()))
}

/// Whether a file at this path may contain irreplaceable material, whatever its content is.
#[must_use]
pub fn may_be(path: &str) -> bool {
    path.starts_with(FOLDER)
}

/// The fingerprint of a file with irreplaceable material; `None` for any other file. `declared` says that the
/// desired file is declared as such. Otherwise its path and content decide: the authorities, the keys of
/// service accounts and the encryption configurations of a control plane.
#[must_use]
pub fn of_file(path: &str, content: &[u8], declared: bool) -> Option<String> {
    if !declared && !may_be(path) {
        return None;
    }
    let text = std::str::from_utf8(content).ok()?;
    if is_encryption(text) {
        return Some(of_encryption(text));
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_key_file = declared || name.ends_with("ca.key") || name == "sa.key" || name == "sa.pub";
    let begin = text.trim_start();
    if begin.starts_with("-----BEGIN CERTIFICATE-----") {
        let certificate = Certificate::from_pem(text).ok()?;
        return (certificate.is_ca() && name.ends_with("ca.crt")).then(|| of_key(certificate.public_key()));
    }
    if !is_key_file {
        return None;
    }
    if begin.starts_with("-----BEGIN PUBLIC KEY-----") {
        return of_public_key_pem(text);
    }
    if begin.starts_with("-----BEGIN ") && begin.contains("PRIVATE KEY-----") {
        return PrivateKey::from_pem(text).ok().map(|key| of_key(key.public_key()));
    }
    None
}

fn is_encryption(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_end);
    lines.any(|line| line == "kind: EncryptionConfiguration")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;

    use super::*;
    use crate::configuration::EncryptionAlgorithm;
    use crate::pki::{Template, Usage};

    #[test]
    fn an_authority_its_key_and_its_renewed_certificate_have_one_fingerprint() {
        let key = PrivateKey::generate(EncryptionAlgorithm::EcdsaP256).unwrap();
        let certificate = |seconds| {
            let validity = Duration::from_secs(seconds);
            let template = Template::authority("kubernetes", Timestamp::now(), validity).unwrap();
            template.self_signed(&key).unwrap().to_pem()
        };
        let pem = key.to_pem().unwrap();
        let of = |path: &str, text: &str| of_file(path, text.as_bytes(), false);
        let print = of("/etc/kubernetes/pki/ca.crt", &certificate(60));
        assert_eq!(print, Some(of_key(key.public_key())));
        assert_eq!(of("/etc/kubernetes/pki/etcd/ca.crt", &certificate(6_000)), print);
        assert_eq!(of("/etc/kubernetes/pki/front-proxy-ca.key", pem.expose()), print);
        assert_eq!(of("/etc/kubernetes/pki/sa.key", pem.expose()), print);
        assert_eq!(of("/etc/kubernetes/pki/sa.pub", &key.public_key().to_pem()), print);
        // Files that other tools keep elsewhere, and certificates that can be signed again, have none.
        assert_eq!(of("/usr/local/share/ca-certificates/ca.crt", &certificate(60)), None);
        assert_eq!(of("/etc/kubernetes/pki/apiserver.key", pem.expose()), None);
        assert_eq!(of_file("/srv/pki/any.key", pem.expose().as_bytes(), true), print);
        let leaf = Template::leaf(crate::pki::Subject::new("x"), Timestamp::now(), Duration::from_secs(60));
        let leaf = leaf.unwrap().with_usages([Usage::Client]).self_signed(&key).unwrap().to_pem();
        assert_eq!(of("/etc/kubernetes/pki/ca.crt", &leaf), None);
    }

    #[test]
    fn an_encryption_configuration_is_known_by_its_content() {
        let text = "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources: []\n";
        let print = of_file("/etc/kubernetes/enc/encryption.yaml", text.as_bytes(), false).unwrap();
        assert_eq!(print, of_encryption(text.trim_end()));
        assert_ne!(print, of_encryption("kind: EncryptionConfiguration\n"));
        assert_eq!(of_file("/etc/kubernetes/audit-policy.yaml", b"kind: Policy\n", false), None);
    }
}
