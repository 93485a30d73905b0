//! Shared certificates, encrypted and kept in the cluster for control planes that join (`kubeadm-certs`).
//!
//! The Secret `kubeadm-certs` in `kube-system` has an entry for every shared file, encrypted with a key that only the
//! user has; an entry is empty when the file is not there, for example the key of a CA that is kept elsewhere.

use std::{collections::BTreeMap, fmt, str::FromStr};

use aws_lc_rs::{
    aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    rand::{SecureRandom as _, SystemRandom},
};
use slipway_resource::{SecretText, hexadecimal};
use zeroize::Zeroizing;

use crate::{
    configuration::{Configuration, Etcd},
    pki::{Certificate, PrivateKey, PublicKey, hex, inventory},
};

/// The namespace of [`SECRET`].
pub const NAMESPACE: &str = "kube-system";
/// The Secret that holds the files.
pub const SECRET: &str = "kubeadm-certs";
/// The description of the token with which the Secret expires.
pub const TOKEN_DESCRIPTION: &str = "Proxy for managing TTL for the kubeadm-certs secret";

const KEY_LENGTH: usize = 32;

/// Errors of shared certificates. No message has any secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A text is no certificate key. It is not shown.
    #[error("this is not a certificate key: it has 64 hexadecimal digits")]
    Malformed,
    /// An entry of the Secret does not open with this key.
    #[error(
        "{0:?} of the Secret {SECRET} does not open with this certificate key: the files were uploaded again since, or the key is another one"
    )]
    WrongKey(String),
    /// The Secret lacks an entry.
    #[error(
        "the Secret {SECRET} has no entry {0:?}: the cluster's etcd is set up in another way than this node's configuration says"
    )]
    Missing(String),
    /// An entry is neither key nor certificate.
    #[error("{0:?} of the Secret {SECRET} is neither a key nor a certificate")]
    Unknown(String),
    /// The crypto library or the source of randomness failed.
    #[error("the crypto library refused")]
    Crypto,
}

impl Error {
    /// The stable code, with a page in `docs/errors/`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Malformed => "UPLOAD0001",
            Self::WrongKey(_) => "UPLOAD0002",
            Self::Missing(_) => "UPLOAD0003",
            Self::Unknown(_) => "UPLOAD0004",
            Self::Crypto => "UPLOAD0005",
        }
    }
}

/// The key under which the files are encrypted.
pub struct CertificateKey {
    bytes: Zeroizing<[u8; KEY_LENGTH]>,
}

impl CertificateKey {
    /// Makes a key.
    ///
    /// # Errors
    /// [`Error::Crypto`] when the source of randomness fails.
    pub fn generate() -> Result<Self, Error> {
        let mut bytes = Zeroizing::new([0; KEY_LENGTH]);
        SystemRandom::new().fill(bytes.as_mut()).map_err(|_| Error::Crypto)?;
        Ok(Self { bytes })
    }

    /// Its 64 hexadecimal digits.
    #[must_use]
    pub fn to_text(&self) -> SecretText {
        SecretText::new(hexadecimal(self.bytes.as_ref()))
    }

    /// The bytes of an entry: a nonce, the encrypted file, and the tag of AES-256-GCM.
    ///
    /// # Errors
    /// [`Error::Crypto`] when the source of randomness fails.
    pub fn seal(&self, file: &[u8]) -> Result<Vec<u8>, Error> {
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).map_err(|_| Error::Crypto)?;
        let mut body = file.to_vec();
        let nonce_value = Nonce::assume_unique_for_key(nonce);
        self.cipher()?
            .seal_in_place_append_tag(nonce_value, Aad::empty(), &mut body)
            .map_err(|_| Error::Crypto)?;
        Ok([nonce.as_slice(), &body].concat())
    }

    /// The file of an entry; `name` is for messages.
    ///
    /// # Errors
    /// [`Error::WrongKey`] when it does not open.
    pub fn open(&self, name: &str, entry: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        let wrong = || Error::WrongKey(name.to_owned());
        let (nonce, body) = entry.split_at_checked(NONCE_LEN).ok_or_else(wrong)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| wrong())?;
        let mut body = Zeroizing::new(body.to_vec());
        let length = self.cipher()?.open_in_place(nonce, Aad::empty(), &mut body).map_err(|_| wrong())?.len();
        body.truncate(length);
        Ok(body)
    }

    fn cipher(&self) -> Result<LessSafeKey, Error> {
        UnboundKey::new(&AES_256_GCM, self.bytes.as_slice()).map(LessSafeKey::new).map_err(|_| Error::Crypto)
    }
}

