use slipway_trust::{Mode, Settings};

use super::*;

const BASE: &str = "\
apiVersion: slipway.dev/v1alpha1
kind: Cluster
metadata: {name: base}
spec:
  provider: {name: sim}
  region: sim-1
  kubernetesVersion: 1.35.2
  zones: [sim-1a]
  encryption: {atRest: {provider: secretbox, key: {file: keys/at-rest.key}}}
  addons: [{name: own, manifest: {file: addons/own.yaml}}]
---
apiVersion: slipway.dev/v1alpha1
kind: NodePool
metadata: {name: control-plane}
spec: {role: controlPlane, machineType: sim.medium}
";

const ENVIRONMENT: &str = "\
apiVersion: slipway.dev/v1alpha1
kind: Environment
metadata: {name: prod}
spec:
  bases: [../../base]
  patches:
  - target: {kind: Cluster, name: base}
    merge: {metadata: {name: prod}}
";

/// The manifest of the add-on of the spec.
fn manifest_of(cluster: &Cluster) -> Option<Manifest> {
    let own = cluster.addons.iter().find(|addon| addon.name == "own");
    own.and_then(|addon| addon.manifest.clone())
}

#[test]
fn files_of_a_base_are_relative_to_the_base() {
    let folder = tempfile::tempdir().unwrap();
    let root = std::fs::canonicalize(folder.path()).unwrap();
    for (file, text) in [("base/cluster.yaml", BASE), ("environments/prod/environment.yaml", ENVIRONMENT)] {
        let file = root.join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    let policy = Policy::new(Settings::default(), Mode::Untrusted).elsewhere();
    let files = [root.join("environments/prod")];

    // The base is in no folder of the spec, but in its repository.
    let refused = Specs::read(&policy, &files).unwrap_err();
    let Error::Specs(problems) = &refused else { panic!("{refused:?}") };
    assert_eq!(problems[0].code.id, "TRUST0001");
    assert_eq!(problems[0].location.as_ref().map(|place| place.line), Some(5));

    let spec =
        Specs::read_with_bases(&policy, std::slice::from_ref(&root), &files).unwrap().clusters.remove(0);
    assert_eq!(spec.cluster.name, "prod");
    let key = spec.cluster.encryption.at_rest.as_ref().and_then(|at_rest| at_rest.key.clone());
    assert_eq!(key, Some(SecretReference::File("../../base/keys/at-rest.key".to_owned())));
    let here = root.join("base/addons/own.yaml").display().to_string();
    assert_eq!(manifest_of(&spec.cluster), Some(Manifest::File(here)));
    assert_eq!(manifest_of(&spec.planned()), Some(Manifest::File("base/addons/own.yaml".to_owned())));

    // The folder of the base is one of the spec now; others of the repository are not.
    let may_name = |path: &str| policy.file(&spec.tree, "a file", &root.join(path)).is_ok();
    assert!(may_name("base/keys/at-rest.key") && !may_name("other/key"));
}

#[test]
fn a_file_that_a_variable_names_is_relative_to_the_file_with_its_value() {
    let folder = tempfile::tempdir().unwrap();
    let root = std::fs::canonicalize(folder.path()).unwrap();
    let base = BASE
        .replace("name: base", "name: {fromVariable: cluster}")
        .replace("keys/at-rest.key", "{fromVariable: key}")
        .replace("addons/own.yaml", "{fromVariable: manifest}");
    let variables = "\
apiVersion: slipway.dev/v1alpha1
kind: Environment
metadata: {name: base}
spec:
  bases: [cluster.yaml]
  variables:
  - {name: cluster, type: string}
  - {name: key, type: string, default: keys/shared.key}
  - {name: manifest, type: string}
";
    // The values are on other lines than the references to them.
    let environment = "\
apiVersion: slipway.dev/v1alpha1
kind: Environment
metadata: {name: prod}
spec:
  bases: [../../base]
  values:
    cluster: prod
    manifest: own.yaml
";
    for (file, text) in [
        ("base/cluster.yaml", &*base),
        ("base/environment.yaml", variables),
        ("environments/prod/environment.yaml", environment),
    ] {
        let file = root.join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    let policy = Policy::new(Settings::default(), Mode::Untrusted).elsewhere();
    let files = [root.join("environments/prod")];
    let spec = Specs::read_with_bases(&policy, &[root.join("base")], &files).unwrap().clusters.remove(0);
    assert_eq!(spec.folder(), root.join("environments/prod"));
    let key = spec.cluster.encryption.at_rest.as_ref().and_then(|at_rest| at_rest.key.clone());
    assert_eq!(key, Some(SecretReference::File("../../base/keys/shared.key".to_owned())));
    let here = root.join("environments/prod/own.yaml").display().to_string();
    assert_eq!(manifest_of(&spec.cluster), Some(Manifest::File(here)));
}

#[test]
fn fields_of_one_variable_share_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let root = std::fs::canonicalize(folder.path()).unwrap();
    std::fs::create_dir(root.join("base")).unwrap();
    std::fs::write(root.join("base/cluster.yaml"), BASE).unwrap();
    let read = |pool: &str| {
        let environment = format!(
            "apiVersion: slipway.dev/v1alpha1
kind: Environment
metadata: {{name: prod}}
spec:
  bases: [base]
  variables: [{{name: version, type: string, default: 1.35.2}}]
  patches:
  - target: {{kind: Cluster, name: base}}
    merge: {{spec: {{kubernetesVersion: {{fromVariable: version}}}}}}
  - target: {{kind: NodePool, name: control-plane}}
    merge: {{spec: {{kubernetesVersion: {pool}}}}}
"
        );
        std::fs::write(root.join("environment.yaml"), environment).unwrap();
        let policy = Policy::new(Settings::default(), Mode::Own).elsewhere();
        Specs::read(&policy, &[root.join("environment.yaml")]).unwrap().clusters.remove(0)
    };
    let shared = read("{fromVariable: version}");
    let other = Some("pools[control-plane].kubernetesVersion");
    assert_eq!(shared.shares_place("kubernetesVersion"), other);
    assert_eq!(read("1.35.2").shares_place("kubernetesVersion"), None);
}
