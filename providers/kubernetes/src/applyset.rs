//! The set of all objects of a cluster's state: its id, and its parent, which names the kinds and namespaces to look in.
//!
//! As KEP-3659 has it: the parent carries the label `applyset.kubernetes.io/id`, its members
//! `applyset.kubernetes.io/part-of`. Tools that know ApplySets leave what another tool has made alone.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};
use slipway_resource::{ClusterUid, Digest};

use crate::marks::{CLUSTER, UID};
use crate::object::{GroupKind, text};

const ID: &str = "applyset.kubernetes.io/id";
const TOOLING: &str = "applyset.kubernetes.io/tooling";
const KINDS: &str = "applyset.kubernetes.io/contains-group-kinds";
const NAMESPACES: &str = "applyset.kubernetes.io/additional-namespaces";

/// Where parents are kept.
pub(crate) const NAMESPACE: &str = "kube-system";
/// The path of all parents.
pub(crate) const COLLECTION: &str = "/api/v1/namespaces/kube-system/configmaps";

/// The set of one cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplySet {
    /// The name of the parent, a ConfigMap in `kube-system`.
    pub name: String,
    /// The id, as `applyset-…-v1`.
    pub id: String,
}

impl ApplySet {
    /// The set of a cluster.
    #[must_use]
    pub fn of(uid: &ClusterUid) -> Self {
        let name = format!("slipway-{}", Digest::of_bytes(uid.as_str().as_bytes()).short());
        // The base64 of a SHA-256 over name, namespace, kind and group of the parent.
        let digest = Digest::of_bytes(format!("{name}.{NAMESPACE}.ConfigMap.").as_bytes());
        let id = format!("applyset-{}-v1", base64url(&bytes_of(digest.as_str())));
        Self { name, id }
    }

    /// The parent's path.
    pub(crate) fn path(&self) -> String {
        format!("{COLLECTION}/{}", self.name)
    }

    /// The desired parent.
    pub(crate) fn parent(
        &self,
        uid: &ClusterUid,
        cluster: &str,
        members: &Members,
        live: Option<&Json>,
    ) -> Json {
        let list = |items: Vec<String>| items.join(",");
        let mut parent = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": self.name,
                "namespace": NAMESPACE,
                "labels": {ID: self.id, CLUSTER: label_of(cluster)},
                "annotations": {
                    TOOLING: "slipway/v1alpha1",
                    KINDS: list(members.kinds.iter().map(ToString::to_string).collect()),
                    NAMESPACES: list(members.namespaces.iter().cloned().collect()),
                    CLUSTER: cluster,
                    UID: uid.as_str(),
                },
            },
        });
        // The parent is written whole, and only if it is as it was read.
        if let Some(version) = live.and_then(|live| text(live, "/metadata/resourceVersion")) {
            parent["metadata"]["resourceVersion"] = version.into();
        }
        parent
    }
}

/// The selector of all parents of clusters of a name.
pub(crate) fn parents_of(cluster: &str) -> String {
    format!("{ID},{CLUSTER}={}", label_of(cluster))
}

/// The unique id on a parent, when it is that of a cluster of this name.
pub(crate) fn uid_of(parent: &Json, cluster: &str) -> Option<ClusterUid> {
    let annotation =
        |name: &str| parent.pointer("/metadata/annotations").and_then(|all| all.get(name)?.as_str());
    (annotation(CLUSTER) == Some(cluster)).then(|| annotation(UID).map(ClusterUid::new)).flatten()
}

/// The kinds and namespaces of a set's members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Members {
    /// The kinds.
    pub kinds: BTreeSet<GroupKind>,
    /// The namespaces beyond the parent's.
    pub namespaces: BTreeSet<String>,
}

impl Members {
    /// The members that a parent names.
    pub(crate) fn of(parent: &Json) -> Self {
        let list = |name: &str| {
            let text = parent.pointer("/metadata/annotations").and_then(|all| all.get(name)?.as_str());
            text.unwrap_or_default().split(',').filter(|item| !item.is_empty())
        };
        Self {
            kinds: list(KINDS).map(GroupKind::parse).collect(),
            namespaces: list(NAMESPACES).map(str::to_owned).collect(),
        }
    }

    /// Whether all of the other is in it.
    pub(crate) fn has(&self, other: &Self) -> bool {
        self.kinds.is_superset(&other.kinds) && self.namespaces.is_superset(&other.namespaces)
    }

    pub(crate) fn extend(&mut self, other: Self) {
        self.kinds.extend(other.kinds);
        self.namespaces.extend(other.namespaces);
    }
}

/// A cluster's name as the value of a label: itself where it may be one.
fn label_of(cluster: &str) -> String {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let ends = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = cluster.as_bytes();
    if bytes.len() <= 63 && bytes.iter().copied().all(inner) && ends(bytes.first()) && ends(bytes.last()) {
        cluster.to_owned()
    } else {
        Digest::of_bytes(bytes).short().to_owned()
    }
}

/// The bytes of a digest in hexadecimal.
fn bytes_of(digest: &str) -> Vec<u8> {
    let digits: Vec<u8> = digest
        .strip_prefix("sha256:")
        .unwrap_or(digest)
        .chars()
        .filter_map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect();
    digits.chunks_exact(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect()
}

/// RFC 4648, section 5, without padding.
fn base64url(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_the_digest_of_the_parent() {
        let set = ApplySet::of(&ClusterUid::new("u-1"));
        assert!(set.name.starts_with("slipway-") && set.name.len() == 20, "{}", set.name);
        assert!(
            set.id.starts_with("applyset-") && set.id.ends_with("-v1") && set.id.len() == 55,
            "{}",
            set.id
        );
        // As `kubectl apply --applyset=configmaps/test` computes it for namespace `default`.
        let digest = Digest::of_bytes(b"test.default.ConfigMap.");
        assert_eq!(base64url(&bytes_of(digest.as_str())).len(), 43);
    }

    #[test]
    fn a_parent_says_what_it_has() {
        let uid = ClusterUid::new("u-1");
        let set = ApplySet::of(&uid);
        let members = Members {
            kinds: [GroupKind::new("apps", "Deployment"), GroupKind::new("", "ConfigMap")].into(),
            namespaces: ["a".to_owned(), "b".to_owned()].into(),
        };
        let parent = set.parent(&uid, "demo", &members, None);
        assert_eq!(parent["metadata"]["annotations"][KINDS], "ConfigMap,Deployment.apps");
        assert_eq!(Members::of(&parent), members);
        assert_eq!(uid_of(&parent, "demo"), Some(uid));
        assert_eq!(uid_of(&parent, "other"), None);
        assert_eq!(Members::of(&json!({})), Members::default());
    }

    #[test]
    fn a_name_that_is_no_label_becomes_its_digest() {
        assert_eq!(label_of("a.example.com"), "a.example.com");
        for bad in ["", "-a", "a/b", &"x".repeat(64)] {
            assert_eq!(label_of(bad).len(), 12, "{bad}");
        }
    }
}
