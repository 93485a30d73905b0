//! `cross_certificate`: the certificate of a new authority, signed by the one before it.

use std::time::Duration;

use jiff::Timestamp;
use slipway_bootstrap::pki::{Certificate, PrivateKey, Template};
use slipway_resource::{Attribute, SecretText, Type, Value};

use super::{CROSS_CERTIFICATE, Kind, with_outputs};
use crate::content::Fields;

pub(super) fn kind() -> Kind {
    let certificate = |text: &str| Attribute::required(Type::String).immutable().describe(text);
    let attributes = vec![
        ("subject_pem", certificate("The certificate that the new authority has signed for itself.")),
        ("issuer_pem", certificate("The certificate of the authority before it.")),
        (
            "issuer_key",
            certificate("The private key of the authority before it.").sensitive().write_only(),
        ),
        (
            "chain_pem",
            Attribute::computed(Type::String).describe(
                "The certificate of the new authority that the authority before it has signed. Servers send it after their own, so that \
                 clients which trust the authority before it alone accept them.",
            ),
        ),
    ];
    Kind::new(
        CROSS_CERTIFICATE,
        "The certificate of a new authority, signed by the authority before it, while both are trusted. It contains nothing secret.",
        attributes,
        make,
    )
}

fn make(desired: &Value) -> Result<(Value, Fields), String> {
    let failed = |error: &dyn std::error::Error| format!("cannot be made: {error}");
    let certificate = |name: &str| {
        let text = desired.get(name).and_then(Value::as_str).unwrap_or_default();
        Certificate::from_pem(text).map_err(|error| failed(&error))
    };
    let (subject, issuer) = (certificate("subject_pem")?, certificate("issuer_pem")?);
    let key = match desired.get("issuer_key") {
        Some(Value::Secret(secret)) => secret.text.clone(),
        Some(Value::String(text)) => Some(SecretText::new(text.as_str())),
        _ => None,
    };
    let key = key.ok_or("cannot be: the key of the authority that signs it has no text")?;
    let key = PrivateKey::from_pem(key.expose()).map_err(|error| failed(&error))?;
    let name = &subject.subject().common_name;
    let template =
        Template::authority(name, Timestamp::now(), Duration::ZERO).map_err(|error| failed(&error))?;
    // It is of use for as long as both authorities are valid.
    let template = Template { not_after: subject.not_after().min(issuer.not_after()), ..template };
    let made = template.signed_by(subject.public_key(), &issuer, &key).map_err(|error| failed(&error))?;
    let outputs = [("issuer_key", Value::Null), ("chain_pem", made.to_pem().into())];
    Ok((with_outputs(desired, outputs), Vec::new()))
}

#[cfg(test)]
mod tests {
    use slipway_bootstrap::configuration::EncryptionAlgorithm;
    use slipway_bootstrap::pki::{Subject, Usage, verify};

    use super::*;

    #[test]
    fn a_client_of_the_old_authority_accepts_what_the_new_one_signs() {
        let authority = |name: &str, seconds: u64| {
            let key = PrivateKey::generate(EncryptionAlgorithm::EcdsaP256).unwrap();
            let template = Template::authority(name, Timestamp::now(), Duration::from_secs(seconds)).unwrap();
            (template.self_signed(&key).unwrap(), key)
        };
        let (old, old_key) = authority("kubernetes", 600);
        let (new, new_key) = authority("kubernetes-ca-2", 6_000);
        let desired = |key: &PrivateKey| {
            Value::map([
                ("subject_pem", new.to_pem()),
                ("issuer_pem", old.to_pem()),
                ("issuer_key", key.to_pem().unwrap().expose().to_owned()),
            ])
        };
        let (attributes, fields) = make(&desired(&old_key)).unwrap();
        assert!(fields.is_empty() && attributes.get("issuer_key").is_none_or(Value::is_null));
        let cross = Certificate::from_pem(attributes.get("chain_pem").unwrap().as_str().unwrap()).unwrap();
        assert_eq!(cross.not_after(), old.not_after());
        let leaf = Template::leaf(Subject::new("kube-apiserver"), Timestamp::now(), Duration::from_secs(60));
        let own = PrivateKey::generate(EncryptionAlgorithm::EcdsaP256).unwrap();
        let leaf = leaf.unwrap().with_usages([Usage::Server]);
        let leaf = leaf.signed_by(own.public_key(), &new, &new_key).unwrap();
        assert!(!verify::is_signed(&leaf, &[], &old), "the old authority alone does not know it");
        assert!(verify::is_signed(&leaf, std::slice::from_ref(&cross), &old));
        assert!(verify::is_signed(&leaf, &[cross], &new));
        // The key belongs to the authority that signs.
        assert!(make(&desired(&new_key)).is_err());
    }
}
