//! Laws for every cluster.

use std::collections::BTreeSet;
use std::path::PathBuf;

use slipway_aws_model::catalog::Catalog;
use slipway_aws_model::{plan, types};
use slipway_resource::provider::PlanItem;
use slipway_resource::validate::misfits;
use slipway_resource::{Path, Segment};
use slipway_spec::model::Cluster;

use crate::harness::{Resources, clusters, expanded, offline, specs};

/// Every spec there is: these tests', the project's fixtures of kOps, and those that `SLIPWAY_CASES` names.
fn every() -> Vec<Cluster> {
    let kops = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures/kops");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(specs()).unwrap().map(|entry| entry.unwrap().path()).collect();
    let folders = [Some(kops), std::env::var_os("SLIPWAY_CASES").map(PathBuf::from)];
    for folder in folders.into_iter().flatten() {
        let cases = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path().join("spec.yaml"));
        paths.extend(cases.filter(|path| path.is_file()));
    }
    paths.sort();
    let found: Vec<Cluster> = paths.iter().flat_map(|path| clusters(path)).collect();
    let on_aws: Vec<Cluster> = found.into_iter().filter(|cluster| cluster.provider.name == "aws").collect();
    assert!(on_aws.len() >= 10, "{}", on_aws.len());
    on_aws
}

#[test]
fn the_same_cluster_becomes_the_same_resources() {
    for cluster in every() {
        let once = |cluster: &Cluster| {
            serde_json::to_string(&expanded(cluster, &Catalog::offline("eu-west-1")).unwrap()).unwrap()
        };
        assert_eq!(once(&cluster), once(&cluster), "{}", cluster.name);
    }
}

#[test]
fn every_resource_fits_its_type_and_can_be_planned() {
    for cluster in every() {
        for resource in offline(&cluster).0 {
            let kind = types::get(resource.address.kind()).unwrap_or_else(|| panic!("{}", resource.address));
            let found = misfits(&kind.attributes, &resource.attributes);
            assert!(found.is_empty(), "{} {}: {}", cluster.name, resource.address, found[0]);
            let item = PlanItem {
                address: resource.address.clone(),
                desired: Some(resource.attributes),
                observed: None,
                last_applied: None,
            };
            plan::plan(&item)
                .unwrap_or_else(|error| panic!("{} {}: {error}", cluster.name, resource.address));
        }
    }
}

#[test]
fn every_reference_names_an_attribute_of_a_resource() {
    for cluster in every() {
        let Resources(resources) = offline(&cluster);
        let made: BTreeSet<_> = resources.iter().map(|resource| &resource.address).collect();
        for resource in &resources {
            for needed in &resource.depends_on {
                assert!(made.contains(needed), "{} waits for {needed}", resource.address);
            }
            resource.attributes.for_each_reference(&mut |reference| {
                assert!(made.contains(&reference.address), "{} {reference}", resource.address);
                let kind = types::get(reference.address.kind()).unwrap();
                let known = match reference.path.segments().first() {
                    Some(Segment::Key(name)) => name == "id" || kind.attributes.contains_key(name),
                    _ => false,
                };
                assert!(known, "{} refers to {reference}", resource.address);
            });
        }
    }
}

#[test]
fn every_resource_says_where_it_comes_from() {
    for cluster in every() {
        for resource in offline(&cluster).0 {
            let origin = resource.origin(&Path::root()).unwrap_or_default();
            assert!(!origin.is_empty(), "{}", resource.address);
        }
    }
}

#[test]
fn the_cluster_s_own_tags_are_on_everything_that_has_tags() {
    for cluster in every() {
        for resource in offline(&cluster).0 {
            let taggable =
                types::get(resource.address.kind()).is_some_and(|kind| kind.attributes.contains_key("tags"));
            let Some(tags) = resource.attributes.get("tags").filter(|_| taggable) else { continue };
            let tag = |name: &str| tags.get(name).and_then(slipway_resource::Value::as_str);
            assert_eq!(tag("KubernetesCluster"), Some(cluster.name.as_str()), "{}", resource.address);
            let owned = format!("kubernetes.io/cluster/{}", cluster.name);
            assert_eq!(tag(&owned), Some("owned"), "{}", resource.address);
        }
    }
}