impl FromStr for CertificateKey {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bytes = Zeroizing::new(hex::decode(text).ok_or(Error::Malformed)?);
        let bytes = <[u8; KEY_LENGTH]>::try_from(bytes.as_slice()).map_err(|_| Error::Malformed)?;
        Ok(Self { bytes: Zeroizing::new(bytes) })
    }
}

impl fmt::Debug for CertificateKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("CertificateKey")
    }
}

/// A file that is shared: the name of its entry, and its path on a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedFile {
    /// The key in the Secret.
    pub entry: String,
    /// The absolute path; empty for a certificate of an etcd elsewhere that is not used.
    pub path: String,
}

/// The files that control planes share, in kubeadm's order: with an etcd elsewhere the client certificate for it, in
/// place of its CA.
#[must_use]
pub fn shared_files(configuration: &Configuration) -> Vec<SharedFile> {
    let folder = &configuration.cluster.certificates_dir;
    let mut files: Vec<SharedFile> = inventory::shared_files(configuration)
        .into_iter()
        .map(|name| SharedFile { entry: name.replace('/', "-"), path: format!("{folder}/{name}") })
        .collect();
    if let Etcd::External(etcd) = &configuration.cluster.etcd {
        let external = [("-ca.crt", &etcd.ca_file), (".crt", &etcd.cert_file), (".key", &etcd.key_file)];
        files.extend(external.map(|(ending, path)| SharedFile {
            entry: format!("external-etcd{ending}"),
            path: path.clone(),
        }));
    }
    files
}

/// The Secret's entries: each file encrypted, an empty entry for one that is not there. `read` gives a file's bytes by
/// its path.
///
/// # Errors
/// [`Error::Crypto`] when the source of randomness fails, and whatever `read` fails with.
pub fn seal<E: From<Error>>(
    configuration: &Configuration,
    key: &CertificateKey,
    mut read: impl FnMut(&str) -> Result<Option<Zeroizing<Vec<u8>>>, E>,
) -> Result<BTreeMap<String, Vec<u8>>, E> {
    let mut entries = BTreeMap::new();
    for file in shared_files(configuration) {
        let content = if file.path.is_empty() { None } else { read(&file.path)? };
        let sealed = match content {
            Some(content) => key.seal(&content)?,
            None => Vec::new(),
        };
        entries.insert(file.entry, sealed);
    }
    Ok(entries)
}

/// A shared file that was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenedFile {
    /// Its absolute path.
    pub path: String,
    /// Its text.
    pub content: SecretText,
    /// Its mode: 0600 for a private key, else 0644.
    pub mode: u32,
}

/// Opens the Secret's entries. Files that were not there when they were uploaded are not among them.
///
/// # Errors
/// [`Error::WrongKey`] when one does not open: then none is given. [`Error::Missing`] and [`Error::Unknown`] when the
/// Secret is not what it should be.
pub fn open(
    configuration: &Configuration,
    key: &CertificateKey,
    entries: &BTreeMap<String, Vec<u8>>,
) -> Result<Vec<OpenedFile>, Error> {
    let mut files = Vec::new();
    for file in shared_files(configuration) {
        let entry = entries.get(&file.entry).ok_or_else(|| Error::Missing(file.entry.clone()))?;
        if entry.is_empty() || file.path.is_empty() {
            continue;
        }
        let content = key.open(&file.entry, entry)?;
        let unknown = || Error::Unknown(file.entry.clone());
        let content = SecretText::new(std::str::from_utf8(&content).map_err(|_| unknown())?);
        let text = content.expose();
        let mode = if PrivateKey::from_pem(text).is_ok() {
            0o600
        } else if Certificate::from_pem(text).is_ok() || PublicKey::from_pem(text).is_ok() {
            0o644
        } else {
            return Err(unknown());
        };
        files.push(OpenedFile { path: file.path, content, mode });
    }
    Ok(files)
}

#[cfg(test)]
mod tests;
