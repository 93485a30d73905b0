//! From the example specs to clouds that hold them.

use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use slipway_provider_sim::Sim;
use slipway_provider_sim::inspect::Inventory;
use slipway_resource::provider::{Catalog, ExpandRequest, Expansion, SessionRequest};
use slipway_resource::validate::misfits;
use slipway_resource::{Digest, Provider, ProviderError, Value};

use crate::harness::{changes, open};

fn specs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../specs")
}

/// Every example cluster, as Expand receives it, and some that set what the examples leave out.
fn clusters() -> Vec<(String, Json)> {
    let mut clusters = examples();
    for (name, endpoint) in [
        ("given", json!({"given": {"host": "api.example.com", "port": 8443}})),
        (
            "virtual",
            json!({"virtualIp": {"address": "10.0.0.9", "mode": "bgp", "interface": "eth1", "port": 6443}}),
        ),
        ("elected", json!({"elected": {}})),
    ] {
        let mut cluster = rich();
        cluster["controlPlane"]["endpoint"] = endpoint;
        cluster["controlPlane"]["dns"] = json!({"kind": "private", "zone": "example.com"});
        cluster["name"] = "demo.example.com".into();
        clusters.push((name.to_owned(), cluster));
    }
    clusters.push(("rich".to_owned(), rich()));
    clusters
}

/// The largest example, with a value in nearly every field.
fn rich() -> Json {
    let mut cluster = cluster("ha-private");
    cluster["region"] = "sim-2".into();
    let component = || {
        json!({"extraArgs": {"v": "2"}, "environment": {"A": "b"}, "featureGates": {"X": true}, "logLevel": 3,
            "resources": {"cpuRequest": "1", "cpuLimit": "2", "memoryRequest": "1Gi", "memoryLimit": "2Gi"},
            "image": "registry.example/x"})
    };
    for name in ["apiServer", "controllerManager", "scheduler", "proxy", "kubelet", "etcd", "cloudController"]
    {
        cluster["components"][name] = component();
    }
    cluster["containerRuntime"] = json!({"version": "2.1.0", "sandboxImage": "pause:3", "extraConfig": "a = 1",
        "registryMirrors": [{"registry": "docker.io", "endpoints": ["https://mirror"]}]});
    cluster["assets"] = json!({"imageRegistry": "registry.example", "fileRepository": "https://files",
        "programs": {"mirrors": ["https://mirror"], "files": [{"name": "kubelet", "architecture": "arm64",
            "version": "1.35.2", "path": "kubelet", "sha256": "0".repeat(64)}]}});
    cluster["egressProxy"] = json!({"url": "http://proxy:3128", "exclusions": ["10.0.0.0/8"]});
    cluster["audit"] = json!({"enabled": true, "policy": {"rules": [{"level": "Metadata"}]}, "maxAgeDays": 1,
        "maxBackups": 2, "maxSizeMebibytes": 3});
    cluster["encryption"] = json!({"atRest": {"provider": "secretbox", "key": {"env": "KEY"},
        "kmsEndpoint": "unix:///x", "resources": ["secrets", "configmaps"]}});
    cluster["authentication"] = json!({"anonymousHealthChecks": true, "openIdConnect": [{
        "issuer": "https://issuer", "clientId": "id", "usernameClaim": "email", "usernamePrefix": "u:",
        "groupsClaim": "groups", "groupsPrefix": "g:", "requiredClaims": {"hd": "example.com"}}]});
    cluster["serviceAccounts"] = json!({"issuer": "https://tokens", "discoveryStore": "https://bucket",
        "additionalAudiences": ["aud"]});
    let volume = || {
        json!({"device": "/dev/xvdb", "mountPath": "/data", "sizeGiB": 30, "type": "fast", "iops": 4000,
            "throughput": 200, "encrypted": true, "key": "key-1", "deleteOnTermination": false})
    };
    let main = &mut cluster["etcd"][0];
    main["version"] = "3.6.0".into();
    main["cpuRequest"] = "200m".into();
    main["memoryRequest"] = "100Mi".into();
    main["backups"]["store"] = "s3://backups".into();
    main["members"][0]["volume"] = volume();
    let balancer = &mut cluster["controlPlane"]["endpoint"]["loadBalancer"];
    balancer["certificate"] = "cert-1".into();
    balancer["tlsPolicy"] = "strict".into();
    balancer["additionalSecurityGroups"] = json!(["sg-1"]);
    cluster["addons"].as_array_mut().unwrap().push(json!({"name": "own", "enabled": true, "version": "1.0",
        "replicas": 3, "minimumAvailable": "50%", "config": {"a": {"b": 1}},
        "manifest": {"url": {"url": "https://own", "sha256": "0123"}}}));
    let pool = cluster["pools"].as_array_mut().unwrap().last_mut().unwrap();
    pool["kubelet"] = json!({"maxPods": 50, "kubeReserved": {"cpu": "100m"}, "systemReserved": {"cpu": "100m"},
        "evictionHard": {"memory.available": "5%"}, "evictionSoft": {"memory.available": "10%"},
        "evictionSoftGracePeriod": {"memory.available": "1m"}, "cpuManagerPolicy": "static",
        "topologyManagerPolicy": "restricted", "imageGCHighThresholdPercent": 80,
        "imageGCLowThresholdPercent": 70, "shutdownGracePeriod": "1m", "serializeImagePulls": false,
        "serverTLSBootstrap": true, "failSwapOn": true, "allowedUnsafeSysctls": ["net.*"],
        "featureGates": {"Y": false}, "extraConfig": {"z": 1}});
    pool["volumes"] = json!([volume()]);
    pool["rootVolume"] = volume();
    pool["mixedInstances"] = json!({"machineTypes": ["m.large", "m.small"], "onDemandBase": 1,
        "onDemandPercentageAboveBase": 50, "spotPools": 2, "spotAllocationStrategy": "cheapest"});
    pool["spot"] = json!({"maxPrice": "0.10"});
    pool["warmPool"] = json!({"minSize": 1, "maxSize": 2, "lifecycleHook": true});
    pool["additionalSecurityGroups"] = json!(["sg-2"]);
    pool["taints"] = json!([{"key": "a", "value": "b", "effect": "NoSchedule"}]);
    pool["userData"] = json!([{"name": "x", "type": "shellScript", "content": "#!/bin/sh"}]);
    pool["packages"] = json!(["htop"]);
    pool["nodeFiles"] = json!({"files": [{"name": "f", "path": "/f", "content": "c", "mode": "0600"}],
        "hooks": [{"name": "h.service", "content": "u", "timing": "afterKubelet", "enabled": true}]});
    pool["hosts"] = json!({"inventory": "rack", "matchLabels": {"a": "b"},
        "addresses": [{"name": "h", "address": "10.0.0.1", "port": 22, "user": "root"}]});
    pool["providerConfig"] = json!({"tenancy": "dedicated"});
    pool["cloudLabels"] = json!({"team": "x"});
    cluster
}

