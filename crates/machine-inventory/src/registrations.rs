//! ElementalRegistrations: the key and the token with which hosts register.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value as Json, json};
use slipway_controller::k8s_openapi::api::core::v1::Secret;
use slipway_controller::k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use slipway_controller::kube::api::PostParams;
use slipway_controller::kube::{Api, Resource as _};

use crate::api::ElementalRegistration;
use crate::conditions::{Draft, READY};
use crate::context::Context;
use crate::keys::PrivateKey;
use crate::token::Claims;
use crate::world::{name, namespace};
use crate::writing::Failure;

/// The field of the secret with the key.
pub(crate) const KEY_FIELD: &str = "privKey";

/// Brings an ElementalRegistration closer to what it should be: fields that are blank get a value, others stay.
pub(crate) async fn reconcile(context: &Context, seen: &ElementalRegistration) -> Result<(), Failure> {
    if seen.metadata.deletion_timestamp.is_some() {
        return Ok(());
    }
    let conditions = seen.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let mut draft = Draft::new(conditions, seen.metadata.generation, Timestamp::now());
    let current = match complete(context, seen).await? {
        Ok(current) => {
            draft.set(READY, true, "Ready", "");
            current
        }
        Err((reason, message)) => {
            draft.set(READY, false, reason, message);
            seen.clone()
        }
    };
    let conditions = draft.into_conditions();
    if current.status.as_ref().is_none_or(|status| status.conditions != conditions) {
        context.patch_status(&current, json!({ "conditions": conditions })).await?;
    }
    Ok(())
}

/// Sets the fields that are blank; otherwise says why that is not possible, with a reason and a message.
async fn complete(
    context: &Context,
    seen: &ElementalRegistration,
) -> Result<Result<ElementalRegistration, (&'static str, String)>, Failure> {
    let given = &seen.spec.config.elemental.registration;
    let Some(uri) = blank_or(given.uri.as_deref()).map(str::to_owned).or_else(|| own_uri(context, seen))
    else {
        let message =
            "spec.config.elemental.registration.uri is blank, and the controller runs without --api-url";
        return Ok(Err(("MissingUri", message.to_owned())));
    };
    let duration = match duration(given.token_duration.as_deref()) {
        Ok(duration) => duration,
        Err(message) => return Ok(Err(("InvalidTokenDuration", message))),
    };
    let secret = secret_name(seen).to_owned();
    let key = match signing_key(context, seen, &secret).await? {
        Ok(key) => key,
        Err(message) => return Ok(Err(("InvalidPrivateKey", message))),
    };
    let mut registration = json!({});
    if given.uri.as_deref() != Some(&uri) {
        registration["uri"] = json!(uri);
    }
    if let (None, Some(authority)) = (blank_or(given.ca_cert.as_deref()), &context.api_authority) {
        registration["caCert"] = json!(authority);
    }
    if blank_or(given.token.as_deref()).is_none() {
        registration["token"] = json!(Claims::of_registration(&uri, duration, Timestamp::now()).sign(&key));
    }
    let mut spec = json!({});
    if registration != json!({}) {
        spec["config"] = json!({"elemental": {"registration": registration}});
    }
    if seen.spec.private_key_ref.is_none() {
        let reference: Json = json!({"apiVersion": "v1", "kind": "Secret", "name": secret});
        spec["privateKeyRef"] = reference;
    }
    if spec == json!({}) {
        return Ok(Ok(seen.clone()));
    }
    Ok(Ok(context.patch(seen, json!({ "spec": spec })).await?))
}

fn blank_or(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}

fn own_uri(context: &Context, registration: &ElementalRegistration) -> Option<String> {
    let base = context.api_url.as_deref()?.trim_end_matches('/');
    let metadata = &registration.metadata;
    Some(format!("{base}/elemental/v1/namespaces/{}/registrations/{}", namespace(metadata), name(metadata)))
}

/// The name of the secret with the key of a registration.
pub(crate) fn secret_name(registration: &ElementalRegistration) -> &str {
    registration
        .spec
        .private_key_ref
        .as_ref()
        .map_or_else(|| name(&registration.metadata), |one| one.name.as_str())
}

/// The duration of a token. Those of the API of Kubernetes may be negative, other than those of a spec: such a token is never valid.
fn duration(text: Option<&str>) -> Result<SignedDuration, String> {
    let Some(text) = blank_or(text) else { return Ok(SignedDuration::ZERO) };
    if text == "0" {
        return Ok(SignedDuration::ZERO);
    }
    text.parse().map_err(|_| {
        format!("spec.config.elemental.registration.tokenDuration: `{text}` is not a time such as 24h")
    })
}

/// The key that signs tokens. A secret that does not exist is created, and is deleted with the registration.
async fn signing_key(
    context: &Context,
    registration: &ElementalRegistration,
    secret_name: &str,
) -> Result<Result<PrivateKey, String>, Failure> {
    let secrets: Api<Secret> = Api::namespaced(context.client.clone(), namespace(&registration.metadata));
    let text = match secrets.get_opt(secret_name).await? {
        Some(secret) => key_text(&secret),
        None => {
            let text = PrivateKey::generate().map_err(|error| Failure::Unusable(error.to_string()))?;
            let secret = Secret {
                metadata: ObjectMeta {
                    name: Some(secret_name.to_owned()),
                    owner_references: registration.controller_owner_ref(&()).map(|owner| vec![owner]),
                    ..ObjectMeta::default()
                },
                string_data: Some([(KEY_FIELD.to_owned(), text.clone())].into()),
                ..Secret::default()
            };
            secrets.create(&PostParams::default(), &secret).await?;
            text
        }
    };
    let key = PrivateKey::read(&text);
    Ok(key.map_err(|error| format!("field {KEY_FIELD} of secret {secret_name}: {error}")))
}

/// The key in a secret, in PEM; blank if there is none.
pub(crate) fn key_text(secret: &Secret) -> String {
    let bytes = secret.data.as_ref().and_then(|data| data.get(KEY_FIELD));
    bytes.map(|bytes| String::from_utf8_lossy(&bytes.0).into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_may_be_blank_or_negative() {
        assert_eq!(duration(None), Ok(SignedDuration::ZERO));
        assert_eq!(duration(Some("0")), Ok(SignedDuration::ZERO));
        assert_eq!(duration(Some("0s")), Ok(SignedDuration::ZERO));
        assert_eq!(duration(Some("24h")), Ok(SignedDuration::from_hours(24)));
        assert_eq!(duration(Some("-1h")), Ok(SignedDuration::from_hours(-1)));
        assert!(duration(Some("soon")).unwrap_err().contains("`soon`"));
    }
}
