//! A controller in a Kubernetes cluster: its manifest, its rights and its objects, with a real API server.
#![cfg(test)]

mod cluster;
mod objects;
#[path = "../git/repository.rs"]
#[allow(dead_code, reason = "these tests need less of it than those of Git")]
mod repository;
mod world;

use std::collections::BTreeSet;

use serde_json::json;
use slipway_reconciler::Manifest;
use tokio::task::LocalSet;

use cluster::{ACCOUNT, Cluster};

/// The rights that the service account has beside those of everybody, as a person has reviewed them.
const REVIEWED: &str = include_str!("rights.txt");

const CONFIGURATION: &str = "
data = '/var/lib/slipway/controller'
listen = '0.0.0.0:9464'
kubernetes = { namespace = 'slipway' }
[webhooks]
listen = '0.0.0.0:9465'
[[source]]
name = 'fleet'
webhook = { kind = 'generic', secret-file = 'webhook-secret' }
[source.flux]
kind = 'GitRepository'
namespace = 'flux-system'
name = 'fleet'
[[source]]
name = 'team'
[source.object]
namespace = 'slipway'
name = 'team'
urls = ['https://git.example.com/*']
";

/// All of it on one API server, whose start takes the most time.
#[tokio::test]
async fn a_controller_works_in_a_cluster() {
    let cluster = Cluster::start().unwrap();
    the_manifest_gives_the_reviewed_rights(&cluster);
    wrong_objects_are_refused(&cluster);
    LocalSet::new().run_until(objects::are_written_and_served(cluster)).await;
}

fn the_manifest_gives_the_reviewed_rights(cluster: &Cluster) {
    cluster.kubectl(&["create", "namespace", "flux-system"]).unwrap();
    let manifest = Manifest {
        image: "registry.example.com/slipway:1",
        namespace: "slipway",
        replicas: 2,
        state: "s3://bucket/state",
        configuration: CONFIGURATION,
        user_configuration: Some("[trust]\n"),
    };
    let objects = manifest.objects().unwrap();
    let said = cluster.apply(&objects).unwrap();
    assert_eq!(said.lines().count(), objects.len(), "{said}");
    assert!(!said.contains("Warning"), "{said}");
    for kind in ["managedclusters", "planrequests", "sources"] {
        let definition = format!("customresourcedefinitions/{kind}.gitops.slipway.dev");
        cluster.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", &definition]).unwrap();
    }
    let again = cluster.apply(&objects).unwrap();
    // kubectl replaces the selector of a budget each time.
    let is_same = |line: &str| line.ends_with(" unchanged") || line.starts_with("poddisruptionbudget");
    assert!(again.lines().all(is_same), "{again}");

    let mut found = String::new();
    for namespace in ["slipway", "flux-system", "default"] {
        let everybody = cluster.rights("system:serviceaccount:slipway:other", namespace).unwrap();
        let own = cluster.rights(ACCOUNT, namespace).unwrap();
        let own: BTreeSet<&String> = own.difference(&everybody).collect();
        found += &format!("namespace {namespace}\n");
        own.iter().for_each(|right| found += &format!("  {right}\n"));
    }
    assert_eq!(found, REVIEWED, "the rights that were found are\n{found}");
}

fn wrong_objects_are_refused(cluster: &Cluster) {
    for (spec, part) in [
        (json!({}), "missing required field \"cluster\""),
        (json!({"cluster": "Prod"}), "spec.cluster"),
        (json!({"cluster": "a/b"}), "spec.cluster"),
        (json!({"cluster": "prod", "ttlSecondsAfterFinished": -1}), "ttlSecondsAfterFinished"),
        (json!({"cluster": "prod", "apply": true}), "unknown field"),
    ] {
        let error = cluster.request("wrong", &spec).unwrap_err().to_string();
        assert!(error.contains(part), "no `{part}` in `{error}`");
    }
    let spec = json!({"controller": "default", "source": "local", "path": 7, "apply": "always"});
    let error = cluster.object("ManagedCluster", "wrong", &spec).unwrap_err().to_string();
    assert!(error.contains("spec.path"), "{error}");
    let place = json!({"url": "https://git.example.com/a.git"});
    for spec in [json!({}), json!({"git": place, "oci": place})] {
        let error = cluster.object("Source", "wrong", &spec).unwrap_err().to_string();
        assert!(error.contains("a source has one of git and oci"), "{error}");
    }
    let commit = json!({"git": {"url": "https://git.example.com/a.git", "commit": "main"}});
    let error = cluster.object("Source", "wrong", &commit).unwrap_err().to_string();
    assert!(error.contains("spec.git.commit"), "{error}");
    cluster.request("fixed", &json!({"cluster": "prod"})).unwrap();
    let error = cluster.request("fixed", &json!({"cluster": "dev"})).unwrap_err().to_string();
    assert!(error.contains("a request cannot be changed"), "{error}");
    cluster.kubectl(&["-n", "slipway", "delete", "planrequest", "fixed"]).unwrap();
}
