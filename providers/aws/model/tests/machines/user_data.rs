//! The user data of machines.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use slipway_aws_model::catalog::Catalog;
use slipway_aws_model::normalise::user_data;
use slipway_bootstrap::boot::{DocumentError, NodeBootstrap};
use slipway_resource::{Desired, Digest, TemplatePart, Value};
use slipway_spec::model::{
    Architecture, Cluster, FileAsset, NodePool, ProgramFile, ProgramName, Programs, Role,
};

use crate::harness::{KEYS, Resources, clusters, expanded, offline, specs};
use crate::kops;

fn raw(cluster: &Cluster) -> Value {
    let resources = offline(cluster);
    resources.get("aws_launch_template.nodes-m-example-com").get("user_data").cloned().unwrap_or_default()
}

fn script(cluster: &Cluster) -> String {
    String::from_utf8(STANDARD.decode(raw(cluster).as_str().unwrap()).unwrap()).unwrap()
}

fn document(script: &str) -> &str {
    let (_, rest) = script.split_once("<<'DOCUMENT'").unwrap();
    let (_, rest) = rest.split_once('\n').unwrap();
    rest.split_once("\nDOCUMENT\n").unwrap().0
}

/// The cluster with a file on its workers.
fn with_file(content: String) -> Cluster {
    let mut cluster = kops("", "");
    let pool = cluster.pools.iter_mut().find(|pool| pool.name == "nodes").unwrap();
    pool.node_files.files.push(FileAsset {
        name: "data".to_owned(),
        path: "/srv/data".to_owned(),
        content,
        mode: "0644".to_owned(),
    });
    cluster
}

#[test]
fn the_digest_is_that_of_the_document() {
    let script = script(&kops("", "nodeLabels: { tier: gold }\n"));
    let document = document(&script);
    let digest = Digest::of_bytes(format!("{document}\n").as_bytes());
    assert!(script.ends_with(&format!("--digest {digest}\n")), "{script}");
    let json: serde_json::Value = serde_json::from_str(document).unwrap();
    assert_eq!(json["kind"], "NodeBootstrap");
    assert_eq!(json["node"]["labels"]["tier"], "gold");
    assert_eq!(json.get("controlPlane"), None);
}

/// The text of user data, with a name in the place of what is known only later.
pub fn text(user_data: &Value) -> String {
    match user_data {
        Value::Template(parts) => parts
            .iter()
            .map(|part| match part {
                TemplatePart::Text(text) => text.as_str(),
                TemplatePart::Reference(_) => "balancer",
            })
            .collect(),
        other => String::from_utf8(STANDARD.decode(other.as_str().unwrap()).unwrap()).unwrap(),
    }
}

/// The file that a script leaves on the machine, to the byte.
pub fn written(script: &str) -> String {
    let document = document(script);
    if !script.contains("gunzip") {
        return format!("{document}\n");
    }
    let packed = STANDARD.decode(document.replace('\n', "")).unwrap();
    std::io::read_to_string(GzDecoder::new(packed.as_slice())).unwrap()
}

