use std::fmt;

use aws_lc_rs::{
    digest,
    encoding::{AsDer, EcPrivateKeyRfc5915Der, Pkcs8V1Der},
    rand::SystemRandom,
    rsa::{KeyPair as RsaKeyPair, KeySize},
    signature::{
        ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm,
        KeyPair as _, RSA_PKCS1_SHA256,
    },
};
use der::{
    Decode, Encode,
    asn1::{Any, BitString, ObjectIdentifier},
};
use slipway_resource::SecretText;
use zeroize::Zeroizing;

use super::{
    asn1::{AlgorithmIdentifier, PrivateKeyInfo, SubjectPublicKeyInfo, any},
    error::{Error, Result, malformed},
    oid, pem,
};
use crate::configuration::EncryptionAlgorithm;

/// A private key, RSA or on one of the two curves that Kubernetes uses. Neither `Debug` nor any other output shows it;
/// [`PrivateKey::to_pem`] gives it away.
pub struct PrivateKey {
    inner: Inner,
    public: PublicKey,
}

enum Inner {
    Rsa(RsaKeyPair),
    Ecdsa(EcdsaKeyPair),
}

impl PrivateKey {
    /// Makes a key.
    ///
    /// # Errors
    /// [`Error::Crypto`] when the source of randomness fails.
    pub fn generate(algorithm: EncryptionAlgorithm) -> Result<Self> {
        let failed = |_| Error::Crypto("making a key");
        let rsa = |size| RsaKeyPair::generate(size).map(Inner::Rsa).map_err(failed);
        let ecdsa = |curve: &'static EcdsaSigningAlgorithm| {
            EcdsaKeyPair::generate(curve).map(Inner::Ecdsa).map_err(failed)
        };
        Self::new(match algorithm {
            EncryptionAlgorithm::Rsa2048 => rsa(KeySize::Rsa2048)?,
            EncryptionAlgorithm::Rsa3072 => rsa(KeySize::Rsa3072)?,
            EncryptionAlgorithm::Rsa4096 => rsa(KeySize::Rsa4096)?,
            EncryptionAlgorithm::EcdsaP256 => ecdsa(&ECDSA_P256_SHA256_ASN1_SIGNING)?,
            EncryptionAlgorithm::EcdsaP384 => ecdsa(&ECDSA_P384_SHA384_ASN1_SIGNING)?,
        })
    }

    /// Reads the first private key of a PEM text: PKCS #1, SEC 1 or PKCS #8.
    ///
    /// # Errors
    /// [`Error::Malformed`] when there is none, or it is damaged; [`Error::Unsupported`] for another algorithm.
    pub fn from_pem(text: &str) -> Result<Self> {
        for block in pem::decode(text) {
            let bytes = Zeroizing::new(block.bytes);
            let inner = match block.label.as_str() {
                "RSA PRIVATE KEY" => rsa_from_der(&bytes)?,
                "EC PRIVATE KEY" => ecdsa_from_der(&bytes)?,
                "PRIVATE KEY" => from_pkcs8(&bytes)?,
                _ => continue,
            };
            return Self::new(inner);
        }
        Err(Error::Malformed {
            what: "private key",
            reason: "it has no PEM block of RSA PRIVATE KEY, EC PRIVATE KEY or PRIVATE KEY".to_owned(),
        })
    }

    fn new(inner: Inner) -> Result<Self> {
        let info = match &inner {
            Inner::Rsa(key) => SubjectPublicKeyInfo {
                algorithm: AlgorithmIdentifier { oid: oid::RSA_ENCRYPTION, parameters: Some(Any::null()) },
                subject_public_key: bits(key.public_key().as_ref())?,
            },
            Inner::Ecdsa(key) => SubjectPublicKeyInfo {
                algorithm: AlgorithmIdentifier {
                    oid: oid::EC_PUBLIC_KEY,
                    parameters: Some(any(&curve(key)).map_err(malformed("curve"))?),
                },
                subject_public_key: bits(key.public_key().as_ref())?,
            },
        };
        let der = info.to_der().map_err(malformed("public key"))?;
        Ok(Self { inner, public: PublicKey { der } })
    }

    /// The key as kubeadm writes it: PKCS #1 or SEC 1, in PEM.
    ///
    /// # Errors
    /// [`Error::Crypto`] when the crypto library does not give the key out.
    pub fn to_pem(&self) -> Result<SecretText> {
        let failed = |_| Error::Crypto("writing a key");
        Ok(SecretText::new(match &self.inner {
            Inner::Rsa(key) => {
                let wrapped: Pkcs8V1Der<'_> = key.as_der().map_err(failed)?;
                let info = PrivateKeyInfo::from_der(wrapped.as_ref()).map_err(malformed("private key"))?;
                pem::encode("RSA PRIVATE KEY", info.private_key.as_bytes())
            }
            Inner::Ecdsa(key) => {
                let der: EcPrivateKeyRfc5915Der<'_> = key.private_key().as_der().map_err(failed)?;
                pem::encode("EC PRIVATE KEY", der.as_ref())
            }
        }))
    }

    /// Its public half.
    #[must_use]
    pub const fn public_key(&self) -> &PublicKey {
        &self.public
    }

    /// The signature of `message` and its algorithm: SHA-256 with RSA and P-256, SHA-384 with P-384.
    pub(super) fn sign(&self, message: &[u8]) -> Result<(AlgorithmIdentifier, Vec<u8>)> {
        let failed = |_| Error::Crypto("signing");
        let random = SystemRandom::new();
        match &self.inner {
            Inner::Rsa(key) => {
                let mut signature = vec![0; key.public_modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).map_err(failed)?;
                let parameters = Some(Any::null());
                Ok((AlgorithmIdentifier { oid: oid::SHA256_WITH_RSA, parameters }, signature))
            }
            Inner::Ecdsa(key) => {
                let signature = key.sign(&random, message).map_err(failed)?;
                let oid =
                    if curve(key) == oid::P384 { oid::ECDSA_WITH_SHA384 } else { oid::ECDSA_WITH_SHA256 };
                Ok((AlgorithmIdentifier { oid, parameters: None }, signature.as_ref().to_vec()))
            }
        }
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "PrivateKey({})", self.public.algorithm())
    }
}

