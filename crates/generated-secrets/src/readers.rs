//! Readers of secrets beside the people who have the keys of the state: machines of a cloud, which open a secret
//! with a key of the cloud's key service.
//!
//! The attribute [`SEALED_FOR`] names the key. It comes from the plan, and so from the spec and the cloud, never
//! from the store: who can write to the store adds no reader.

use std::collections::BTreeMap;
use std::sync::Arc;

use slipway_resource::{Attribute, ErrorClass, Path, ProviderError, Session, Type, Value};
use slipway_secrets::service::ServiceKey;
use slipway_secrets::{KeyName, Recipient};

/// The attribute with the further reader of a secret.
pub const SEALED_FOR: &str = "sealed_for";

/// The schema of the attribute.
pub(crate) fn attribute() -> Attribute {
    Attribute::optional(Type::String).describe(
        "A key of a provider's key service, as aws:arn:…, for which it is encrypted beside the keys of the state: machines \
         that may use this key read it.",
    )
}

/// The sessions with the providers whose key services wrap keys, by the name of the provider.
pub(crate) type Services = BTreeMap<String, Arc<dyn Session>>;

/// The further recipients of a secret with these attributes.
///
/// # Errors
/// `invalid` when there is no session with the provider.
pub(crate) fn recipients(
    attributes: &Value,
    services: &Services,
) -> Result<Vec<Arc<dyn Recipient>>, ProviderError> {
    let Some(text) = wanted(attributes) else { return Ok(Vec::new()) };
    let (provider, key) = parts(text)?;
    let session = services.get(provider).ok_or_else(|| {
        let text = format!(
            "the secret is to be encrypted for {text}, and provider {provider} is not part of this run"
        );
        ProviderError::new(ErrorClass::Invalid, text)
    })?;
    Ok(vec![Arc::new(ServiceKey::with_session(provider, key, session.clone()))])
}

/// Takes the reader out of the attributes of a secret that is not encrypted for it: [`slipway_secrets::rekey`] encrypts for
/// the keys of the state only.
pub(crate) fn correct(attributes: &mut Value, names: &[KeyName]) {
    let is_there = |wanted: &str| names.iter().any(|name| name.service().is_some() && name.id == wanted);
    if wanted(attributes).is_some_and(|wanted| !is_there(wanted)) {
        attributes.set(&Path::key(SEALED_FOR), Value::Null);
    }
}

/// Checks the form of the attribute, where its value is known.
///
/// # Errors
/// `invalid` when it names no provider, or no key.
pub(crate) fn check(attributes: &Value) -> Result<(), ProviderError> {
    wanted(attributes).map_or(Ok(()), |text| parts(text).map(drop))
}

fn wanted(attributes: &Value) -> Option<&str> {
    attributes.get(SEALED_FOR).and_then(Value::as_str)
}

fn parts(text: &str) -> Result<(&str, &str), ProviderError> {
    let parts = text.split_once(':').filter(|(provider, key)| !provider.is_empty() && !key.is_empty());
    parts.ok_or_else(|| {
        let text = format!("{SEALED_FOR}: `{text}` is not a provider, a colon and a key of its key service");
        ProviderError::new(ErrorClass::Invalid, text)
    })
}
