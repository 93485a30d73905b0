use serde_json::{Map, Value as Json};

use super::{API_VERSION, defaults};
use crate::model::{Addon, Cluster, EtcdMember};

/// The documents that say everything a cluster is, with every default explicit: the `Cluster`, then its `NodePool`s
/// and the `Host`s that they select from.
/// Loading them gives the same cluster again. Add-ons of the profile that the cluster has not, as one of kOps, are in them and
/// turned off.
///
/// # Errors
/// A value that JSON cannot express, which the model has not.
pub fn full_documents(cluster: &Cluster) -> Result<Vec<Json>, serde_json::Error> {
    let mut spec = object(serde_json::to_value(cluster)?);
    // The last ones are of the state only.
    for field in ["pools", "hosts", "emulatedVersion", "turnedBackFrom"] {
        spec.remove(field);
    }
    spec.insert("addons".to_owned(), serde_json::to_value(addons(cluster))?);
    let metadata = take_metadata(&mut spec);
    let mut documents = vec![document("Cluster", metadata, spec)];
    for pool in &cluster.pools {
        let mut spec = object(serde_json::to_value(pool)?);
        let metadata = take_metadata(&mut spec);
        spec.insert("cluster".to_owned(), cluster.name.as_str().into());
        documents.push(document("NodePool", metadata, spec));
    }
    for host in &cluster.hosts {
        let mut spec = object(serde_json::to_value(host)?);
        let metadata = take_metadata(&mut spec);
        documents.push(document("Host", metadata, spec));
    }
    Ok(documents)
}

/// The add-ons in the order of names, those of the profile that the cluster has not turned off.
fn addons(cluster: &Cluster) -> Vec<Addon> {
    let mut addons = cluster.addons.clone();
    for addon in defaults::addons(cluster.profile) {
        if !addons.iter().any(|own| own.name == addon.name) {
            addons.push(Addon { enabled: false, ..addon });
        }
    }
    addons.sort_by(|left, right| left.name.cmp(&right.name));
    addons
}

/// The members that each etcd cluster has unless the documents list others.
pub(crate) fn usual_members(cluster: &Cluster) -> Vec<EtcdMember> {
    defaults::etcd_members(&cluster.pools, &cluster.zones)
}

fn object(value: Json) -> Map<String, Json> {
    match value {
        Json::Object(fields) => fields,
        _ => Map::new(),
    }
}

fn take_metadata(spec: &mut Map<String, Json>) -> Json {
    let fields =
        ["name", "labels"].into_iter().filter_map(|name| Some((name.to_owned(), spec.remove(name)?)));
    Json::Object(fields.collect())
}

fn document(kind: &str, metadata: Json, spec: Map<String, Json>) -> Json {
    serde_json::json!({ "apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec })
}
