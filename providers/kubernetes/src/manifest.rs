//! Manifests as values: the form in which they are sent, and the visible form of live objects.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value as Json};
use slipway_resource::{Digest, ErrorClass, ProviderError, Secret, Value};

use crate::fields::{self, FieldSet};
use crate::marks::{self, MANAGER};
use crate::object::{GroupKind, split_api_version, text, wish};

/// Where a secret comes from that is read from the API and never shown.
pub(crate) const LIVE: &str = "kubernetes:live";

/// Kind and names of a desired object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub kind: GroupKind,
    /// As `v1`.
    pub version: String,
    pub namespace: String,
    pub name: String,
}

/// The object of a manifest.
///
/// # Errors
/// `invalid` for a manifest without version, kind or name, and for secrets in anything but a Secret.
pub(crate) fn wanted(manifest: &Value) -> Result<Wanted, ProviderError> {
    let field = |path: &[&str]| -> Result<String, ProviderError> {
        let mut value = Some(manifest);
        for key in path {
            value = value.and_then(|value| value.get(key));
        }
        match value.and_then(Value::as_str).filter(|text| !text.is_empty()) {
            Some(text) => Ok(text.to_owned()),
            None => Err(invalid(format!("the manifest has no {}", path.join(".")))),
        }
    };
    let api_version = field(&["apiVersion"])?;
    let kind = field(&["kind"])?;
    let name = field(&["metadata", "name"])?;
    let metadata = manifest.get("metadata");
    let namespace = metadata.and_then(|metadata| metadata.get("namespace")?.as_str()).unwrap_or_default();
    let (group, version) = split_api_version(&api_version);
    let kind = GroupKind::new(group, &kind);
    if !is_secret(&kind) && has_secret(manifest) {
        return Err(invalid(format!(
            "{kind} {name} holds a secret; only a Secret keeps one from being read"
        ))
        .with_hint("put it into a Secret and refer to that"));
    }
    Ok(Wanted { kind, version: version.to_owned(), namespace: namespace.to_owned(), name })
}

/// Whether objects of a kind hold what is never shown.
pub(crate) fn is_secret(kind: &GroupKind) -> bool {
    kind.group.is_empty() && kind.kind == "Secret"
}

fn has_secret(value: &Value) -> bool {
    match value {
        Value::Secret(_) => true,
        Value::List(items) => items.iter().any(has_secret),
        Value::Map(entries) => entries.values().any(has_secret),
        _ => false,
    }
}

pub(crate) fn invalid(text: impl Into<String>) -> ProviderError {
    ProviderError::new(ErrorClass::Invalid, text)
}

/// The desired manifest, without the fields that only the server writes.
pub(crate) fn normal(manifest: &Value) -> Value {
    let Value::Map(entries) = manifest else { return manifest.clone() };
    let mut entries = entries.clone();
    entries.remove("status");
    if let Some(Value::Map(metadata)) = entries.get_mut("metadata") {
        for name in crate::object::SERVERS_METADATA {
            metadata.remove(name);
        }
    }
    Value::Map(entries)
}

/// The JSON that is sent for a manifest. `text_of` gives the text of a secret, by its key and whether the text is
/// base64 already.
///
/// # Errors
/// `invalid` for values that are not known, and for secrets without a text.
pub(crate) fn outgoing(
    manifest: &Value,
    text_of: &dyn Fn(&str, &Secret) -> Option<String>,
) -> Result<Json, ProviderError> {
    let mut json = wish(sent("", manifest, text_of)?);
    // Server-side apply does not track fields that are only written: the text is written to its stored field.
    if let Some(entries) = json.as_object_mut()
        && entries.get("kind").and_then(Json::as_str) == Some("Secret")
        && let Some(Json::Object(plain)) = entries.remove("stringData")
    {
        let data = entries.entry("data").or_insert_with(|| Json::Object(Map::new()));
        if let Some(data) = data.as_object_mut() {
            for (key, value) in plain {
                data.insert(key, BASE64.encode(value.as_str().unwrap_or_default()).into());
            }
        }
    }
    Ok(json)
}

fn sent(
    key: &str,
    value: &Value,
    text_of: &dyn Fn(&str, &Secret) -> Option<String>,
) -> Result<Json, ProviderError> {
    Ok(match value {
        Value::List(items) => {
            items.iter().map(|item| sent(key, item, text_of)).collect::<Result<Vec<_>, _>>()?.into()
        }
        Value::Map(entries) => {
            let entries = entries.iter().map(|(key, value)| Ok((key.clone(), sent(key, value, text_of)?)));
            entries.collect::<Result<Map<_, _>, ProviderError>>()?.into()
        }
        Value::Secret(secret) => match text_of(key, secret) {
            Some(text) => text.into(),
            None => return Err(invalid(format!("the text of the secret {} is not at hand", secret.source))),
        },
        Value::Unknown | Value::Reference(_) | Value::Template(_) => {
            return Err(invalid(format!("the value of {key} is not known")));
        }
        known => known.to_json(),
    })
}

