//! The marks on objects that Slipway manages: the cluster and the address to which an object belongs.
//!
//! Objects are members of an ApplySet
//! (<https://kubernetes.io/docs/reference/labels-annotations-taints/#applyset-kubernetes-io-part-of>); the rest is in
//! annotations, written in the same request.

use serde_json::{Map, Value as Json};
use slipway_resource::{Address, Ownership};

use crate::applyset::ApplySet;
use crate::object::{map_at, text};

/// The name under which Slipway owns fields.
pub const MANAGER: &str = "slipway";

/// The label of the members of an ApplySet.
pub const PART_OF: &str = "applyset.kubernetes.io/part-of";
/// The annotation with the address.
pub const ADDRESS: &str = "slipway.dev/address";
/// The annotation with the cluster's name, on members; a label, too, on the parent.
pub const CLUSTER: &str = "slipway.dev/cluster";
/// The annotation with the cluster's unique id.
pub const UID: &str = "slipway.dev/cluster-uid";
/// The annotation of objects that existed before Slipway managed them: Slipway gives up their fields and does
/// not delete them.
pub const FOUND: &str = "slipway.dev/found";
/// The annotation with the deletion propagation, where it is not the usual one.
pub const PROPAGATION: &str = "slipway.dev/propagation";

const ANNOTATIONS: [&str; 5] = [ADDRESS, CLUSTER, FOUND, PROPAGATION, UID];

/// The marks beside the label.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// The cluster's unique id.
    pub uid: String,
    /// The cluster's name.
    pub cluster: String,
    /// The address in the cluster.
    pub address: Option<Address>,
    /// Whether the object was there before.
    pub found: bool,
    /// How dependents go.
    pub propagation: Option<String>,
}

impl Marks {
    /// The marks of a live object; empty for an object that Slipway does not manage.
    pub(crate) fn read(live: &Json) -> Self {
        let annotation = |name: &str| {
            live.pointer("/metadata/annotations").and_then(|annotations| annotations.get(name)?.as_str())
        };
        Self {
            uid: annotation(UID).unwrap_or_default().to_owned(),
            cluster: annotation(CLUSTER).unwrap_or_default().to_owned(),
            address: annotation(ADDRESS).and_then(|address| address.parse().ok()),
            found: annotation(FOUND) == Some("true"),
            propagation: annotation(PROPAGATION).map(str::to_owned),
        }
    }

    /// Writes an ownership into a manifest.
    pub(crate) fn write(&self, manifest: &mut Json, ownership: &Ownership) {
        let id = ApplySet::of(&ownership.uid).id;
        if let Some(labels) = map_at(manifest, &["metadata", "labels"]) {
            labels.insert(PART_OF.to_owned(), id.into());
        }
        if let Some(annotations) = map_at(manifest, &["metadata", "annotations"]) {
            annotations.insert(ADDRESS.to_owned(), ownership.address.to_string().into());
            annotations.insert(CLUSTER.to_owned(), ownership.cluster.as_str().into());
            annotations.insert(UID.to_owned(), ownership.uid.as_str().into());
            if self.found {
                annotations.insert(FOUND.to_owned(), "true".into());
            }
            if let Some(propagation) = &self.propagation {
                annotations.insert(PROPAGATION.to_owned(), propagation.as_str().into());
            }
        }
    }
}

/// Takes the marks off, with the maps that hold nothing else.
pub(crate) fn strip(manifest: &mut Json) {
    let Some(metadata) = manifest.get_mut("metadata").and_then(Json::as_object_mut) else { return };
    drop_keys(metadata, "labels", &[PART_OF]);
    drop_keys(metadata, "annotations", &ANNOTATIONS);
}

fn drop_keys(metadata: &mut Map<String, Json>, map: &str, keys: &[&str]) {
    let Some(entries) = metadata.get_mut(map).and_then(Json::as_object_mut) else { return };
    let before = entries.len();
    entries.retain(|key, _| !keys.contains(&key.as_str()));
    if entries.is_empty() && before > 0 {
        metadata.remove(map);
    }
}

/// The names of the field managers of an object, for messages.
pub(crate) fn managers(live: &Json) -> String {
    let entries = live.pointer("/metadata/managedFields").and_then(Json::as_array).into_iter().flatten();
    let mut names: Vec<&str> = entries.filter_map(|entry| text(entry, "/manager")).collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use slipway_resource::ClusterUid;

    use super::*;

    #[test]
    fn marks_are_written_read_and_taken_off() {
        let ownership = Ownership {
            uid: ClusterUid::new("u-1"),
            cluster: "demo".to_owned(),
            address: Address::new("kubernetes_object", "ConfigMap/default/a"),
        };
        let plain =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {"x": "y"}}});
        let mut marked = plain.clone();
        let marks = Marks { found: true, propagation: Some("Foreground".to_owned()), ..Marks::default() };
        marks.write(&mut marked, &ownership);
        let read = Marks::read(&marked);
        assert_eq!(read.address, Some(ownership.address.clone()));
        assert_eq!(
            (read.uid.as_str(), read.found, read.propagation.as_deref()),
            ("u-1", true, Some("Foreground"))
        );
        assert_eq!(marked["metadata"]["labels"][PART_OF], ApplySet::of(&ownership.uid).id);
        strip(&mut marked);
        assert_eq!(marked, plain);
    }
}
