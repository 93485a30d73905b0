//! A controller in a Kubernetes cluster: its manifest, its rights and its objects, with a real API server.
#![cfg(test)]

mod cluster;

use std::collections::BTreeSet;

use slipway_reconciler::Manifest;

use cluster::Cluster;

/// The rights that the service account has beside those of everybody, as a person has reviewed them.
const REVIEWED: &str = include_str!("rights.txt");

const CONFIGURATION: &str = "
data = '/var/lib/slipway/controller'
listen = '0.0.0.0:9464'
[webhooks]
listen = '0.0.0.0:9465'
[[source]]
name = 'fleet'
webhook = { kind = 'generic', secret-file = 'webhook-secret' }
[source.flux]
kind = 'GitRepository'
namespace = 'flux-system'
name = 'fleet'
";

fn manifest() -> Manifest<'static> {
    Manifest {
        image: "registry.example.com/slipway:1",
        namespace: "slipway",
        replicas: 2,
        state: "s3://bucket/state",
        configuration: CONFIGURATION,
        user_configuration: Some("[trust]\n"),
    }
}

#[test]
fn the_manifest_gives_the_reviewed_rights() {
    let cluster = Cluster::start().unwrap();
    cluster.kubectl(&["create", "namespace", "flux-system"]).unwrap();
    let objects = manifest().objects().unwrap();
    let said = cluster.apply(&objects).unwrap();
    assert_eq!(said.lines().count(), objects.len(), "{said}");
    assert!(!said.contains("Warning"), "{said}");
    let again = cluster.apply(&objects).unwrap();
    assert!(again.lines().all(|line| line.ends_with(" unchanged")), "{again}");

    let mut found = String::new();
    for namespace in ["slipway", "flux-system", "default"] {
        let everybody = cluster.rights("system:serviceaccount:slipway:other", namespace).unwrap();
        let own = cluster.rights("system:serviceaccount:slipway:slipway-controller", namespace).unwrap();
        let own: BTreeSet<&String> = own.difference(&everybody).collect();
        found += &format!("namespace {namespace}\n");
        own.iter().for_each(|right| found += &format!("  {right}\n"));
    }
    assert_eq!(found, REVIEWED, "the rights that were found are\n{found}");
}
