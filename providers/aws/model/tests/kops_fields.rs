//! Every field of kOps that is honoured makes a difference on AWS: it changes the resources of a cluster, or the
//! document that its machines boot from.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on ends there"
)]

#[path = "../../../../crates/kops/tests/leaves/case.rs"]
#[allow(dead_code, reason = "shared with the reader's own tests")]
mod case;

use serde_json::{Value, json};
use slipway_aws_model::{
    catalog::{Catalog, HostedZone, Image},
    expand::expand,
};
use slipway_kops::{
    KopsReader,
    fields::{Kind, Leaf},
    rules::Class,
};
use slipway_resource::{Digest, provider};
use slipway_spec::diagnostic::Severity;

use case::{base, beside, group, merge, put, read_beside, samples};

/// The result for a document: its resources, or the error.
#[derive(Debug, PartialEq)]
enum Outcome {
    Resources(Vec<slipway_resource::Desired>),
    Refused(String),
}

/// The facts of the account: the images and zones of the samples.
fn catalog() -> Catalog {
    let image = |id: &str| Image { id: id.to_owned(), ..Image::default() };
    let zone = |id: &str, name: &str| HostedZone {
        id: id.to_owned(),
        name: name.to_owned(),
        ..HostedZone::default()
    };
    Catalog {
        images: [("ubuntu".to_owned(), image("ami-1")), ("sample".to_owned(), image("ami-2"))].into(),
        hosted_zones: vec![zone("Z1", "example.com"), zone("Z2", "sample")],
        ..Catalog::default()
    }
}

/// Other documents that some fields are about.
fn others(kind: Kind, path: &str) -> Vec<Value> {
    let mut found = Vec::new();
    if kind == Kind::InstanceGroup {
        let mut cluster = base(Kind::Cluster);
        cluster["spec"]["subnets"] =
            json!([{}, { "name": "b", "zone": "eu-west-1b", "type": "Public", "cidr": "10.0.2.0/24" }]);
        cluster["spec"]["clusterAutoscaler"] = json!({ "enabled": true });
        found.push(cluster);
    }
    if path.starts_with("spec.topology.bastion") {
        found.push(group("bastion", "Bastion"));
    }
    if path.ends_with("etcdMembers[].instanceGroup") {
        let mut other = group("sample", "Master");
        other["spec"]["subnets"] = json!(["b"]);
        found.push(other);
    }
    found
}

fn outcome(reader: &KopsReader, kind: Kind, path: &str, document: &Value) -> (Outcome, Vec<String>) {
    let (cluster, diagnostics) = read_beside(reader, kind, document, &others(kind, path));
    let errors = diagnostics.iter().filter(|found| found.severity == Severity::Error);
    let errors: Vec<String> = errors.map(|found| found.message.clone()).collect();
    let Some(cluster) = cluster else { return (Outcome::Refused(errors.join("; ")), errors) };
    let region = cluster.region.clone().unwrap_or_default();
    let data = serde_json::to_value(Catalog { region, ..catalog() }).unwrap();
    let request = provider::ExpandRequest {
        cluster: cluster.to_provider().unwrap(),
        catalog: provider::Catalog { digest: Digest::of(&data).unwrap(), data },
    };
    match expand(&request) {
        Ok(mut expansion) => {
            // Where a value comes from is no difference.
            expansion.resources.iter_mut().for_each(|resource| resource.origins.clear());
            (Outcome::Resources(expansion.resources), errors)
        }
        Err(error) => (Outcome::Refused(error.message), errors),
    }
}

