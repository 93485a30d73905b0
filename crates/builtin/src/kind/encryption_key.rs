//! `encryption_key`: a key for data.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use slipway_bootstrap::encryption;
use slipway_bootstrap::material::of_encryption;
use slipway_cluster_input::AtRest;
use slipway_resource::{Attribute, SecretText, Type, Value};
use zeroize::Zeroizing;

use super::{ENCRYPTION_KEY, Kind, random, with_outputs};
use crate::content::Fields;
use crate::found::Found;

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
                "What an API server encrypts with it, as `encryption.atRest` of a spec: gives the field `configuration`.",
            ),
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
        "what was encrypted with it cannot be read with another key; a rotation in stages does not exist yet",
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
    if let Some(settings) = desired.get("at_rest").filter(|settings| !settings.is_null()) {
        let settings: AtRest = serde_json::from_value(settings.to_json())
            .map_err(|error| format!("cannot be: `at_rest` is not as in a spec: {error}"))?;
        let text = encryption::configuration(&settings, &SecretText::new(key.as_str()));
        fields.push(("configuration", Zeroizing::new(text.expose().to_owned())));
    }
    // The key is not shown, also when the user supplied it, in any form.
    Ok((with_outputs(desired, [("key", Value::Null)]), fields))
}

/// A key with the configuration of an API server that was found beside it.
pub(super) fn found(desired: &Value, found: &Found) -> Result<(Value, Fields), String> {
    let configuration = found.private_key_pem.expose();
    let settings = desired.get("at_rest").filter(|settings| !settings.is_null());
    let settings = settings.ok_or("was found, and the spec does not ask for encryption at rest")?;
    let settings: AtRest = serde_json::from_value(settings.to_json())
        .map_err(|error| format!("cannot be: `at_rest` is not as in a spec: {error}"))?;
    let of_key =
        |line: &str| line.trim().strip_prefix("secret: ").map(|text| text.trim_matches('"').to_owned());
    let key = Zeroizing::new(configuration.lines().find_map(of_key).unwrap_or_default());
    let expected = encryption::configuration(&settings, &SecretText::new(key.as_str()));
    if expected.expose().trim_end() != configuration.trim_end() {
        let text = "was found with other settings than those of `encryption.atRest` in the spec; bring the spec back to the \
                    settings that the cluster runs with";
        return Err(text.to_owned());
    }
    let fields = vec![("key", key), ("configuration", Zeroizing::new(configuration.to_owned()))];
    Ok((with_outputs(desired, [("key", Value::Null)]), fields))
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
