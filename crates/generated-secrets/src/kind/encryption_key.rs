//! `encryption_key`: a key for data.

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use slipway_bootstrap::encryption::{self, Key};
use slipway_bootstrap::material::of_encryption;
use slipway_cluster_input::AtRest;
use slipway_resource::{Attribute, SecretText, Type, Value, hexadecimal};
use zeroize::Zeroizing;

use super::{ENCRYPTION_KEY, Kind, random, with_outputs};
use crate::content::Fields;
use crate::found::Found;

/// The prefix of a key before it is hashed for its name.
const OF_NAME: &[u8] = b"slipway name of a key\0";

/// The attribute with the name of the key in the configuration.
pub(super) const KEY_NAME: &str = "key_name";

pub(super) fn kind() -> Kind {
    let attributes = vec![
        (
            "length",
            Attribute::optional(Type::Integer)
                .immutable()
                .default_to(Value::Integer(32))
                .describe("How many bytes it has: 16, 24 or 32."),
        ),
        (
            "key",
            Attribute::optional(Type::String)
                .immutable()
                .sensitive()
                .write_only()
                .describe("The key itself in base64, where the user supplies it; made otherwise."),
        ),
        (
            "at_rest",
            Attribute::optional(Type::Any).immutable().describe(
                "Resources that an API server encrypts with the key, as `encryption.atRest` of a spec. Adds the field `configuration`.",
            ),
        ),
        (
            "own_name",
            Attribute::optional(Type::Bool).immutable().describe(
                "Whether the configuration names it by a digest of it, not key1: keys of one API server need different names.",
            ),
        ),
        (
            KEY_NAME,
            Attribute::computed(Type::String)
                .describe("The name of the key in the configuration; what is encrypted with it begins with the name."),
        ),
    ];
    Kind::new(
        ENCRYPTION_KEY,
        "A key for data; its field `key` is its bytes in base64, and `configuration` what an API server reads. What was encrypted with it cannot be read without it.",
        attributes,
        make,
    )
    .irreplaceable(
        |_, field| field("configuration").or_else(|| field("key")).map(|text| of_encryption(&text)),
        "what was encrypted with it cannot be read with another key; on hosts, `slipway rotate encryption-key` replaces a key that was \
         generated in stages",
    )
}

fn make(desired: &Value) -> Result<(Value, Fields), String> {
    let key = match desired.get("key") {
        Some(Value::Secret(secret)) => match &secret.text {
            Some(text) => Zeroizing::new(text.expose().to_owned()),
            None => return Err(format!("cannot be: {} has no text", secret.source)),
        },
        Some(Value::String(text)) => Zeroizing::new(text.clone()),
        _ => made(desired)?,
    };
    let mut fields = vec![("key", key.clone())];
    if let Some(settings) = settings(desired)? {
        let has_own = desired.get("own_name").and_then(Value::as_bool).unwrap_or(false);
        let name = if has_own { own_name(&key) } else { encryption::FIRST_KEY.to_owned() };
        let key = Key { name, secret: SecretText::new(key.as_str()) };
        let text = encryption::configuration_of(&settings, &[key]);
        fields.push(("configuration", Zeroizing::new(text.expose().to_owned())));
    }
    // The key is not shown, also when the user supplied it, in any form.
    Ok((with_outputs(desired, [("key", Value::Null)]), fields))
}

/// A key with the configuration of an API server that was found beside it.
pub(super) fn found(desired: &Value, found: &Found) -> Result<(Value, Fields), String> {
    let configuration = found.private_key_pem.expose();
    let settings = settings(desired)?.ok_or("was found, and the spec does not ask for encryption at rest")?;
    let keys = encryption::keys(configuration);
    if keys.len() > 1 {
        let text = "was found with several keys, as in the middle of a rotation; a state is rebuilt from one key. Bring the state back \
                    from a backup, and end the rotation";
        return Err(text.to_owned());
    }
    let key = keys.first().map(|key| key.secret.expose()).unwrap_or_default();
    let key = Zeroizing::new(key.to_owned());
    let expected = encryption::configuration_of(&settings, &keys);
    if expected.expose().trim_end() != configuration.trim_end() {
        let text = "was found with other settings than those of `encryption.atRest` in the spec; bring the spec back to the \
                    settings that the cluster runs with";
        return Err(text.to_owned());
    }
    let fields = vec![("key", key), ("configuration", Zeroizing::new(configuration.to_owned()))];
    Ok((with_outputs(desired, [("key", Value::Null)]), fields))
}

/// The settings of encryption at rest, if it has any.
pub(super) fn settings(desired: &Value) -> Result<Option<AtRest>, String> {
    let Some(settings) = desired.get("at_rest").filter(|settings| !settings.is_null()) else {
        return Ok(None);
    };
    let settings = serde_json::from_value(settings.to_json());
    settings.map(Some).map_err(|error| format!("cannot be: `at_rest` is not as in a spec: {error}"))
}

/// The name of a key by its digest.
fn own_name(key: &str) -> String {
    let digest = digest(&SHA256, &[OF_NAME, key.as_bytes()].concat());
    let short = digest.as_ref().get(..4).unwrap_or_default();
    format!("key-{}", hexadecimal(short))
}

/// The name of the key in the configuration of a stored secret; null where it has none.
pub(super) fn name_of(configuration: Option<&str>) -> Value {
    let keys = configuration.map(encryption::keys).unwrap_or_default();
    keys.into_iter().next().map_or(Value::Null, |key| key.name.into())
}

fn made(desired: &Value) -> Result<Zeroizing<String>, String> {
    let length = desired.get("length").and_then(Value::as_integer).unwrap_or(32);
    let bytes = random::<32>()?;
    match length {
        16 | 24 | 32 => {
            let used = bytes.get(..usize::try_from(length).unwrap_or(32)).unwrap_or(&*bytes);
            Ok(Zeroizing::new(STANDARD.encode(used)))
        }
        other => Err(format!("cannot be: a key has 16, 24 or 32 bytes, not {other}")),
    }
}