/// The program on the machine refuses fields that it does not know, so that writer and reader change together.
#[test]
fn machines_read_the_documents_of_all_specs() {
    let mut paths: Vec<_> = std::fs::read_dir(specs()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let large = with_file("line\n".repeat(10_000));
    let all = paths.iter().flat_map(|path| clusters(path)).chain([with_file("text".to_owned()), large]);
    for cluster in all {
        let name = &cluster.name;
        let mut read = BTreeSet::new();
        for desired in offline(&cluster).0 {
            let script = text(desired.attributes.get("user_data").unwrap_or(&Value::from("")));
            if !script.contains("slipway node boot") {
                continue;
            }
            let document = written(&script);
            let json: serde_json::Value = serde_json::from_str(&document).unwrap();
            let pool = cluster.pool(json["node"]["pool"].as_str().unwrap()).unwrap();
            let digest = script.rsplit_once("--digest ").unwrap().1.lines().next().unwrap();
            match (pool.role, NodeBootstrap::read(document.as_bytes(), digest)) {
                (Role::ControlPlane, Ok(read)) => assert!(read.is_control_plane(), "{} of {name}", pool.name),
                (Role::Worker, Ok(read)) => assert!(!read.is_control_plane(), "{} of {name}", pool.name),
                (Role::ApiServer, Err(DocumentError::Role(_))) => {}
                (role, other) => panic!("{role:?} {} of {name}: {other:?}\n{document}", pool.name),
            }
            read.insert(pool.name.clone());
        }
        // Karpenter makes the machines of its pools itself.
        let has_template = |pool: &&NodePool| {
            pool.role != Role::Bastion && pool.provider_config.get("manager") != Some(&"Karpenter".into())
        };
        let expected: BTreeSet<_> =
            cluster.pools.iter().filter(has_template).map(|pool| pool.name.clone()).collect();
        assert_eq!(read, expected, "pools of {name}");
    }
}

#[test]
fn a_large_document_is_compressed_and_a_larger_one_refused() {
    let compressible = with_file("line\n".repeat(10_000));
    let script = script(&compressible);
    assert!(script.contains("base64 -d <<'DOCUMENT' | gunzip") && script.len() < 16_384);
    assert_eq!(raw(&compressible), raw(&compressible));
    let expansion = expanded(&compressible, &Catalog::offline("eu-west-1")).unwrap();
    assert!(
        expansion.notes.iter().any(|note| note.field == "pools[nodes].userData"),
        "{:?}",
        expansion.notes
    );
    let noise: String =
        (0..6_000_u64).map(|n| format!("{:x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    let error = expanded(&with_file(noise), &Catalog::offline("eu-west-1")).unwrap_err();
    assert!(error.message.starts_with("pools[nodes].userData: the user data has "), "{}", error.message);
    assert!(error.message.contains("EC2 takes 16384"), "{}", error.message);
}

#[test]
fn compression_is_there_for_the_asking() {
    assert!(script(&kops("", "compressUserData: true\n")).contains("gunzip"));
    assert!(!script(&kops("", "")).contains("gunzip"));
}

#[test]
fn further_parts_stand_behind_the_script() {
    let workers =
        "additionalUserData:\n- { name: hello.sh, type: text/x-shellscript, content: 'echo hello' }\n";
    let script = script(&kops("", workers));
    assert!(script.starts_with("Content-Type: multipart/mixed; boundary="), "{script}");
    let (boot, hello) = (script.find("slipway node boot").unwrap(), script.find("echo hello").unwrap());
    assert!(boot < hello && script.contains("filename=\"hello.sh\""), "{script}");
}

#[test]
fn without_records_the_endpoint_is_the_load_balancers_own_name() {
    let cluster = kops(
        "topology: { dns: { type: None } }\napi: { loadBalancer: { type: Public, class: Network } }",
        "",
    );
    let value = raw(&cluster);
    assert!(matches!(value, Value::Template(_)), "{value:?}");
    let resolved = value.resolve(&mut |reference| {
        assert_eq!(reference.to_string(), "${aws_lb.api-m-example-com.dns_name}");
        Value::from("api-1.elb.amazonaws.com")
    });
    let applied = user_data(resolved.as_str().unwrap());
    let script = String::from_utf8(STANDARD.decode(&applied).unwrap()).unwrap();
    assert!(script.contains("SLIPWAY_ENDPOINT=\"api-1.elb.amazonaws.com\""), "{script}");
    assert_eq!(user_data(&applied), applied);
}

/// A worker that proves which machine it is trusts the control planes by the authority of the cluster, and reaches them on a
/// port of their own.
#[test]
fn workers_that_prove_who_they_are_know_the_authority_and_reach_the_control_planes() {
    let mut cluster = kops("api: { loadBalancer: { type: Public, class: Network } }", "");
    let before = offline(&cluster);
    cluster.assets.programs = Programs {
        mirrors: vec!["https://mirror.example.com".to_owned()],
        files: vec![ProgramFile {
            name: ProgramName::Provider,
            architecture: Architecture::Amd64,
            version: None,
            path: "slipway-provider-aws".to_owned(),
            sha256: "0".repeat(64),
        }],
    };
    let after = offline(&cluster);
    let script = |found: &Resources, template: &str| {
        let address = format!("aws_launch_template.{template}-m-example-com");
        text(found.get(&address).get("user_data").unwrap())
    };
    let worker = script(&after, "nodes");
    assert!(
        worker.contains("SLIPWAY_AUTHORITY=\"")
            && worker.contains("export SLIPWAY_PROVIDER_ID SLIPWAY_ENDPOINT SLIPWAY_AUTHORITY\n"),
        "{worker}"
    );
    assert!(!script(&before, "nodes").contains("SLIPWAY_AUTHORITY"));
    assert!(!script(&after, "masters-masters").contains("SLIPWAY_AUTHORITY"));
    let more = |kind: &str| -> Vec<String> {
        let known = before.names(kind);
        let found = after.names(kind).into_iter().filter(|name| !known.contains(name));
        found.map(str::to_owned).collect()
    };
    assert_eq!(more("aws_lb_listener"), ["api-m-example-com-3988"]);
    assert_eq!(more("aws_lb_target_group").len(), 1);
    let rules = more("aws_security_group_rule");
    let to = |from: &str, to: &str| {
        let port = "ingress-tcp-3988to3988";
        rules
            .iter()
            .any(|rule| rule.contains(&format!("from-{from}")) && rule.contains(&format!("{port}-{to}")))
    };
    assert!(to("nodes-m-example-com", "api-elb") && to("api-elb-m-example-com", "masters"), "{rules:?}");
}

/// Control planes read the keys of the cluster from its state, so the keys are created first.
#[test]
fn control_planes_depend_on_the_keys_that_they_read() {
    let resources = expanded(&kops("", ""), &Catalog::offline("eu-west-1")).unwrap().resources;
    let keys: Vec<_> = resources.iter().filter(|desired| KEYS.contains(&desired.address.kind())).collect();
    let names: Vec<_> = keys.iter().map(|key| key.address.name()).collect();
    assert_eq!(names, ["etcd-ca", "front-proxy-ca", "kubernetes-ca", "service-accounts"]);
    let needs_keys = |desired: &&Desired| keys.iter().any(|key| desired.depends_on.contains(&key.address));
    let readers: Vec<_> =
        resources.iter().filter(needs_keys).map(|desired| desired.address.to_string()).collect();
    assert_eq!(readers, ["aws_autoscaling_group.masters-masters-m-example-com"]);
}

#[test]
fn control_planes_learn_where_the_state_is() {
    let mut cluster = kops("", "");
    cluster.provider.config["state"] = "s3://states/all".into();
    let resources = offline(&cluster);
    let template = resources.get("aws_launch_template.masters-masters-m-example-com");
    let script = text(template.get("user_data").unwrap());
    let json: serde_json::Value = serde_json::from_str(&written(&script)).unwrap();
    assert_eq!(json["cluster"]["store"], "s3://states/all");
    let policies = resources.names("aws_iam_role_policy");
    let reads_keys: Vec<_> = policies
        .into_iter()
        .filter(|name| {
            let policy = resources.get(&format!("aws_iam_role_policy.{name}")).to_plain_text();
            policy.contains("states/all/m.example.com/*")
        })
        .collect();
    assert_eq!(reads_keys, ["masters-m-example-com"]);
}

/// Machines read programs in a bucket with the role of their instance, and nothing else in it.
#[test]
fn programs_in_buckets_are_read_with_the_role_of_the_instance() {
    let mut cluster = kops("", "");
    let file = |name: ProgramName, path: &str| ProgramFile {
        name,
        architecture: Architecture::Amd64,
        version: None,
        path: path.to_owned(),
        sha256: "0".repeat(64),
    };
    cluster.assets.programs = Programs {
        mirrors: vec!["https://mirror.example.com".to_owned()],
        files: vec![file(ProgramName::Slipway, "v1/slipway"), file(ProgramName::Runc, "v1/runc")],
    };
    assert!(!script(&cluster).contains("X-Amz-Signature"));
    cluster.assets.programs.mirrors.insert(0, "s3://programs/mirror/".to_owned());
    let signed = script(&cluster);
    let urls = "for url in s3://programs/mirror/v1/slipway https://mirror.example.com/v1/slipway; do";
    assert!(
        signed.contains(urls) && signed.contains("scheme=https host=s3.eu-west-1.amazonaws.com"),
        "{signed}"
    );
    let resources = offline(&cluster);
    for role in ["masters", "nodes"] {
        let policy = resources.get(&format!("aws_iam_role_policy.{role}-m-example-com")).to_plain_text();
        for path in ["slipway", "runc"] {
            assert!(policy.contains(&format!("arn:aws:s3:::programs/mirror/v1/{path}")), "{policy}");
        }
        assert!(
            policy.contains("s3:GetObject") && !policy.contains("arn:aws:s3:::programs/mirror/*"),
            "{policy}"
        );
    }
}
