//! Clusters that have their Kubernetes version from one place: environments give one variable to several clusters.

use std::collections::BTreeMap;

use slipway_spec::model::Cluster;
use slipway_spec::source::{Location, Origin, SourceMap};

/// The field with the version of a cluster.
const VERSION: &str = "kubernetesVersion";

/// For each cluster, another cluster with a field at the place of its Kubernetes version.
pub(super) fn shared(clusters: &[Cluster], sources: &SourceMap) -> BTreeMap<String, String> {
    let version = |cluster: &Cluster| match sources.origin(&cluster.name, VERSION) {
        Origin::Written(place) => Some(key(place)),
        Origin::Default => None,
    };
    // By place: the first two clusters with a field there. More are not needed to find another one.
    let mut users: BTreeMap<(&str, u32, u32), Vec<&str>> =
        clusters.iter().filter_map(version).map(|place| (place, Vec::new())).collect();
    for cluster in clusters {
        let Some(fields) = sources.cluster(&cluster.name) else { continue };
        for path in fields.paths() {
            let Origin::Written(place) = fields.origin(path) else { continue };
            let Some(names) = users.get_mut(&key(place)) else { continue };
            if names.len() < 2 && !names.contains(&cluster.name.as_str()) {
                names.push(&cluster.name);
            }
        }
    }
    let other = |cluster: &Cluster| {
        let names = users.get(&version(cluster)?)?;
        let other = names.iter().find(|name| **name != cluster.name)?;
        Some((cluster.name.clone(), (*other).to_owned()))
    };
    clusters.iter().filter_map(other).collect()
}

/// The beginning of a place.
fn key(place: &Location) -> (&str, u32, u32) {
    (&*place.file, place.line, place.column)
}