fn rsa_from_der(der: &[u8]) -> Result<Inner> {
    RsaKeyPair::from_der(der).map(Inner::Rsa).map_err(|error| rejected(&error))
}

fn ecdsa_from_der(der: &[u8]) -> Result<Inner> {
    let read = |curve| EcdsaKeyPair::from_private_key_der(curve, der);
    read(&ECDSA_P256_SHA256_ASN1_SIGNING)
        .or_else(|_| read(&ECDSA_P384_SHA384_ASN1_SIGNING))
        .map(Inner::Ecdsa)
        .map_err(|error| rejected(&error))
}

fn from_pkcs8(der: &[u8]) -> Result<Inner> {
    let info = PrivateKeyInfo::from_der(der).map_err(malformed("private key"))?;
    if info.algorithm.oid == oid::RSA_ENCRYPTION {
        return RsaKeyPair::from_pkcs8(der).map(Inner::Rsa).map_err(|error| rejected(&error));
    }
    if info.algorithm.oid != oid::EC_PUBLIC_KEY {
        return Err(Error::Unsupported {
            what: "the private key",
            algorithm: info.algorithm.oid.to_string(),
        });
    }
    let read = |curve| EcdsaKeyPair::from_pkcs8(curve, der);
    read(&ECDSA_P256_SHA256_ASN1_SIGNING)
        .or_else(|_| read(&ECDSA_P384_SHA384_ASN1_SIGNING))
        .map(Inner::Ecdsa)
        .map_err(|error| rejected(&error))
}

fn rejected(error: &aws_lc_rs::error::KeyRejected) -> Error {
    Error::Malformed { what: "private key", reason: error.to_string() }
}

fn curve(key: &EcdsaKeyPair) -> ObjectIdentifier {
    // The uncompressed point: one octet, then two coordinates.
    if key.public_key().as_ref().len() == 97 { oid::P384 } else { oid::P256 }
}

fn bits(bytes: &[u8]) -> Result<BitString> {
    BitString::from_bytes(bytes).map_err(malformed("public key"))
}

/// A public key: its `SubjectPublicKeyInfo` (RFC 5280).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey {
    der: Vec<u8>,
}

impl PublicKey {
    /// Reads the first public key of a PEM text: `PUBLIC KEY`.
    ///
    /// # Errors
    /// [`Error::Malformed`] when there is none, or it is damaged.
    pub fn from_pem(text: &str) -> Result<Self> {
        let block = pem::decode(text).into_iter().find(|block| block.label == "PUBLIC KEY");
        let reason = "it has no PEM block of PUBLIC KEY".to_owned();
        Self::from_der(&block.ok_or(Error::Malformed { what: "public key", reason })?.bytes)
    }

    pub(super) fn from_der(der: &[u8]) -> Result<Self> {
        SubjectPublicKeyInfo::from_der(der).map_err(malformed("public key"))?;
        Ok(Self { der: der.to_vec() })
    }

    /// The key in PEM, as `PUBLIC KEY`.
    #[must_use]
    pub fn to_pem(&self) -> String {
        pem::encode("PUBLIC KEY", &self.der)
    }

    /// The DER of its `SubjectPublicKeyInfo`.
    #[must_use]
    pub fn as_der(&self) -> &[u8] {
        &self.der
    }

    /// The algorithm of the key, for messages: `RSA-2048`, `ECDSA-P256`, or an object identifier.
    #[must_use]
    pub fn algorithm(&self) -> String {
        let Ok(info) = SubjectPublicKeyInfo::from_der(&self.der) else { return "unknown".to_owned() };
        if info.algorithm.oid == oid::RSA_ENCRYPTION {
            // SEQUENCE { modulus INTEGER, exponent INTEGER }
            let modulus = Vec::<der::asn1::Int>::from_der(info.subject_public_key.raw_bytes());
            let bytes = modulus.ok().and_then(|numbers| numbers.first().map(|n| n.as_bytes().to_vec()));
            let bytes = bytes.unwrap_or_default();
            let length = bytes.iter().skip_while(|byte| **byte == 0).count();
            return format!("RSA-{}", length * 8);
        }
        let curve = info.algorithm.parameters.and_then(|any| any.decode_as::<ObjectIdentifier>().ok());
        match curve {
            Some(oid::P256) => "ECDSA-P256".to_owned(),
            Some(oid::P384) => "ECDSA-P384".to_owned(),
            Some(oid::P521) => "ECDSA-P521".to_owned(),
            _ => info.algorithm.oid.to_string(),
        }
    }

    pub(super) fn info(&self) -> Result<SubjectPublicKeyInfo> {
        SubjectPublicKeyInfo::from_der(&self.der).map_err(malformed("public key"))
    }

    /// The identifier of the key: SHA-1 of its bits (RFC 5280, 4.2.1.2, method 1).
    pub(super) fn identifier(&self) -> Result<Vec<u8>> {
        let info = self.info()?;
        let bytes = info.subject_public_key.raw_bytes();
        Ok(digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, bytes).as_ref().to_vec())
    }
}
