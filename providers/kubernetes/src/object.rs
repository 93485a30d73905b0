//! API objects as JSON: their identity, and their desired fields.

use std::fmt;

use serde_json::{Map, Value as Json};
use slipway_resource::{ErrorClass, Identity, ProviderError};

/// Group and kind of an object, without the version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupKind {
    /// The API group; empty for the core.
    pub group: String,
    /// The kind, as `Deployment`.
    pub kind: String,
}

impl GroupKind {
    /// A group and a kind.
    #[must_use]
    pub fn new(group: &str, kind: &str) -> Self {
        Self { group: group.to_owned(), kind: kind.to_owned() }
    }

    /// Reads `Deployment.apps` or `ConfigMap`, as ApplySets write them.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let (kind, group) = text.split_once('.').unwrap_or((text, ""));
        Self::new(group, kind)
    }
}

impl fmt::Display for GroupKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() {
            formatter.write_str(&self.kind)
        } else {
            write!(formatter, "{}.{}", self.kind, self.group)
        }
    }
}

/// Which object: kind, namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// The kind of the object.
    pub kind: GroupKind,
    /// Its namespace; empty for what belongs to the whole cluster.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            write!(formatter, "{} {}", self.kind, self.name)
        } else {
            write!(formatter, "{} {}/{}", self.kind, self.namespace, self.name)
        }
    }
}

/// One object in its lifetime: its key and the uid that the server gave it.
///
/// The text is `Kind.group/namespace/name/uid`. It has no version, because the same object can be read in any
/// version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectIdentity {
    /// Which object.
    pub key: ObjectKey,
    /// The uid; empty where it is not known, as in what people type.
    pub uid: String,
}

impl ObjectIdentity {
    /// Reads an identity.
    ///
    /// # Errors
    /// `invalid` for a text of another form.
    pub fn parse(identity: &Identity) -> Result<Self, ProviderError> {
        let parts: Vec<&str> = identity.as_str().split('/').collect();
        let (kind, namespace, name, uid) = match parts.as_slice() {
            [kind, namespace, name] => (*kind, *namespace, *name, ""),
            [kind, namespace, name, uid] => (*kind, *namespace, *name, *uid),
            _ => ("", "", "", ""),
        };
        if kind.is_empty() || name.is_empty() {
            let text = format!("{identity} does not have the form Kind.group/namespace/name/uid");
            return Err(ProviderError::new(ErrorClass::Invalid, text));
        }
        let key = ObjectKey {
            kind: GroupKind::parse(kind),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        Ok(Self { key, uid: uid.to_owned() })
    }

    /// The identity of a live object.
    #[must_use]
    pub fn of(live: &Json) -> Option<Self> {
        Some(Self { key: key_of(live)?, uid: text(live, "/metadata/uid")?.to_owned() })
    }

    /// The text.
    #[must_use]
    pub fn to_identity(&self) -> Identity {
        let Self { key, uid } = self;
        Identity::new(format!("{}/{}/{}/{uid}", key.kind, key.namespace, key.name))
    }
}

/// The text at a JSON pointer.
pub(crate) fn text<'a>(json: &'a Json, pointer: &str) -> Option<&'a str> {
    json.pointer(pointer).and_then(Json::as_str)
}

/// Group and version of an `apiVersion`: `apps/v1` is of `apps`, `v1` of the core.
#[must_use]
pub fn split_api_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// The kind that a manifest names.
#[must_use]
pub fn kind_of(manifest: &Json) -> Option<GroupKind> {
    let (group, _) = split_api_version(text(manifest, "/apiVersion")?);
    Some(GroupKind::new(group, text(manifest, "/kind")?))
}

/// The object that a manifest names; the namespace as it is written.
#[must_use]
pub fn key_of(manifest: &Json) -> Option<ObjectKey> {
    Some(ObjectKey {
        kind: kind_of(manifest)?,
        namespace: text(manifest, "/metadata/namespace").unwrap_or_default().to_owned(),
        name: text(manifest, "/metadata/name")?.to_owned(),
    })
}

/// The desired fields of a manifest: without those that only the server writes, and without a status.
#[must_use]
pub fn wish(mut manifest: Json) -> Json {
    if let Some(entries) = manifest.as_object_mut() {
        entries.remove("status");
        if let Some(metadata) = entries.get_mut("metadata").and_then(Json::as_object_mut) {
            for name in SERVERS_METADATA {
                metadata.remove(name);
            }
        }
    }
    drop_nulls(&mut manifest);
    manifest
}

pub(crate) const SERVERS_METADATA: [&str; 7] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "uid",
];

/// A null says nothing in a manifest.
fn drop_nulls(json: &mut Json) {
    match json {
        Json::Object(entries) => {
            entries.retain(|_, value| !value.is_null());
            entries.values_mut().for_each(drop_nulls);
        }
        Json::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// The map at a path of keys, created if it is missing; `None` when another value is in its place.
pub(crate) fn map_at<'a>(json: &'a mut Json, keys: &[&str]) -> Option<&'a mut Map<String, Json>> {
    let mut place = json;
    for key in keys {
        let entries = place.as_object_mut()?;
        place = entries.entry(*key).or_insert_with(|| Json::Object(Map::new()));
    }
    place.as_object_mut()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_identity_is_its_text() {
        let live = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "default", "uid": "u-1"}});
        let identity = ObjectIdentity::of(&live).unwrap();
        assert_eq!(identity.to_identity().as_str(), "Deployment.apps/default/web/u-1");
        assert_eq!(ObjectIdentity::parse(&identity.to_identity()).unwrap(), identity);
        let role = Identity::new("ClusterRole.rbac.authorization.k8s.io//system:node/u-2");
        let parsed = ObjectIdentity::parse(&role).unwrap();
        assert_eq!(parsed.key.to_string(), "ClusterRole.rbac.authorization.k8s.io system:node");
        assert_eq!(ObjectIdentity::parse(&Identity::new("Node//a")).unwrap().uid, "");
        for bad in ["", "Node", "Node/a", "//a/u", "Node///u", "a/b/c/d/e"] {
            assert!(ObjectIdentity::parse(&Identity::new(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_wish_has_nothing_of_the_servers() {
        let manifest = json!({"apiVersion": "v1", "kind": "A", "status": {"x": 1},
            "metadata": {"name": "a", "uid": "u", "creationTimestamp": null, "labels": {"a": "b"}},
            "spec": {"empty": {}, "nothing": null, "items": [{"a": null}]}});
        assert_eq!(
            wish(manifest),
            json!({"apiVersion": "v1", "kind": "A", "metadata": {"name": "a", "labels": {"a": "b"}},
                "spec": {"empty": {}, "items": [{}]}})
        );
    }
}
