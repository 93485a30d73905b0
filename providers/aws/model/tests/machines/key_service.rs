//! The key in KMS for which the keys of a cluster are encrypted, and who may use it.

use slipway_aws_model::catalog::Catalog;
use slipway_kops::KopsReader;
use slipway_resource::provider::Expansion;
use slipway_resource::{Desired, Path};
use slipway_spec::load::load_files;
use slipway_spec::model::Cluster;
use slipway_spec::source::SourceFile;

use crate::harness::{KEYS, expanded, shown};
use crate::kops;

const KEY: &str = "aws_kms_key.state-key-k-example-com";
const POLICY: &str = "aws_iam_role_policy.state-key-masters-k-example-com";
const GROUP: &str = "aws_autoscaling_group.masters-masters-k-example-com";

/// A cluster of a Slipway spec with some provider settings.
fn native(settings: &str) -> Cluster {
    native_with(settings, "")
}

fn native_with(settings: &str, masters: &str) -> Cluster {
    let text = format!(
        "apiVersion: slipway.dev/v1alpha1
kind: Cluster
metadata: {{ name: k.example.com }}
spec:
  provider: {{ name: aws, config: {{ {settings} }} }}
  region: eu-west-1
  kubernetesVersion: 1.36.1
  zones: [eu-west-1a]
  network:
    cidr: 172.20.0.0/16
    topology: public
    subnets:
      - {{ name: a, zone: eu-west-1a, kind: public, cidr: 172.20.32.0/19 }}
  controlPlane:
    endpoint: {{ loadBalancer: {{ scheme: public }} }}
---
apiVersion: slipway.dev/v1alpha1
kind: NodePool
metadata: {{ name: masters }}
spec: {{ role: controlPlane, machineType: m5.large, image: ami-0a1b2c3d, subnets: [a] {masters} }}
---
apiVersion: slipway.dev/v1alpha1
kind: NodePool
metadata: {{ name: nodes }}
spec: {{ role: worker, machineType: m5.large, image: ami-0a1b2c3d, subnets: [a] }}
"
    );
    let loaded = load_files(vec![SourceFile::new("k.yaml", text.clone())], &[&KopsReader::default()]);
    let rendered = slipway_spec::diagnostic::render_all(&loaded.diagnostics);
    assert!(loaded.is_valid(), "{rendered}\n{text}");
    loaded.clusters.into_iter().next().unwrap()
}

fn found<'a>(expansion: &'a Expansion, address: &str) -> Option<&'a Desired> {
    expansion.resources.iter().find(|one| one.address.to_string() == address)
}

/// An account of which something is known: the plan is not offline.
fn account() -> Catalog {
    Catalog {
        account: Some("111122223333".to_owned()),
        zones: vec!["eu-west-1a".to_owned()],
        ..Catalog::offline("eu-west-1")
    }
}

#[test]
fn control_planes_decrypt_with_the_key_of_their_cluster_and_nobody_else_does() {
    let expansion = expanded(&native("state: 's3://states'"), &account()).unwrap();
    let key = found(&expansion, KEY).unwrap();
    assert_eq!(shown(key.attributes.get("alias").unwrap()), "alias/slipway/k-example-com");
    let policy = shown(key.attributes.get("policy").unwrap());
    assert!(policy.contains("arn:aws:iam::111122223333:root") && !policy.contains("kms:*"), "{policy}");

    let allows = found(&expansion, POLICY).unwrap();
    assert_eq!(shown(allows.attributes.get("role").unwrap()), "aws_iam_role.masters-k-example-com.name");
    let policy: serde_json::Value =
        serde_json::from_str(&shown(allows.attributes.get("policy").unwrap())).unwrap();
    let expected = serde_json::json!([{
        "Effect": "Allow",
        "Action": "kms:Decrypt",
        "Resource": format!("${{{KEY}.arn}}"),
        "Condition": { "StringEquals": { "kms:EncryptionContext:slipway.dev/cluster": "k.example.com" } },
    }]);
    assert_eq!(policy["Statement"], expected);

    // Each key of the cluster names it, and machines begin after the permission exists.
    let keys: Vec<_> = expansion.resources.iter().filter(|one| KEYS.contains(&one.address.kind())).collect();
    assert_eq!(keys.len(), 4);
    for one in keys {
        assert_eq!(shown(one.attributes.get("sealed_for").unwrap()), format!("aws:${{{KEY}.arn}}"));
        assert!(!one.origins.contains_key(&Path::key("sealed_for")), "it is a default");
    }
    let group = found(&expansion, GROUP).unwrap();
    assert!(group.depends_on.contains(&POLICY.parse().unwrap()), "{:?}", group.depends_on);

    // No other policy names the key or lets anybody decrypt directly.
    for one in expansion.resources.iter().filter(|one| one.address.kind() == "aws_iam_role_policy") {
        let policy = shown(one.attributes.get("policy").unwrap());
        let names = policy.contains("aws_kms_key");
        assert_eq!(names, one.address.to_string() == POLICY, "{}", one.address);
        let through_a_service = policy.contains("kms:ViaService");
        assert!(names || through_a_service || !policy.contains("kms:Decrypt"), "{}: {policy}", one.address);
    }
}