/// Every example cluster.
fn examples() -> Vec<(String, Json)> {
    let mut names: Vec<String> = std::fs::read_dir(specs())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "schema")
        .collect();
    names.sort();
    names.into_iter().map(|name| (name.clone(), cluster(&name))).collect()
}

fn cluster(name: &str) -> Json {
    let loaded = slipway_spec::load(&[specs().join(name)]);
    assert!(loaded.is_valid(), "{name}: {:#?}", loaded.diagnostics);
    loaded.clusters[0].to_provider().unwrap()
}

async fn expand(cluster: Json) -> Result<Expansion, ProviderError> {
    let request = SessionRequest { config: Value::Null, region: None, offline: true };
    let session = Sim.open_session(request).await.unwrap();
    let catalog = session.catalog().await.unwrap();
    session.expand(ExpandRequest { cluster, catalog }).await
}

#[tokio::test]
async fn every_example_fits_the_schema_and_names_its_origins() {
    let schema = Sim.schema().await.unwrap();
    for (name, cluster) in clusters() {
        let expansion = expand(cluster).await.unwrap();
        let known: Vec<_> = expansion.resources.iter().map(|resource| &resource.address).collect();
        assert!(known.is_sorted(), "{name}");
        for resource in &expansion.resources {
            let kind = &schema.types[resource.address.kind()];
            let found = misfits(&kind.attributes, &resource.attributes);
            assert_eq!(found, [], "{name}: {}", resource.address);
            assert!(resource.origin(&slipway_resource::Path::root()).is_some());
            for other in resource.dependencies() {
                assert!(known.contains(&&other), "{name}: {} needs {other}", resource.address);
            }
        }
    }
}

#[tokio::test]
async fn the_same_cluster_gives_the_same_bytes() {
    for (_, cluster) in clusters() {
        let first = expand(cluster.clone()).await.unwrap();
        let second = expand(cluster).await.unwrap();
        assert_eq!(serde_json::to_string(&first).unwrap(), serde_json::to_string(&second).unwrap());
    }
}

#[tokio::test]
async fn what_was_applied_plans_no_change_and_goes_in_reverse() {
    for (name, cluster) in clusters() {
        let directory = tempfile::tempdir().unwrap();
        let harness = open(directory.path(), json!({})).await;
        let resources = expand(cluster).await.unwrap().resources;
        let mut made = harness.create_all(&resources).await;
        assert_eq!(changes(&harness, &resources).await, [""; 0], "{name}");

        // Resources to which no other one refers are deleted first; resources that are only used stay.
        made.retain(|address, _| {
            resources
                .iter()
                .any(|resource| resource.address == *address && resource.lifecycle.existing.is_none())
        });
        while !made.is_empty() {
            let (address, id) = made
                .iter()
                .find(|(address, _)| {
                    resources.iter().all(|other| {
                        !made.contains_key(&other.address) || !other.dependencies().contains(address)
                    })
                })
                .map(|(address, (id, _))| (address.clone(), id.clone()))
                .unwrap();
            harness.delete(&address.to_string(), id.as_str()).await.unwrap();
            made.remove(&address);
        }
        let left = Inventory::open(directory.path()).unwrap();
        assert!(left.objects.is_empty() && left.machines.is_empty() && left.pods.is_empty(), "{name}");
    }
}

