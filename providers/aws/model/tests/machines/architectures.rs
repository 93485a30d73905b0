//! Machine types and images of another architecture than their pool.

use slipway_aws_model::catalog::{Catalog, Image, InstanceType};
use slipway_bootstrap::boot::OTHER_ARCHITECTURE;
use slipway_spec::model::{Architecture, Cluster};

use crate::harness::expanded;
use crate::kops;

/// A cluster whose pools are all of one architecture, whatever machines they have.
fn amd64(workers: &str) -> Cluster {
    let mut cluster = kops("", workers);
    cluster.pools.iter_mut().for_each(|pool| pool.architecture = Architecture::Amd64);
    cluster
}

/// What the notes about architectures say of the workers.
fn named(workers: &str, catalog: &Catalog) -> Vec<String> {
    let notes = expanded(&amd64(workers), catalog).unwrap().notes.into_iter();
    let about = notes.filter(|note| note.field.starts_with("pools[nodes]."));
    about.filter_map(|note| note.message.strip_prefix(OTHER_ARCHITECTURE).map(str::to_owned)).collect()
}

#[test]
fn types_of_another_architecture_are_named_by_their_family() {
    let offline = Catalog::offline("eu-west-1");
    let named = |workers: &str| named(workers, &offline);
    let graviton = named("machineType: m7g.large\n");
    assert_eq!(graviton, ["m7g.large has processors of arm64, and the pool has `architecture: amd64`"]);
    let mixed = named("mixedInstancesPolicy: { instances: [m6i.large, t4g.large] }\n");
    assert_eq!(mixed, ["t4g.large has processors of arm64, and the pool has `architecture: amd64`"]);
    for silent in ["m6i.large", "z99g.large", "sim.large"] {
        assert!(named(&format!("machineType: {silent}\n")).is_empty(), "{silent}");
    }
}

#[test]
fn what_aws_says_of_a_type_and_of_an_image_comes_first() {
    let of = |architecture: &str| InstanceType {
        architectures: vec![architecture.to_owned()],
        ..InstanceType::default()
    };
    let mut catalog = Catalog::offline("eu-west-1");
    catalog.instance_types.insert("z99g.large".to_owned(), of("arm64"));
    assert_eq!(named("machineType: z99g.large\n", &catalog).len(), 1);
    catalog.instance_types.insert("z99g.large".to_owned(), of("x86_64"));
    assert!(named("machineType: z99g.large\n", &catalog).is_empty());
    let image = Image { id: "ami-1".to_owned(), architecture: "arm64".to_owned(), ..Image::default() };
    catalog.images.insert("ubuntu".to_owned(), image);
    let found = named("machineType: z99g.large\n", &catalog);
    assert_eq!(found, ["the image ami-1 is for arm64, and the pool has `architecture: amd64`"]);
}

#[test]
fn a_type_without_a_size_is_named() {
    let notes = expanded(&amd64("machineType: m6i\n"), &Catalog::offline("eu-west-1")).unwrap().notes;
    let note = notes.iter().find(|note| note.field == "pools[nodes].machineType").unwrap();
    assert!(note.message.contains("`m6i` is not the name of an instance type"), "{}", note.message);
}