/// Other fields without which some fields have no effect on AWS.
fn beside_on_aws(kind: Kind, path: &str) -> Value {
    use Kind::{Cluster, InstanceGroup};
    let on = |section: &str| json!({ "spec": { section: { "enabled": true } } });
    let private = json!({ "spec": { "subnets": [
        { "type": "Private" },
        { "name": "b", "zone": "eu-west-1a", "type": "Utility", "cidr": "10.0.2.0/24" },
    ] } });
    let cases = [
        (
            Cluster,
            "spec.api.loadBalancer.subnets",
            json!({ "spec": {
                "api": { "loadBalancer": { "subnets": [{ "name": "a" }] } },
                "subnets": [{}, { "name": "sample", "zone": "eu-west-1b", "type": "Public", "cidr": "10.0.2.0/24" }],
            } }),
        ),
        (Cluster, "spec.api.loadBalancer.type", private.clone()),
        (Cluster, "spec.awsLoadBalancerController", on("awsLoadBalancerController")),
        (Cluster, "spec.certManager", on("certManager")),
        (Cluster, "spec.clusterAutoscaler", on("clusterAutoscaler")),
        (
            Cluster,
            "spec.containerd.gvisor",
            json!({ "spec": { "containerd": { "gvisor": { "enabled": true } } } }),
        ),
        (
            Cluster,
            "spec.containerd.nvidiaGPU",
            json!({ "spec": { "containerd": { "nvidiaGPU": { "enabled": true } } } }),
        ),
        (
            InstanceGroup,
            "spec.containerd.nvidiaGPU",
            json!({ "spec": { "machineType": "g4dn.xlarge", "containerd": { "nvidiaGPU": { "enabled": false } } } }),
        ),
        (Cluster, "spec.externalDns", json!({ "spec": { "externalDns": { "provider": "external-dns" } } })),
        (Cluster, "spec.karpenter", on("karpenter")),
        (
            Cluster,
            "spec.kubeDNS.nodeLocalDNS",
            json!({ "spec": { "kubeDNS": { "nodeLocalDNS": { "enabled": true } } } }),
        ),
        (Cluster, "spec.metricsServer", on("metricsServer")),
        (Cluster, "spec.nodeProblemDetector", on("nodeProblemDetector")),
        (Cluster, "spec.podIdentityWebhook", on("podIdentityWebhook")),
        (Cluster, "spec.snapshotController", on("snapshotController")),
        (Cluster, "spec.subnets[].additionalRoutes", private.clone()),
        (Cluster, "spec.subnets[].publicIP", private.clone()),
        (
            Cluster,
            "spec.subnets[].name",
            json!({ "spec": { "subnets": [
                { "name": "b", "cidr": "10.0.2.0/24" },
                { "name": "a", "zone": "eu-west-1a", "type": "Public", "cidr": "10.0.1.0/24" },
            ] } }),
        ),
        (Cluster, "spec.warmPool", json!({ "spec": { "warmPool": { "enableLifecycleHook": true } } })),
        (InstanceGroup, "spec.warmPool", json!({ "spec": { "warmPool": { "enableLifecycleHook": true } } })),
        (
            InstanceGroup,
            "spec.volumeMounts[].device",
            json!({ "spec": { "volumes": [{}, { "device": "/dev/xvde", "size": 9 }] } }),
        ),
        (Cluster, "spec.topology.bastion", private),
        (
            Cluster,
            "spec.etcdClusters[].etcdMembers[].instanceGroup",
            json!({ "spec": { "subnets": [{}, { "name": "b", "zone": "eu-west-1b", "type": "Public", "cidr": "10.0.2.0/24" }] } }),
        ),
        (InstanceGroup, "spec.instanceInterruptionBehavior", json!({ "spec": { "maxPrice": "0.1" } })),
        (InstanceGroup, "spec.spotDurationInMinutes", json!({ "spec": { "maxPrice": "0.1" } })),
        (InstanceGroup, "spec.zones", json!({ "spec": { "subnets": null, "zones": ["eu-west-1b"] } })),
    ];
    let mut all = json!({});
    for (of, prefix, value) in &cases {
        if *of == kind && path.starts_with(prefix) {
            merge(&mut all, value);
        }
    }
    all
}

/// Values to try first, where those of the type say nothing to AWS.
fn samples_on_aws(kind: Kind, leaf: &Leaf) -> Vec<Value> {
    let policy = r#"[{ "Effect": "Allow", "Action": "s3:GetObject", "Resource": "*" }]"#;
    let own = match leaf.path.as_str() {
        "spec.additionalPolicies" => Some(json!({ "node": policy })),
        "spec.externalPolicies" => Some(json!({ "node": ["arn:aws:iam::aws:policy/ReadOnlyAccess"] })),
        "spec.iam.serviceAccountExternalPermissions[].aws.inlinePolicy" => Some(json!(policy)),
        "spec.nodePortAccess" => Some(json!(["10.9.0.0/16"])),
        "spec.manager" => Some(json!("Karpenter")),
        "spec.rootVolumeIops" | "spec.volumes[].iops" => Some(json!(5000)),
        "spec.rootVolumeType" | "spec.volumes[].type" => Some(json!("gp2")),
        "spec.rootVolumeThroughput" | "spec.volumes[].throughput" => Some(json!(500)),
        "spec.topology.bastion.loadBalancer.type" => Some(json!("Internal")),
        "spec.publicKey" => Some(json!("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAB one")),
        "spec.externalDns.provider" => Some(json!("dns-controller")),
        "spec.subnets[].additionalRoutes[].target" => Some(json!("tgw-7")),
        "spec.subnets[].publicIP" => Some(json!("203.0.113.7")),
        "spec.subnets" => Some(json!(["b"])),
        "spec.volumeMounts[].device" => Some(json!("/dev/xvde")),
        "spec.zones" => Some(json!(["eu-west-1a"])),
        _ => None,
    };
    own.into_iter().chain(samples(kind, leaf)).collect()
}