#[tokio::test]
async fn every_leaf_of_a_cluster_matters_or_is_spoken_of() {
    // The provider's own settings are not the cluster's, and the cluster's settings of nodes are its pools' by then. Which
    // fields must be understood says something of them, and nothing to a provider that knows them.
    let elsewhere = ["/provider/", "/kubelet/", "/sysctls/", "/nodeFiles/", "/mustUnderstand/"];
    // Where the rest of the cluster was looked at already.
    let partly = ["given", "virtual", "elected"];
    let mut silent = Vec::new();
    let looked_at = |name: &str| name == "rich" || partly.contains(&name);
    for (name, cluster) in clusters().into_iter().filter(|(name, _)| looked_at(name)) {
        let before = expand(cluster.clone()).await.unwrap();
        let mut leaves = Vec::new();
        walk(&cluster, "", &mut leaves);
        for pointer in leaves {
            let pointer_with_end = format!("{pointer}/");
            if elsewhere.iter().any(|known| pointer_with_end.starts_with(known))
                || partly.contains(&name.as_str()) && !pointer.starts_with("/controlPlane/")
            {
                continue;
            }
            let mut changed = cluster.clone();
            for other in others(cluster.pointer(&pointer).unwrap()) {
                *changed.pointer_mut(&pointer).unwrap() = other;
                match expand(changed.clone()).await {
                    Ok(after) if after == before => {
                        silent.push(format!("{name}: {pointer}"));
                    }
                    _ => {}
                }
            }
        }
    }
    assert_eq!(silent, [""; 0]);
}

fn walk(json: &Json, at: &str, leaves: &mut Vec<String>) {
    match json {
        Json::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                let name = name.replace('~', "~0").replace('/', "~1");
                walk(value, &format!("{at}/{name}"), leaves);
            }
        }
        Json::Array(items) if !items.is_empty() => {
            for (index, value) in items.iter().enumerate() {
                walk(value, &format!("{at}/{index}"), leaves);
            }
        }
        _ => leaves.push(at.to_owned()),
    }
}

/// Values near this one, of which some may be refused.
fn others(json: &Json) -> Vec<Json> {
    match json {
        Json::Bool(value) => vec![(!value).into()],
        Json::Number(number) => vec![(number.as_u64().unwrap() + 1).into()],
        Json::String(text) => {
            let mut others = vec![format!("{text}x"), format!("{text}1")];
            if let Some((first, rest)) = text.split_once('.') {
                others.push(format!("{}.{rest}", first.parse::<u32>().map_or(9, |first| first + 1)));
            }
            others.into_iter().map(Json::String).collect()
        }
        _ => vec![],
    }
}

#[tokio::test]
async fn a_load_comes_beside_the_cluster() {
    let mut cluster = cluster("minimal");
    let plain = expand(cluster.clone()).await.unwrap().resources.len();
    cluster["provider"]["config"] = json!({"objects": {"count": 10, "chain": 5, "payloadBytes": 40, "tail": {"length": 3, "sleepMs": 5}}});
    let resources = expand(cluster).await.unwrap().resources;
    assert_eq!(resources.len(), plain + 13);
    let linked = resources
        .iter()
        .filter(|other| other.address.kind() == "sim_object" && !other.dependencies().is_empty());
    assert_eq!(linked.count(), 8 + 2);
}

#[tokio::test]
async fn a_cluster_of_another_form_is_refused() {
    let catalog = Catalog { digest: Digest::of_bytes(b""), data: Json::Null };
    let request = SessionRequest { config: Value::Null, region: None, offline: true };
    let session = Sim.open_session(request).await.unwrap();
    let refused = session.expand(ExpandRequest { cluster: json!({"name": "x"}), catalog }).await;
    assert_eq!(refused.unwrap_err().class.name(), "invalid");
}

#[test]
fn the_conformance_samples_have_the_minimal_example() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance.json");
    let mut samples: Json = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let expand = json!({ "cluster": cluster("minimal") });
    if std::env::var_os("UPDATE_SAMPLES").is_some() {
        samples["expand"] = expand.clone();
        std::fs::write(&path, serde_json::to_string_pretty(&samples).unwrap() + "\n").unwrap();
    }
    assert_eq!(samples["expand"], expand, "regenerate with UPDATE_SAMPLES=1");
}
