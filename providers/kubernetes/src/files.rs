//! Manifests in files, as the add-ons of a spec name them: YAML or JSON, several documents, lists of objects.

use std::collections::BTreeMap;

use serde::Deserialize as _;
use serde_json::Value as Json;
use slipway_resource::{Address, Desired, Value};

use crate::object::{GroupKind, ObjectKey, key_of, kind_of, wish};
use crate::order::order;
use crate::schema::OBJECT;

/// The code of manifests that have an object twice.
pub const TWICE: &str = "MANIFEST0003";

/// Why manifests cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A document is no YAML.
    #[error("{file}: document {document}: {message}")]
    Syntax {
        /// The file.
        file: String,
        /// Which of its documents, from 1 on.
        document: usize,
        /// The problem.
        message: String,
    },
    /// A document is no API object.
    #[error("{file}: document {document}: it has no {missing}")]
    NoObject {
        /// The file.
        file: String,
        /// Which of its documents, from 1 on.
        document: usize,
        /// The missing field.
        missing: &'static str,
    },
    /// Two documents are about one object.
    #[error("{file}: document {document}: {object} is there already, in document {first}")]
    Twice {
        /// The file.
        file: String,
        /// Which of its documents, from 1 on.
        document: usize,
        /// The object.
        object: String,
        /// Where it is the first time.
        first: usize,
    },
}

impl Error {
    /// The stable code, with a page in `docs/errors/`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Syntax { .. } => "MANIFEST0001",
            Self::NoObject { .. } => "MANIFEST0002",
            Self::Twice { .. } => TWICE,
        }
    }
}

/// The objects of a file as resources, each after those that it depends on ([`order`]).
///
/// Empty documents are skipped, and lists are split into their items.
///
/// # Errors
/// When a document is no YAML, is no API object with a name, or occurs twice.
pub fn read(file: &str, text: &str) -> Result<Vec<Desired>, Error> {
    let mut found: BTreeMap<ObjectKey, usize> = BTreeMap::new();
    let mut objects = Vec::new();
    for (place, document) in serde_yaml::Deserializer::from_str(text).enumerate() {
        let document_number = place + 1;
        let json = Json::deserialize(document).map_err(|error| Error::Syntax {
            file: file.to_owned(),
            document: document_number,
            message: error.to_string(),
        })?;
        for manifest in taken_apart(json) {
            let missing =
                |missing| Error::NoObject { file: file.to_owned(), document: document_number, missing };
            if kind_of(&manifest).is_none() {
                return Err(missing("apiVersion and kind"));
            }
            let key = key_of(&manifest).ok_or_else(|| missing("metadata.name"))?;
            if let Some(first) = found.insert(key.clone(), document_number) {
                let object = key.to_string();
                return Err(Error::Twice { file: file.to_owned(), document: document_number, object, first });
            }
            objects.push(desired(&manifest));
        }
    }
    Ok(order(objects))
}

/// An object, or the objects of a list.
fn taken_apart(document: Json) -> Vec<Json> {
    let is_list = document.get("kind").and_then(Json::as_str).is_some_and(|kind| kind.ends_with("List"));
    match document {
        Json::Null => Vec::new(),
        Json::Object(mut entries) if is_list => match entries.remove("items") {
            Some(Json::Array(items)) => items.into_iter().flat_map(taken_apart).collect(),
            _ => Vec::new(),
        },
        other => vec![other],
    }
}

/// The resource of one manifest.
#[must_use]
pub fn desired(manifest: &Json) -> Desired {
    let mut manifest = wish(manifest.clone());
    let key = key_of(&manifest);
    if let Some(key) = &key
        && key.namespace.is_empty()
        && is_in_a_namespace(&key.kind)
    {
        manifest["metadata"]["namespace"] = "default".into();
    }
    let name = key_of(&manifest).map(|key| address_name(&key)).unwrap_or_default();
    let attributes = Value::map([("manifest", Value::from_json(&manifest))]);
    Desired::new(Address::new(OBJECT, name), attributes)
}

/// The name of an object's resource: `Deployment/default/web`, and with its group for kinds that are not Kubernetes'
/// own, `cert-manager.io.Certificate/default/web`: so no other object can come to the same address.
#[must_use]
pub fn address_name(key: &ObjectKey) -> String {
    let GroupKind { group, kind } = &key.kind;
    let kind = if is_built_in(group) { kind.clone() } else { format!("{group}.{kind}") };
    format!("{kind}/{}/{}", key.namespace, key.name)
}

/// Whether a group is one of Kubernetes itself.
fn is_built_in(group: &str) -> bool {
    const SHORT: [&str; 5] = ["", "apps", "autoscaling", "batch", "policy"];
    const LONG: [&str; 14] = [
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "certificates.k8s.io",
        "coordination.k8s.io",
        "discovery.k8s.io",
        "flowcontrol.apiserver.k8s.io",
        "networking.k8s.io",
        "node.k8s.io",
        "rbac.authorization.k8s.io",
        "resource.k8s.io",
        "scheduling.k8s.io",
        "storage.k8s.io",
        "storagemigration.k8s.io",
    ];
    SHORT.contains(&group) || LONG.contains(&group)
}

/// Whether objects of a built-in kind belong into a namespace; of others only the server knows.
fn is_in_a_namespace(kind: &GroupKind) -> bool {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", kind) => !matches!(kind, "Namespace" | "Node" | "PersistentVolume" | "ComponentStatus"),
        ("apps" | "autoscaling" | "batch" | "policy" | "coordination.k8s.io" | "discovery.k8s.io", _) => true,
        ("networking.k8s.io", kind) => matches!(kind, "Ingress" | "NetworkPolicy"),
        ("rbac.authorization.k8s.io", kind) => matches!(kind, "Role" | "RoleBinding"),
        ("storage.k8s.io", kind) => kind == "CSIStorageCapacity",
        ("resource.k8s.io", kind) => matches!(kind, "ResourceClaim" | "ResourceClaimTemplate"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        read("a.yaml", text).unwrap().iter().map(|object| object.address.to_string()).collect()
    }

    #[test]
    fn documents_and_lists_are_taken_apart() {
        let text = "# nothing\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n---\n---\n\
            apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Node, metadata: {name: n}}\n\
            - apiVersion: apps/v1\n  kind: DeploymentList\n  items: [{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: x}}]\n\
            ---\n{\"apiVersion\": \"cert-manager.io/v1\", \"kind\": \"Certificate\", \"metadata\": {\"name\": \"c\"}}\n";
        assert_eq!(
            names(text),
            [
                "kubernetes_object.ConfigMap/default/a",
                "kubernetes_object.Node//n",
                "kubernetes_object.Deployment/x/d",
                "kubernetes_object.cert-manager.io.Certificate//c"
            ]
        );
    }

    #[test]
    fn what_cannot_be_used_is_named_with_its_place() {
        let refused = |text: &str| read("a.yaml", text).unwrap_err().to_string();
        let object = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n";
        assert_eq!(
            refused(&format!("{object}---\n{object}")),
            "a.yaml: document 2: ConfigMap a is there already, in document 1"
        );
        assert_eq!(
            refused("{kind: ConfigMap, metadata: {name: a}}"),
            "a.yaml: document 1: it has no apiVersion and kind"
        );
        assert_eq!(
            refused("{apiVersion: v1, kind: ConfigMap}"),
            "a.yaml: document 1: it has no metadata.name"
        );
        assert!(refused(&format!("{object}---\n{{")).starts_with("a.yaml: document 2: "));
    }
}
