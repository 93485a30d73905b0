//! Images that the spec names.

use slipway_cluster_input::{Component, ComponentName, Profile};

use super::super::images_without_effect;
use super::*;

const IMAGE: &str = "registry.example.com:5000/kube-apiserver:v1.34.4@sha256:0f0f";

fn with_image(image: &str) -> ClusterInput {
    let mut cluster = cluster("elected: {}");
    let component =
        Component { image: Some(image.to_owned()), ..cluster.component(ComponentName::ApiServer) };
    cluster.components.insert(ComponentName::ApiServer, component);
    cluster
}

fn manifest(cluster: &ClusterInput) -> String {
    let resources = expand(cluster, &placement(3), &[]).unwrap().resources;
    format!("{:?}", find(&resources, "static_pod.cp-1/kube-apiserver").attributes)
}

#[test]
fn a_component_runs_the_image_of_the_spec_by_its_digest() {
    let cluster = with_image(IMAGE);
    assert!(manifest(&cluster).contains(IMAGE));
    assert_eq!(images_without_effect(&cluster), []);
    assert!(
        expand(&cluster, &placement(3), &[]).unwrap().notes.iter().all(|note| !note.field.contains("image"))
    );
}

#[test]
fn an_image_of_another_release_is_refused_and_not_used_on_the_way_back() {
    for image in [IMAGE.replace("v1.34.4", "v1.35.2"), IMAGE.replace(":v1.34.4", "")] {
        let cluster = with_image(&image);
        let fields: Vec<String> =
            images_without_effect(&cluster).into_iter().map(|unused| unused.field).collect();
        assert_eq!(fields, ["components.apiServer.image"]);
        assert!(!manifest(&cluster).contains(&image));
        let notes = expand(&cluster, &placement(3), &[]).unwrap().notes;
        assert!(notes.iter().any(|note| note.field == "components.apiServer.image"), "{notes:?}");
    }
    let mut kubeadm = with_image(IMAGE);
    kubeadm.profile = Profile::Kubeadm;
    assert_eq!(images_without_effect(&kubeadm).len(), 1);
}