/// Fields that say which document this is, and to which cluster it belongs: without them nothing is read at all.
fn identifies(kind: Kind, path: &str) -> bool {
    match path {
        "apiVersion" | "kind" | "metadata.labels" => true,
        "metadata.name" => kind != Kind::InstanceGroup,
        _ => false,
    }
}

/// Fields of which one value is left, which the reader's own tests prove.
const ONE_VALUE: [&str; 3] =
    ["spec.api.loadBalancer.class", "spec.etcdClusters[].provider", "spec.rollingUpdate.drainAndTerminate"];

/// The effect of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// The resources themselves.
    Resources,
    /// The document in the user data of machines, and nothing else.
    Document,
}

/// Resources without the documents that Slipway writes for its machines. Further parts of a pool's user data,
/// which every image reads, stay.
fn without_documents(resources: &[slipway_resource::Desired]) -> Vec<slipway_resource::Desired> {
    let mut resources = resources.to_vec();
    for resource in &mut resources {
        let path = slipway_resource::Path::key("user_data");
        if resource.attributes.at(&path).is_some() {
            resource.attributes.set(&path, slipway_resource::Value::Null);
        }
    }
    resources
}

/// Fields of the user data that images themselves read.
fn is_read_by_images(path: &str) -> bool {
    path.starts_with("spec.additionalUserData")
}

fn judge(reader: &KopsReader, kind: Kind, leaf: &Leaf) -> Result<Reach, String> {
    let mut before = base(kind);
    merge(&mut before, &beside(kind, &leaf.path));
    merge(&mut before, &beside_on_aws(kind, &leaf.path));
    if leaf.path.starts_with("spec.networking.") && !leaf.path.starts_with("spec.networking.cilium") {
        let name = leaf.path.split('.').nth(2).unwrap_or_default();
        if name != leaf.path.trim_start_matches("spec.networking.") {
            before["spec"]["networking"] = json!({ name: {} });
        }
    }
    let (without, _) = outcome(reader, kind, &leaf.path, &before);
    let Outcome::Resources(plain) = &without else {
        return Err(format!("the base does not expand: {without:?}"));
    };
    let mut last = String::new();
    let mut reach = None;
    for sample in samples_on_aws(kind, leaf) {
        let mut document = before.clone();
        if leaf.path.starts_with("spec.networking.") && leaf.path.matches('.').count() == 2 {
            document["spec"]["networking"] = json!({});
        }
        put(&mut document, &leaf.path, sample);
        let (with, errors) = outcome(reader, kind, &leaf.path, &document);
        match with {
            Outcome::Resources(changed) if errors.is_empty() && changed != *plain => {
                if is_read_by_images(&leaf.path) || without_documents(&changed) != without_documents(plain) {
                    return Ok(Reach::Resources);
                }
                reach = Some(Reach::Document);
            }
            Outcome::Resources(_) => last = format!("changes nothing {errors:?}"),
            Outcome::Refused(why) => last = format!("the sample is refused: {why}"),
        }
    }
    reach.ok_or(last)
}

/// The honoured fields that only reach the user data of machines, from which `cargo xtask kops-fields` takes their class.
const IN_USER_DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/user-data-only.tsv");
const HEADER: &str = "# Fields of kOps that are honoured and only change the user data of machines on AWS: kind and field.\n\
                      # The test `every_honoured_field_makes_a_difference` writes this file with UPDATE_FIXTURES=1.\n";

#[test]
fn every_honoured_field_makes_a_difference() {
    let reader = KopsReader::default();
    let mut failures = Vec::new();
    let mut in_user_data = String::from(HEADER);
    for kind in Kind::ALL {
        for leaf in reader.table().leaves(kind) {
            let (_, treatment) = reader.rules().find(kind, &leaf.path).expect("every field has a rule");
            if treatment.class() != Class::Honoured {
                continue;
            }
            if identifies(kind, &leaf.path) || ONE_VALUE.contains(&leaf.path.as_str()) {
                continue;
            }
            match judge(&reader, kind, leaf) {
                Ok(Reach::Resources) => {}
                Ok(Reach::Document) => in_user_data.push_str(&format!("{}\t{}\n", kind.as_str(), leaf.path)),
                Err(problem) => failures.push(format!("{} {}: {problem}", kind.as_str(), leaf.path)),
            }
        }
    }
    assert!(failures.is_empty(), "{} fields:\n{}", failures.len(), failures.join("\n"));
    if std::env::var_os("UPDATE_FIXTURES").is_some() {
        std::fs::write(IN_USER_DATA, &in_user_data).unwrap();
    }
    let known = std::fs::read_to_string(IN_USER_DATA).unwrap_or_default();
    assert_eq!(known, in_user_data, "UPDATE_FIXTURES=1 writes it, then `cargo xtask kops-fields`");
}
