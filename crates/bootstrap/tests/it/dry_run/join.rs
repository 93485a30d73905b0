//! Joining the cluster that kubeadm makes up for its dry runs.

use std::collections::BTreeMap;

use slipway_bootstrap::configuration::{Configuration, Detected, Discovery, Join, TokenDiscovery};
use slipway_bootstrap::expand::{Discovered, Facts, Inputs, Phased, join_control_plane, join_worker};
use slipway_bootstrap::kubeadm;
use slipway_bootstrap::kubeconfig::Kubeconfig;
use slipway_resource::{Secret, SecretText, Value};
use slipway_spec::source::SourceFile;

use super::output::DryRun;
use super::random::{self, Random};
use super::{compare, facts, patches};

const TOKEN: &str = "abcdef.abcdef0123456789";
/// The pin of the CA of that cluster.
const PIN: &str = "sha256:3b793efefe27a19f93b0fbe6e637e9c41d0dde8a377d6ab1c0f656bf1136dd8a";
/// The key under which its certificates are.
const KEY: &str = "e6a2eb8581237ab72a4f494f30285ec12a9694d750b9785706a83bfcbbbd2204";

fn secret(text: &str) -> Secret {
    Secret { text: Some(SecretText::new(text)), ..Secret::new("test:secret") }
}

/// A node that joins, as documents and as they are read.
fn node(random: &mut Random, facts: &Facts, control_plane: bool, plain: bool) -> Configuration {
    let address = if plain { "192.0.2.11" } else { random.pick(&["192.0.2.11", "2001:db8::11"]) };
    let detected = Detected {
        hostname: facts.hostname.clone(),
        address: address.parse().unwrap(),
        ..Detected::default()
    };
    let mut configuration = Configuration::new(&detected);
    if !plain {
        random::node(random, &mut configuration);
    }
    configuration.node.bootstrap_tokens.clear();
    configuration.node.certificate_key = control_plane.then(|| secret(KEY));
    let discovery = TokenDiscovery {
        token: secret(TOKEN),
        api_server_endpoint: "api.example.test:6443".parse().unwrap(),
        ca_cert_hashes: vec![PIN.to_owned()],
        unsafe_skip_ca_verification: false,
    };
    configuration.join = Some(Join {
        discovery: Discovery::Token(discovery),
        tls_bootstrap_token: Some(secret(TOKEN)),
        ca_cert_path: "/etc/kubernetes/pki/ca.crt".to_owned(),
        control_plane,
    });
    configuration
}

fn read(documents: &str, hostname: &str) -> kubeadm::Reading {
    let file = std::sync::Arc::new(SourceFile::new("config.yaml", documents));
    let detected = Detected { hostname: hostname.to_owned(), ..Detected::default() };
    let reading = kubeadm::read(&[file], &detected);
    assert!(reading.is_valid(), "{:#?}\n{documents}", reading.diagnostics);
    reading
}

/// The cluster's own data: its settings, the kubelets' configuration, and its endpoint.
fn cluster(theirs: &DryRun, mut configuration: Configuration, facts: &Facts) -> (Configuration, Inputs) {
    let data = |name: &str, key: &str| theirs.found[name]["data"][key].as_str().unwrap().to_owned();
    let settings = data("ConfigMap/kube-system/kubeadm-config", "ClusterConfiguration");
    configuration.cluster = read(&settings, &facts.hostname).init.unwrap().cluster;
    let kubelet = data("ConfigMap/kube-system/kubelet-config", "kubelet");
    configuration.kubelet = Some(serde_yaml::from_str(&kubelet).unwrap());
    let info = Kubeconfig::parse(&data("ConfigMap/kube-public/cluster-info", "kubeconfig")).unwrap();
    let info = info.cluster().unwrap();
    let certificates =
        ["ca", "front-proxy-ca", "etcd/ca"].map(|name| [format!("{name}.crt"), format!("{name}.key")]);
    let files = certificates.into_iter().flatten().chain(["sa.pub".to_owned(), "sa.key".to_owned()]);
    let inputs = Inputs {
        discovered: Some(Discovered {
            server: info.server,
            authority: info.authority.unwrap(),
            client_certificate: None,
        }),
        shared_files: files.map(|file| (file, Value::from(secret("x")))).collect(),
        ..Inputs::default()
    };
    (configuration, inputs)
}

fn differences(seed: u64, control_plane: bool) -> BTreeMap<String, String> {
    let mut facts = facts();
    let mut random = Random::new(seed + 1000);
    let mut written = node(&mut random, &facts, control_plane, seed == 0);
    if seed != 0 {
        facts.patches = random::patches(&mut random);
    }
    let _patches = patches(&facts, &mut written);
    let documents = kubeadm::write(&written).expose().to_owned();
    let theirs = DryRun::of("join", &documents, &facts);
    let configuration = read(&documents, &facts.hostname).join.unwrap();
    let (configuration, inputs) = cluster(&theirs, configuration, &facts);
    let ours: Vec<Phased> = if control_plane {
        join_control_plane(&configuration, &facts, &inputs).unwrap()
    } else {
        join_worker(&configuration, &facts, &inputs).unwrap()
    };
    let mut wrong = BTreeMap::new();
    compare::files(&theirs, &ours, &mut wrong);
    compare::certificates(&theirs, &ours, &configuration.cluster.certificates_dir, &mut wrong);
    compare::kubeconfigs(&theirs, &ours, &mut wrong);
    wrong.into_iter().map(|(about, what)| (format!("seed {seed}, {about}"), what)).collect()
}

fn none(wrong: &BTreeMap<String, String>) {
    let texts: Vec<String> = wrong.iter().map(|(about, what)| format!("{about}:\n{what}\n")).collect();
    assert!(wrong.is_empty(), "{} differences\n{}", wrong.len(), texts.join("\n"));
}

#[test]
fn workers_become_what_kubeadm_would_make_of_them() {
    none(&(0..12).flat_map(|seed| differences(seed, false)).collect());
}

#[test]
fn control_planes_that_join_become_what_kubeadm_would_make_of_them() {
    none(&(0..8).flat_map(|seed| differences(seed, true)).collect());
}
