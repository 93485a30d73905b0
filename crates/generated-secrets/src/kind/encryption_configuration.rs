//! `encryption_configuration`: what an API server reads while a key for data is rotated.

use slipway_bootstrap::encryption::{self, Key};
use slipway_bootstrap::material::{FINGERPRINT, of_encryption};
use slipway_resource::{Attribute, SecretText, Type, Value};
use zeroize::Zeroizing;

use super::{ENCRYPTION_CONFIGURATION, Kind, encryption_key, with_outputs};
use crate::content::Fields;

pub(super) fn kind() -> Kind {
    let attributes = vec![
        (
            "at_rest",
            Attribute::required(Type::Any)
                .immutable()
                .describe("Resources that an API server encrypts, as `encryption.atRest` of a spec."),
        ),
        (
            "keys",
            Attribute::required(Type::list(Type::String))
                .immutable()
                .sensitive()
                .write_only()
                .describe("The keys in base64: the first one encrypts, all of them decrypt."),
        ),
        (
            "names",
            Attribute::required(Type::list(Type::String))
                .immutable()
                .describe("The names of the keys, in the same order."),
        ),
        (
            FINGERPRINT,
            Attribute::computed(Type::String).describe(
                "The public fingerprint, by which copies of it are known: sha256: and hexadecimal digits.",
            ),
        ),
    ];
    Kind::new(
        ENCRYPTION_CONFIGURATION,
        "Configuration for encryption at rest of an API server while a key is rotated; its field is `configuration`. It contains keys that the state keeps.",
        attributes,
        make,
    )
}

fn make(desired: &Value) -> Result<(Value, Fields), String> {
    let settings = encryption_key::settings(desired)?.ok_or("cannot be: `at_rest` is missing")?;
    let names = desired.get("names").and_then(Value::as_list).unwrap_or_default();
    let texts = desired.get("keys").and_then(Value::as_list).unwrap_or_default();
    if names.is_empty() || names.len() != texts.len() {
        return Err(format!("cannot be: it has {} names for {} keys", names.len(), texts.len()));
    }
    let keys: Result<Vec<Key>, String> =
        names.iter().zip(texts).map(|(name, text)| key(name, text)).collect();
    let text = encryption::configuration_of(&settings, &keys?);
    let outputs = [("keys", Value::Null), (FINGERPRINT, of_encryption(text.expose()).into())];
    let fields = vec![("configuration", Zeroizing::new(text.expose().to_owned()))];
    Ok((with_outputs(desired, outputs), fields))
}

fn key(name: &Value, text: &Value) -> Result<Key, String> {
    let secret = match text {
        Value::Secret(secret) => {
            secret.text.clone().ok_or(format!("cannot be: {} has no text", secret.source))?
        }
        Value::String(text) => SecretText::new(text.as_str()),
        _ => return Err("cannot be: a key is not text".to_owned()),
    };
    let name = name.as_str().ok_or("cannot be: a key has no name")?;
    Ok(Key { name: name.to_owned(), secret })
}
