//! `keypair`: a private key, with the certificate of an authority on request.

use std::str::FromStr as _;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use slipway_bootstrap::configuration::EncryptionAlgorithm;
use slipway_bootstrap::material::of_public_key_pem;
use slipway_bootstrap::pki::{Certificate, Pin, PrivateKey, Template};
use slipway_resource::{Attribute, Path, Type, Value};
use zeroize::Zeroizing;

use super::{KEYPAIR, Kind, with_outputs};
use crate::content::Fields;
use crate::found::Found;

/// How long an authority is valid unless said otherwise: ten years.
const VALIDITY_SECONDS: i64 = 10 * 365 * 24 * 3_600;

pub(super) fn kind() -> Kind {
    let authority = Type::object([
        ("common_name", Attribute::required(Type::String).describe("The authority's name.")),
        (
            "validity_seconds",
            Attribute::optional(Type::Integer)
                .default_to(Value::Integer(VALIDITY_SECONDS))
                .describe("How long its certificate is valid; ten years unless given."),
        ),
    ]);
    let attributes = vec![
        (
            "algorithm",
            Attribute::optional(Type::String)
                .immutable()
                .kept_on_adoption()
                .default_to("RSA-2048")
                .describe("RSA-2048, RSA-3072, RSA-4096, ECDSA-P256 or ECDSA-P384."),
        ),
        (
            "certificate_authority",
            Attribute::optional(authority)
                .immutable()
                .kept_on_adoption()
                .describe("Makes it an authority: a certificate that it has signed for itself."),
        ),
        ("public_key_pem", Attribute::computed(Type::String).describe("The public key.")),
        ("certificate_pem", Attribute::computed(Type::String).describe("The authority's certificate.")),
        (
            "certificate_base64",
            Attribute::computed(Type::String).describe("The same in base64, as kubeconfigs have it."),
        ),
        (
            "pin",
            Attribute::computed(Type::String).describe(
                "The digest of the authority's public key, sha256:…, by which a machine that joins recognizes it.",
            ),
        ),
        ("not_after", Attribute::computed(Type::String).describe("When the authority's certificate ends.")),
    ];
    Kind::new(
        KEYPAIR,
        "A private key, and the certificate of an authority if requested; its field is `private_key_pem`. Without the key, everything that it signed becomes invalid.",
        attributes,
        make,
    )
    .irreplaceable(
        |attributes, _| of_public_key_pem(attributes.get("public_key_pem")?.as_str()?),
        "everything that it has signed is worth nothing under another key, on all nodes at once; on hosts, `slipway rotate` replaces \
         the key of service accounts and the authorities in stages",
    )
}

fn make(desired: &Value) -> Result<(Value, Fields), String> {
    let failed = |error: &dyn std::error::Error| format!("cannot be made: {error}");
    let algorithm = desired.get("algorithm").and_then(Value::as_str).unwrap_or("RSA-2048");
    let algorithm = EncryptionAlgorithm::from_str(algorithm).map_err(|error| failed(&error))?;
    let key = PrivateKey::generate(algorithm).map_err(|error| failed(&error))?;
    let text = key.to_pem().map_err(|error| failed(&error))?;
    let mut attributes = with_outputs(desired, [("public_key_pem", Value::from(key.public_key().to_pem()))]);
    if let Some(authority) = desired.get("certificate_authority").filter(|value| !value.is_null()) {
        let name = authority.get("common_name").and_then(Value::as_str).unwrap_or_default();
        let validity =
            authority.get("validity_seconds").and_then(Value::as_integer).unwrap_or(VALIDITY_SECONDS);
        let validity = Duration::from_secs(u64::try_from(validity).unwrap_or_default());
        let template =
            Template::authority(name, Timestamp::now(), validity).map_err(|error| failed(&error))?;
        let certificate = template.self_signed(&key).map_err(|error| failed(&error))?;
        attributes = with_certificate(&attributes, &certificate);
    }
    Ok((attributes, vec![("private_key_pem", Zeroizing::new(text.expose().to_owned()))]))
}

fn with_certificate(attributes: &Value, certificate: &Certificate) -> Value {
    with_outputs(
        attributes,
        [
            ("certificate_pem", certificate.to_pem().into()),
            ("certificate_base64", STANDARD.encode(certificate.to_pem()).into()),
            ("pin", Pin::of(certificate.public_key()).to_string().into()),
            ("not_after", certificate.not_after().to_string().into()),
        ],
    )
}

/// A key, and an authority's certificate, that another tool has made.
pub(super) fn found(desired: &Value, found: &Found) -> Result<(Value, Fields), String> {
    let failed =
        |what: &str, error: &dyn std::error::Error| format!("has {what} that cannot be read: {error}");
    let key =
        PrivateKey::from_pem(found.private_key_pem.expose()).map_err(|error| failed("a key", &error))?;
    let public = key.public_key().to_pem();
    let mut attributes = with_outputs(desired, [("public_key_pem", Value::from(public.clone()))]);
    attributes.set(&Path::key("algorithm"), key.public_key().algorithm().into());
    if let Some(text) = &found.certificate_pem {
        let certificate = Certificate::from_pem(text).map_err(|error| failed("a certificate", &error))?;
        if certificate.public_key().to_pem() != public {
            return Err("has a certificate of another key".to_owned());
        }
        attributes = with_certificate(&attributes, &certificate);
        let name = Path::key("certificate_authority").child("common_name");
        attributes.set(&name, certificate.subject().common_name.clone().into());
        // As it is written on the nodes, byte for byte.
        attributes.set(&Path::key("certificate_pem"), text.clone().into());
        attributes.set(&Path::key("certificate_base64"), STANDARD.encode(text).into());
    }
    Ok((attributes, vec![("private_key_pem", Zeroizing::new(found.private_key_pem.expose().to_owned()))]))
}
