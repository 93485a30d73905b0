use super::*;

const MANIFEST: Manifest<'_> = Manifest {
    image: "registry.example.com/inventory:1",
    api_url: Some("https://inventory.example.com"),
    cert_manager: true,
};

#[test]
fn the_components_keep_the_rules_of_clusterctl() {
    let objects = objects(MANIFEST).unwrap();
    let of_kind = |kind: &str| objects.iter().filter(|object| object["kind"] == kind).count();
    assert_eq!(of_kind("Namespace"), 1, "clusterctl reads the namespace from it");
    assert_eq!(of_kind("CustomResourceDefinition"), 6);
    for object in &objects {
        assert_eq!(
            object["metadata"]["labels"]["cluster.x-k8s.io/provider"], "infrastructure-elemental",
            "{object}"
        );
    }
    let deployment = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
    let containers = &deployment["spec"]["template"]["spec"]["containers"];
    assert_eq!(containers.as_array().unwrap().len(), 1);
    assert_eq!(containers[0]["name"], "manager");
    assert!(
        containers[0]["args"].as_array().unwrap().contains(&json!("--api-url=https://inventory.example.com"))
    );
}

#[test]
fn definitions_have_both_versions_of_the_contract() {
    for object in
        objects(MANIFEST).unwrap().iter().filter(|object| object["kind"] == "CustomResourceDefinition")
    {
        for contract in ["cluster.x-k8s.io/v1beta1", "cluster.x-k8s.io/v1beta2"] {
            assert_eq!(object["metadata"]["labels"][contract], "v1beta1");
        }
    }
}

#[test]
fn the_repository_of_clusterctl_has_its_three_files() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ManifestArguments {
        image: MANIFEST.image.to_owned(),
        api_url: None,
        cert_manager: false,
        clusterctl: Some(folder.path().to_owned()),
    };
    let printed: Json = serde_yaml::from_str(&run(&arguments).unwrap()).unwrap();
    let components = PathBuf::from(printed["providers"][0]["url"].as_str().unwrap());
    assert!(
        components.ends_with("infrastructure-elemental/v0.1.0/infrastructure-components.yaml"),
        "{components:?}"
    );
    let text = fs::read_to_string(&components).unwrap();
    assert!(text.contains("--api-url=${MACHINE_INVENTORY_API_URL:=https://"), "{text}");
    let metadata: Json =
        serde_yaml::from_str(&fs::read_to_string(components.with_file_name("metadata.yaml")).unwrap())
            .unwrap();
    assert_eq!(metadata["releaseSeries"], json!([{"major": 0, "minor": 1, "contract": "v1beta2"}]));
    let template = fs::read_to_string(components.with_file_name("cluster-template.yaml")).unwrap();
    assert!(template.contains("${CLUSTER_NAME}"));
}
