//! Fields of the spec that machines do not carry out yet.

use slipway_aws_model::catalog::Catalog;
use slipway_bootstrap::boot::NOT_CARRIED_OUT;
use slipway_kops::KopsReader;
use slipway_resource::provider::ExpandNote;
use slipway_spec::load::load_files;
use slipway_spec::source::SourceFile;

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
fn machines_carry_out_the_first_example_of_the_guide_and_have_a_pod_network() {
    let guide = include_str!("../../../../../docs/guide/aws.md");
    let example = guide.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let notes = |text: &str| {
        let file = SourceFile::new("cluster.yaml", text.to_owned());
        let loaded = load_files(vec![file], &[&KopsReader::default()]);
        assert!(loaded.is_valid(), "{}", slipway_spec::diagnostic::render_all(&loaded.diagnostics));
        let cluster = loaded.clusters.into_iter().next().unwrap();
        expanded(&cluster, &Catalog::offline("eu-central-1")).unwrap().notes
    };
    let of_example = notes(example);
    let is_lack =
        |note: &ExpandNote| note.message.starts_with(NOT_CARRIED_OUT) || note.field == "network.cni";
    assert!(!of_example.iter().any(is_lack), "{of_example:?}");
    // What the two fields are for.
    let fields = ["  network: { cni: { name: flannel } }\n", "  etcd: [{ name: main }]\n"];
    let by_default = notes(&fields.iter().fold(example.to_owned(), |text, field| text.replace(field, "")));
    assert!(by_default.iter().any(|note| note.field == "network.cni"), "{by_default:?}");
    let etcd = by_default.iter().find(|note| note.field == "etcd[events]").unwrap();
    assert!(etcd.message.ends_with("etcd[events] (its volumes are created and not used)"), "{etcd:?}");
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