/// The text that an action brings with a secret.
pub(crate) fn brought(_: &str, secret: &Secret) -> Option<String> {
    secret.text.as_ref().map(|text| text.expose().to_owned())
}

/// The fields of a live object that Slipway owns, and a digest by which a change of them is noticed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Owned {
    /// With kind, version and names, without marks; secret values are hidden.
    pub manifest: Value,
    /// The digest of the same fields. It does not depend on secret values.
    pub digest: Digest,
}

/// The fields of Slipway's in a live object.
pub(crate) fn owned(live: &Json) -> Owned {
    let fields = fields::applied_by(live, MANAGER).map(|applied| applied.fields).unwrap_or_default();
    part(live, &fields)
}

/// The fields of a set in a live object.
pub(crate) fn part(live: &Json, fields: &FieldSet) -> Owned {
    let mut part = if fields.is_empty() { Json::Object(Map::new()) } else { fields.project(live) };
    marks::strip(&mut part);
    if let Some(entries) = part.as_object_mut() {
        for name in ["apiVersion", "kind"] {
            entries.insert(name.to_owned(), text(live, &format!("/{name}")).unwrap_or_default().into());
        }
        let metadata = entries.entry("metadata").or_insert_with(|| Json::Object(Map::new()));
        if let Some(metadata) = metadata.as_object_mut() {
            for name in ["name", "namespace"] {
                if let Some(value) = text(live, &format!("/metadata/{name}")) {
                    metadata.insert(name.to_owned(), value.into());
                }
            }
        }
    }
    let mut manifest = Value::from_json(&part);
    hide(&mut manifest);
    // Values always serialise.
    let digest = Digest::of(&manifest).unwrap_or_else(|_| Digest::of_bytes(b""));
    Owned { manifest, digest }
}

/// Puts secrets in the place of what a Secret holds.
pub(crate) fn hide(manifest: &mut Value) {
    if !is_secret_manifest(manifest) {
        return;
    }
    let Value::Map(entries) = manifest else { return };
    for name in ["data", "stringData"] {
        if let Some(Value::Map(data)) = entries.get_mut(name) {
            data.values_mut().for_each(|value| *value = Value::from(Secret::new(LIVE)));
        }
    }
}

pub(crate) fn is_secret_manifest(manifest: &Value) -> bool {
    let is = |name: &str, text: &str| manifest.get(name).and_then(Value::as_str) == Some(text);
    is("kind", "Secret") && is("apiVersion", "v1")
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use slipway_resource::SecretText;

    use super::*;

    #[test]
    fn a_manifest_has_to_name_its_object() {
        let value = |json: Json| Value::from_json(&json);
        let good = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "namespace": "b"}});
        let found = wanted(&value(good)).unwrap();
        assert_eq!((found.kind.to_string().as_str(), found.version.as_str()), ("Deployment.apps", "v1"));
        let error = wanted(&value(json!({"apiVersion": "v1", "kind": "ConfigMap"}))).unwrap_err();
        assert_eq!(error.message, "the manifest has no metadata.name");
        let mut leaky = value(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}));
        leaky.set(&"data.x".parse().unwrap(), Value::from(Secret::new("env:X")));
        assert!(wanted(&leaky).is_err());
    }

    #[test]
    fn the_text_of_a_secret_is_sent_and_never_shown() {
        let secret = Value::from(Secret { text: Some(SecretText::new("hunter2")), ..Secret::new("env:X") });
        let mut manifest =
            Value::from_json(&json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}));
        manifest.set(&"stringData.password".parse().unwrap(), secret);
        let sent = outgoing(&manifest, &brought).unwrap();
        assert_eq!(sent["data"]["password"], BASE64.encode("hunter2"));
        assert!(sent.get("stringData").is_none());
        let mut live = sent.clone();
        live["metadata"]["managedFields"] = json!([{"manager": MANAGER, "operation": "Apply", "apiVersion": "v1",
            "fieldsV1": {"f:data": {"f:password": {}}}}]);
        let shown = owned(&live);
        assert!(!serde_json::to_string(&shown.manifest).unwrap().contains(&BASE64.encode("hunter2")));
        live["data"]["password"] = "eA==".into();
        assert_eq!(owned(&live).digest, shown.digest, "the digest tells nothing of the text");
        assert!(outgoing(&shown.manifest, &brought).is_err());
    }
}
