//! The objects inside a cluster: in the fixtures of this project, and in existing clusters.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use slipway_aws_model::catalog::Catalog;
use slipway_bootstrap::boot::NOT_CARRIED_OUT;
use slipway_spec::model::Cluster;

use crate::harness::{self, API, clusters, expanded, inside, spec};

/// The folders in a folder.
fn folders(parent: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(parent).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.join("spec.yaml").is_file());
    found.sort();
    assert!(!found.is_empty(), "{} has no specs", parent.display());
    found
}

/// The manifests inside a cluster, by the names of their resources.
fn manifests(cluster: &Cluster) -> BTreeMap<String, Json> {
    let objects = inside(cluster).0.into_iter();
    objects
        .map(|object| {
            (object.address.name().to_owned(), object.attributes.get("manifest").unwrap().to_json())
        })
        .collect()
}

/// One object a line, and the notes about add-ons.
fn shown(cluster: &Cluster) -> String {
    let mut text = String::new();
    for (name, manifest) in manifests(cluster) {
        writeln!(text, "{name} {manifest}").unwrap();
    }
    let notes = expanded(cluster, &Catalog::offline("")).unwrap().notes.into_iter();
    for note in notes.filter(|note| !note.message.starts_with(NOT_CARRIED_OUT)) {
        writeln!(text, "note {}: {}", note.field, note.message).unwrap();
    }
    text
}

/// `UPDATE_FIXTURES=1` writes them again.
#[test]
fn every_fixture_has_its_objects() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures/addons");
    for folder in folders(&fixtures) {
        let found = shown(&clusters(&folder.join("spec.yaml"))[0]);
        let file = folder.join("objects.txt");
        if std::env::var_os("UPDATE_FIXTURES").is_some() {
            std::fs::write(&file, &found).unwrap();
        }
        let expected = std::fs::read_to_string(&file).unwrap_or_default();
        for (found, expected) in found.lines().zip(expected.lines()) {
            assert_eq!(found, expected, "{}", folder.display());
        }
        assert_eq!(found.lines().count(), expected.lines().count(), "{}", folder.display());
    }
}

/// Every container with its image, its arguments and the names of its variables.
fn containers(pod: &Json) -> BTreeMap<String, (String, BTreeSet<String>, BTreeSet<String>)> {
    let texts = |value: &Json| -> BTreeSet<String> {
        value
            .as_array()
            .into_iter()
            .flatten()
            .map(|item| item.as_str().unwrap_or_default().to_owned())
            .collect()
    };
    let of = |container: &Json| {
        let mut arguments = texts(&container["args"]);
        arguments.extend(texts(&container["command"]));
        let variables = container["env"].as_array().into_iter().flatten();
        let variables = variables.map(|item| item["name"].as_str().unwrap().to_owned()).collect();
        let text = |name: &str| container[name].as_str().unwrap_or_default().to_owned();
        (text("name"), (text("image"), arguments, variables))
    };
    pod["containers"].as_array().into_iter().flatten().map(of).collect()
}

/// The same of what is expected.
fn expected_containers(facts: &Json) -> BTreeMap<String, (String, BTreeSet<String>, BTreeSet<String>)> {
    let texts = |value: &Json| -> BTreeSet<String> {
        value
            .as_array()
            .into_iter()
            .flatten()
            .map(|item| item.as_str().unwrap_or_default().to_owned())
            .collect()
    };
    let of = |(name, container): (&String, &Json)| {
        let mut arguments = texts(&container["args"]);
        arguments.extend(texts(&container["command"]));
        let variables =
            container["env"].as_object().into_iter().flat_map(|env| env.keys().cloned()).collect();
        (name.clone(), (container["image"].as_str().unwrap_or_default().to_owned(), arguments, variables))
    };
    facts["containers"].as_object().into_iter().flatten().map(of).collect()
}

/// Add-ons that Slipway knows, as known clusters call them.
const KNOWN: [&str; 8] = [
    "aws-cloud-controller",
    "aws-ebs-csi-driver",
    "coredns",
    "storage-aws",
    "node-termination-handler",
    "cluster-autoscaler",
    "metrics-server",
    "networking.flannel",
];

