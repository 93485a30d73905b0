//! Fields of the spec that machines do not carry out yet.

use slipway_aws_model::catalog::Catalog;
use slipway_bootstrap::boot::NOT_CARRIED_OUT;

use crate::harness::expanded;
use crate::kops;

/// The fields of notes, each with the names that its note has.
fn named(cluster: &str, workers: &str) -> Vec<(String, Vec<String>)> {
    let notes = expanded(&kops(cluster, workers), &Catalog::offline("eu-west-1")).unwrap().notes;
    let names = |message: &str| {
        let names = message.strip_prefix(NOT_CARRIED_OUT)?;
        Some(names.split(", ").map(str::to_owned).collect())
    };
    notes.into_iter().filter_map(|note| Some((note.field.clone(), names(&note.message)?))).collect()
}

#[test]
fn one_note_names_the_fields_of_a_pool() {
    let workers = "packages: [htop]\n\
                   volumes: [{ device: /dev/xvdx, size: 30 }]\n\
                   volumeMounts: [{ device: /dev/xvdx, filesystem: ext4, path: /var/lib/data }]\n";
    let notes = named("", workers);
    let of_pools: Vec<_> = notes.iter().filter(|(field, _)| field.starts_with("pools[")).collect();
    let [(field, names)] = of_pools.as_slice() else { panic!("{notes:?}") };
    assert_eq!(field, "pools[nodes]");
    assert_eq!(names, &["packages", "volumes[].mountPath"]);
    assert!(!named("", "").iter().any(|(field, _)| field.starts_with("pools[")));
}

#[test]
fn another_note_names_the_fields_of_the_cluster() {
    let cluster = "assets: { fileRepository: 'https://files.example.com' }\n\
                   kubeScheduler: { image: 'registry.example.com/scheduler:1' }\n\
                   kubeProxy: { featureGates: { Some: 'true' } }\n";
    let of_cluster = |cluster: &str| {
        let notes: Vec<_> =
            named(cluster, "").into_iter().filter(|(field, _)| !field.starts_with("pools[")).collect();
        assert!(notes.len() <= 1, "{notes:?}");
        notes.into_iter().flat_map(|(_, names)| names).collect::<Vec<_>>()
    };
    let (before, after) = (of_cluster(""), of_cluster(cluster));
    for field in ["assets.fileRepository", "components.scheduler.image", "components.proxy.featureGates"] {
        let has = |names: &[String]| names.iter().any(|name| name == field);
        assert!(!has(&before) && has(&after), "{field}: {before:?} {after:?}");
    }
    // Machines run members of etcd on the volumes that Slipway creates for them.
    assert!(!before.iter().any(|name| name.starts_with("etcd[main]")), "{before:?}");
}
