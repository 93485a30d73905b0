use serde_json::Value as Json;
use slipway_cluster_input::{API_VERSION, ClusterInput};

use crate::model::Cluster;

/// The clusters of all examples, and of one that sets every field.
fn clusters() -> Vec<Cluster> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let mut places: Vec<String> =
        ["base.yaml", "hosts.yaml"].map(|file| format!("{root}/fixtures/leaves/{file}")).to_vec();
    let examples = std::fs::read_dir(format!("{root}/specs")).unwrap().map(|entry| entry.unwrap().path());
    places.extend(examples.filter(|path| !path.ends_with("schema")).map(|path| path.display().to_string()));
    let load = |place: String| {
        let loaded = crate::load(&[place.clone().into()]);
        assert!(!loaded.clusters.is_empty(), "{place}: {:#?}", loaded.diagnostics);
        loaded.clusters
    };
    places.into_iter().flat_map(load).collect()
}

#[test]
fn providers_receive_every_field_under_the_name_that_it_has_in_the_spec() {
    for cluster in clusters() {
        let mut message = cluster.to_provider().unwrap();
        let fields = message.as_object_mut().unwrap();
        assert_eq!(fields.remove("apiVersion"), Some(Json::from(API_VERSION)));
        let must = fields.remove("mustUnderstand").unwrap();
        let must: Vec<&str> = must.as_array().unwrap().iter().filter_map(Json::as_str).collect();
        assert!(must.contains(&"/controlPlane/access") && must.contains(&"/encryption"), "{must:?}");
        let mut known = serde_json::to_value(&cluster).unwrap();
        // Plans are made with gates and with what leaves the state, not resources.
        known["controlPlane"].as_object_mut().unwrap().remove("gates");
        known.as_object_mut().unwrap().remove("removed");
        assert_eq!(message, known);
    }
}

#[test]
fn what_is_sent_is_read_as_it_was_and_has_no_unknown_field() {
    for cluster in clusters() {
        let message = cluster.to_provider().unwrap();
        let reading = ClusterInput::read(&message).unwrap();
        assert_eq!(reading.unknown, []);
        assert_eq!(reading.cluster.to_json().unwrap(), message);
    }
}