#[test]
fn a_cluster_of_kops_a_state_in_a_folder_and_the_setting_none_have_no_key() {
    let has_key = |cluster: &Cluster, catalog: &Catalog| {
        let expansion = expanded(cluster, catalog).unwrap();
        let key = expansion.resources.iter().any(|one| one.address.kind() == "aws_kms_key");
        let policy = expansion.resources.iter().any(|one| one.address.name().starts_with("state-key"));
        let sealed = expansion.resources.iter().any(|one| one.attributes.get("sealed_for").is_some());
        assert_eq!((key, policy), (sealed, sealed));
        key
    };
    let offline = Catalog::offline("eu-west-1");
    assert!(has_key(&native(""), &offline), "offline it is not known where the state is");
    assert!(!has_key(&native(""), &account()), "machines do not reach a folder");
    assert!(has_key(&native("state: 's3://states'"), &account()));
    assert!(!has_key(&native("state: 's3://states', keyService: none"), &account()));
    assert!(has_key(&native("keyService: kms"), &account()));
    let of_kops = |state: Option<&str>| {
        let mut cluster = kops("", "");
        if let Some(state) = state {
            cluster.provider.config["state"] = state.into();
        }
        cluster
    };
    assert!(!has_key(&of_kops(None), &offline) && !has_key(&of_kops(Some("s3://states")), &account()));
    let mut asking = of_kops(Some("s3://states"));
    asking.provider.config["keyService"] = "kms".into();
    assert!(has_key(&asking, &account()));
}

#[test]
fn a_setting_of_the_spec_is_named_and_another_word_is_refused() {
    let expansion = expanded(&native("keyService: kms"), &account()).unwrap();
    let key = expansion.resources.iter().find(|one| one.address.kind() == "keypair").unwrap();
    let origin = key.origins.get(&Path::key("sealed_for")).map(String::as_str);
    assert_eq!(origin, Some("provider.config.keyService"));
    let error = expanded(&native("keyService: vault"), &account()).unwrap_err();
    assert!(error.message.contains("provider.config"), "{}", error.message);
}

#[test]
fn control_planes_that_cannot_use_the_key_are_named() {
    let notes = |cluster: &Cluster| {
        let notes = expanded(cluster, &account()).unwrap().notes.into_iter();
        let about = notes.filter(|note| note.field == "provider.config.keyService");
        about.map(|note| note.message).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(notes(&native("keyService: kms")), "");
    let profile = native_with("keyService: kms", ", providerConfig: { iam: { profile: ours } }");
    assert!(notes(&profile).contains("the role in the instance profile of masters needs kms:Decrypt"));
    let mut programs = native("keyService: kms");
    programs.assets.programs.mirrors = vec!["https://mirror.example.com".to_owned()];
    let file = |name: slipway_spec::model::ProgramName| slipway_spec::model::ProgramFile {
        name,
        architecture: slipway_spec::model::Architecture::Amd64,
        version: None,
        path: "a".to_owned(),
        sha256: "0".repeat(64),
    };
    programs.assets.programs.files = vec![file(slipway_spec::model::ProgramName::Slipway)];
    assert!(notes(&programs).contains("list it as `provider`"), "{}", notes(&programs));
    programs.assets.programs.files.push(file(slipway_spec::model::ProgramName::Provider));
    assert_eq!(notes(&programs), "");
}