/// The cases of `SLIPWAY_CASES`: the same objects, no more and no fewer, with the same containers.
#[test]
fn known_clusters_have_the_same_objects() {
    let Some(cases) = std::env::var_os("SLIPWAY_CASES").map(PathBuf::from) else {
        println!("SLIPWAY_CASES names no folder: there is nothing to compare with");
        return;
    };
    let key = |object: &Json| -> (String, String, String, String) {
        let text =
            |pointer: &str| object.pointer(pointer).and_then(Json::as_str).unwrap_or_default().to_owned();
        (text("/apiVersion"), text("/kind"), text("/metadata/namespace"), text("/metadata/name"))
    };
    for folder in folders(&cases) {
        let Ok(expected) = std::fs::read(folder.join("objects.json")) else { continue };
        let expected: Vec<Json> = serde_json::from_slice(&expected).unwrap();
        let found: BTreeMap<_, Json> = manifests(&clusters(&folder.join("spec.yaml"))[0])
            .into_values()
            .map(|manifest| (key(&manifest), manifest))
            .collect();
        let mut names = BTreeSet::new();
        for object in expected {
            let addon = object["addon"].as_str().unwrap();
            if !KNOWN.iter().any(|known| addon.starts_with(known)) {
                continue;
            }
            let text = |name: &str| object[name].as_str().unwrap_or_default().to_owned();
            let name = (text("apiVersion"), text("kind"), text("namespace"), text("name"));
            let ours =
                found.get(&name).unwrap_or_else(|| panic!("{}: there is no {name:?}", folder.display()));
            let pod = ours.pointer("/spec/template/spec").unwrap_or(&Json::Null);
            assert_eq!(
                containers(pod),
                expected_containers(&object["facts"]),
                "{} {name:?}",
                folder.display()
            );
            names.insert(name);
        }
        let extra: Vec<_> = found.keys().filter(|name| !names.contains(*name)).collect();
        assert!(extra.is_empty(), "{}: {extra:?} are not expected", folder.display());
    }
}

/// Each object waits for the API, and says which field asks for it. The API waits for the machines that serve it.
#[test]
fn every_object_is_behind_the_api() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures/addons");
    for folder in folders(&fixtures) {
        let cluster = &clusters(&folder.join("spec.yaml"))[0];
        let objects = inside(cluster).0;
        assert!(objects.len() > 20, "{}", objects.len());
        for object in objects {
            let kinds: Vec<&str> = object.depends_on.iter().map(slipway_resource::Address::kind).collect();
            assert_eq!(kinds, [API]);
            let origin = object.origin(&slipway_resource::Path::root()).unwrap_or_default();
            assert!(!origin.is_empty(), "{}", object.address);
        }
    }
}

/// The address of the API in an expansion, and the types that it waits for.
fn api(name: &str, changes: &[(&str, &str)]) -> (String, BTreeSet<String>) {
    let resources = expanded(&spec(name, changes), &Catalog::offline("us-east-1")).unwrap().resources;
    let mut found = resources.iter().filter(|resource| resource.address.kind() == API);
    let api = found.next().unwrap();
    assert!(found.next().is_none(), "{}", api.address);
    let kinds = api.depends_on.iter().map(|before| before.kind().to_owned()).collect();
    let part = |name: &str| harness::shown(api.attributes.get(name).unwrap());
    (format!("{}:{}", part("host"), part("port")), kinds)
}

#[test]
fn the_api_is_where_its_machines_look_for_it() {
    let kinds = |kinds: &[&str]| kinds.iter().map(|kind| (*kind).to_owned()).collect::<BTreeSet<_>>();
    let all = ["aws_autoscaling_group", "aws_lb_listener", "aws_route53_record"];
    let record = "dns: { kind: public, zone: example.com }";
    assert_eq!(api("api", &[]), ("api.api.example.com:443".to_owned(), kinds(&all)));
    let (place, before) = api("api", &[(record, "dns: { kind: none }")]);
    assert_eq!(place, "aws_lb.api-api-example-com.dns_name:443");
    assert_eq!(before, kinds(&all[..2]), "the load balancer itself is a reference");
    // With a certificate of its own the load balancer ends TLS, and credentials do not get through.
    let certificate = "scheme: public, certificate: arn:aws:acm:us-east-1:123456789012:certificate/a";
    assert_eq!(api("api", &[("scheme: public", certificate)]).0, "api.api.example.com:8443");
    let given = "endpoint: { given: { host: kubernetes.example.com, port: 7443 } }";
    let (place, before) = api("api", &[("endpoint: { loadBalancer: { scheme: public } }", given)]);
    assert_eq!((place.as_str(), before), ("kubernetes.example.com:7443", kinds(&all[..1])));
}
