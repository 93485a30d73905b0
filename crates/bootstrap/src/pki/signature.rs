use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA384_ASN1, ECDSA_P384_SHA256_ASN1, ECDSA_P384_SHA384_ASN1,
    ECDSA_P521_SHA256_ASN1, ECDSA_P521_SHA384_ASN1, ECDSA_P521_SHA512_ASN1, ED25519,
    RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, UnparsedPublicKey,
    VerificationAlgorithm,
};
use der::asn1::{BitString, ObjectIdentifier};

use super::{
    asn1::{AlgorithmIdentifier, SubjectPublicKeyInfo},
    error::{Error, Result},
    key::PublicKey,
    oid,
};

/// Checks the signature of `content`, which messages call `name`.
pub(super) fn verify(
    key: &PublicKey,
    algorithm: &AlgorithmIdentifier,
    content: &[u8],
    signature: &BitString,
    name: &str,
) -> Result<()> {
    let info = key.info()?;
    let verifier = verifier(&info, algorithm.oid)
        .ok_or_else(|| Error::Unsupported { what: "the signature", algorithm: algorithm.oid.to_string() })?;
    let wrong = || Error::BadSignature(name.to_owned());
    // A signature is whole octets.
    let signature = signature.as_bytes().ok_or_else(wrong)?;
    UnparsedPublicKey::new(verifier, info.subject_public_key.raw_bytes())
        .verify(content, signature)
        .map_err(|_| wrong())
}

fn verifier(
    info: &SubjectPublicKeyInfo,
    algorithm: ObjectIdentifier,
) -> Option<&'static dyn VerificationAlgorithm> {
    if info.algorithm.oid == oid::RSA_ENCRYPTION {
        return match algorithm {
            oid::SHA256_WITH_RSA => Some(&RSA_PKCS1_2048_8192_SHA256),
            oid::SHA384_WITH_RSA => Some(&RSA_PKCS1_2048_8192_SHA384),
            oid::SHA512_WITH_RSA => Some(&RSA_PKCS1_2048_8192_SHA512),
            _ => None,
        };
    }
    if info.algorithm.oid == oid::ED25519 {
        return (algorithm == oid::ED25519).then_some(&ED25519 as &dyn VerificationAlgorithm);
    }
    let parameters = info.algorithm.parameters.as_ref()?;
    let curve = parameters.decode_as::<ObjectIdentifier>().ok()?;
    match (curve, algorithm) {
        (oid::P256, oid::ECDSA_WITH_SHA256) => Some(&ECDSA_P256_SHA256_ASN1),
        (oid::P256, oid::ECDSA_WITH_SHA384) => Some(&ECDSA_P256_SHA384_ASN1),
        (oid::P384, oid::ECDSA_WITH_SHA256) => Some(&ECDSA_P384_SHA256_ASN1),
        (oid::P384, oid::ECDSA_WITH_SHA384) => Some(&ECDSA_P384_SHA384_ASN1),
        (oid::P521, oid::ECDSA_WITH_SHA256) => Some(&ECDSA_P521_SHA256_ASN1),
        (oid::P521, oid::ECDSA_WITH_SHA384) => Some(&ECDSA_P521_SHA384_ASN1),
        (oid::P521, oid::ECDSA_WITH_SHA512) => Some(&ECDSA_P521_SHA512_ASN1),
        _ => None,
    }
}
