//! All resources that the core expands for a node are created: each fits its type, and the next plan is
//! empty.

use std::collections::BTreeMap;

use slipway_bootstrap::configuration::{Configuration, Detected};
use slipway_bootstrap::expand::{
    Discovered, Facts, InitSystem, Inputs, Phased, VirtualAddress, init, join_control_plane, join_worker,
};
use slipway_resource::provider::{LocateItem, LocateRequest};
use slipway_resource::{Address, Identity, Path, Secret, SecretText, Value};

use super::bench::Bench;

fn configuration() -> Configuration {
    let detected = Detected {
        hostname: "cp0".to_owned(),
        address: "192.0.2.10".parse().unwrap(),
        ..Detected::default()
    };
    let mut configuration = Configuration::new(&detected);
    let token =
        Secret { text: Some(SecretText::new("abcdef.0123456789abcdef")), ..Secret::new("flag:token") };
    configuration.node.bootstrap_tokens[0].token = Some(token);
    configuration
}

fn facts(init_system: InitSystem) -> Facts {
    Facts { hostname: "cp0".to_owned(), init_system, ..Facts::default() }
}

fn inside(resources: Vec<Phased>) -> Vec<Phased> {
    resources.into_iter().filter(|phased| !phased.desired.address.kind().starts_with("kubernetes_")).collect()
}

#[tokio::test]
async fn every_resource_of_every_expansion_can_be_planned() {
    let bench = Bench::new().await;
    let inputs = Inputs {
        discovered: Some(Discovered {
            server: "https://api.example.test:6443".to_owned(),
            authority: "PEM\n".to_owned(),
            client_certificate: None,
        }),
        etcd_endpoints: vec!["https://192.0.2.9:2379".to_owned()],
        virtual_address: Some(VirtualAddress { address: "192.0.2.40".parse().unwrap(), interface: None }),
        ..Inputs::default()
    };
    let mut joining = configuration();
    joining.join = Some(slipway_bootstrap::configuration::Join {
        discovery: slipway_bootstrap::configuration::Discovery::File(
            slipway_bootstrap::configuration::FileDiscovery { kubeconfig_path: "/tmp/d.conf".to_owned() },
        ),
        tls_bootstrap_token: Some(Secret::new("flag:token")),
        ca_cert_path: "/etc/kubernetes/pki/ca.crt".to_owned(),
        control_plane: true,
    });
    let mut worker = joining.clone();
    if let Some(join) = &mut worker.join {
        join.control_plane = false;
    }
    let mut planned = 0;
    for system in [InitSystem::Systemd, InitSystem::Openrc, InitSystem::None] {
        let facts = facts(system);
        let all = [
            init(&configuration(), &facts, &Inputs::default()).unwrap(),
            join_control_plane(&joining, &facts, &inputs).unwrap(),
            join_worker(&worker, &facts, &inputs).unwrap(),
        ];
        for phased in all.into_iter().flat_map(inside) {
            let address = phased.desired.address.to_string();
            let plan = bench.planned(&address, phased.desired.attributes).await;
            plan.unwrap_or_else(|error| panic!("{address}: {error}"));
            planned += 1;
        }
    }
    assert!(planned > 100, "{planned}");
}

/// Creates all resources of a first node that need no kubelet, and returns the desired attributes.
async fn made(bench: &Bench) -> Vec<(Address, Identity, Value)> {
    let resources = init(&configuration(), &facts(InitSystem::None), &Inputs::default()).unwrap();
    let mut made: BTreeMap<Address, Value> = BTreeMap::new();
    let mut wanted = Vec::new();
    for phased in inside(resources) {
        let address = phased.desired.address.clone();
        // Tests on real nodes create resources that need a kubelet.
        if ["service", "etcd_member", "kubelet_credentials"].contains(&address.kind()) {
            continue;
        }
        let mut attributes = phased.desired.attributes.resolve(&mut |reference| {
            made.get(&reference.address)
                .and_then(|value| value.at(&reference.path))
                .cloned()
                .unwrap_or_default()
        });
        attributes.set(&Path::key("ready_url"), Value::Null);
        let planned = bench.planned(&address.to_string(), attributes.clone()).await.unwrap();
        let desired = without_unknown(&planned);
        let applied = bench.create(&address.to_string(), desired).await;
        let applied = applied.unwrap_or_else(|error| panic!("{address}: {error}"));
        made.insert(address.clone(), applied.attributes);
        wanted.push((address, applied.identity.unwrap(), attributes));
    }
    assert!(wanted.len() > 20, "{}", wanted.len());
    wanted
}

#[tokio::test]
async fn a_first_node_is_made_and_stays_as_it_is() {
    let bench = Bench::new().await;
    let wanted = made(&bench).await;
    for (address, identity, attributes) in &wanted {
        let changes = bench.changes(&address.to_string(), identity.as_str(), attributes).await;
        assert_eq!(changes, [""; 0], "{address}");
    }
    assert_eq!(bench.discover().await.len(), wanted.len());
    for (address, identity, _) in wanted.iter().rev() {
        bench.delete(&address.to_string(), identity.as_str()).await.unwrap();
    }
    for folder in ["/etc/kubernetes/pki", "/etc/kubernetes/manifests", "/var/lib/kubelet"] {
        let files = walk(&bench.path(folder));
        assert!(files.is_empty(), "{folder}: {files:?}");
    }
}

#[tokio::test]
async fn what_another_tool_made_of_the_same_is_found_and_nothing_is_to_be_changed() {
    let bench = Bench::new().await;
    let wanted = made(&bench).await;
    // Without the ledger, the objects look like those of another tool.
    std::fs::remove_dir_all(bench.path("/var/lib/slipway")).unwrap();
    let items: Vec<LocateItem> = wanted
        .iter()
        .map(|(address, _, desired)| LocateItem {
            address: address.clone(),
            desired: desired.clone(),
            existing: None,
        })
        .collect();
    let located = bench.session.locate(LocateRequest { cluster: "a".to_owned(), items }).await.unwrap();
    for (found, (address, identity, attributes)) in located.iter().zip(&wanted) {
        assert_eq!(found.identity(), Some(identity), "{address}");
        assert!(!format!("{found:?}").contains("PRIVATE KEY"), "{address}");
        let changes = bench.differences(address, &found.attributes, attributes, None).await;
        assert_eq!(changes, [""; 0], "{address}, as it was found");
        let changes = bench.changes(&address.to_string(), identity.as_str(), attributes).await;
        assert_eq!(changes, [""; 0], "{address}, as it is read later");
    }
    assert!(bench.discover().await.is_empty());
    assert!(!bench.path("/var/lib/slipway/owned").exists(), "looking writes nothing");
}

fn without_unknown(value: &Value) -> Value {
    match value {
        Value::Unknown => Value::Null,
        Value::Map(entries) => {
            Value::map(entries.iter().map(|(key, value)| (key.clone(), without_unknown(value))))
        }
        other => other.clone(),
    }
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files = Vec::new();
    for entry in entries.flatten() {
        if entry.path().is_dir() {
            files.extend(walk(&entry.path()));
        } else {
            files.push(entry.path());
        }
    }
    files
}
