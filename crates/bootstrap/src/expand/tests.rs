use std::collections::BTreeSet;

use slipway_cluster_input::Profile;
use slipway_resource::{Address, Desired, Secret, SecretText, Value};

use super::*;
use crate::configuration::{Configuration, Detected, Discovery, Etcd, FileDiscovery, Join};
use crate::phase::{Command, leaves};

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
    configuration.cluster.networking.pod_subnet = "10.244.0.0/16".to_owned();
    configuration
}

fn facts() -> Facts {
    Facts { hostname: "cp0".to_owned(), ..Facts::default() }
}

fn joining(control_plane: bool) -> Configuration {
    let mut configuration = configuration();
    configuration.node.bootstrap_tokens.clear();
    configuration.join = Some(Join {
        discovery: Discovery::File(FileDiscovery { kubeconfig_path: "/tmp/d.conf".to_owned() }),
        tls_bootstrap_token: Some(Secret::new("flag:token")),
        ca_cert_path: "/etc/kubernetes/pki/ca.crt".to_owned(),
        control_plane,
    });
    configuration
}

fn discovered() -> Inputs {
    let authority = "PEM\n".to_owned();
    let discovered = Discovered {
        server: "https://api.example.test:6443".to_owned(),
        authority,
        client_certificate: None,
    };
    let shared = [
        "ca.crt",
        "ca.key",
        "front-proxy-ca.crt",
        "front-proxy-ca.key",
        "etcd/ca.crt",
        "etcd/ca.key",
        "sa.pub",
        "sa.key",
    ];
    Inputs {
        discovered: Some(discovered),
        shared_files: shared
            .map(|file| (file.to_owned(), Value::from(Secret::new(format!("file:{file}")))))
            .into_iter()
            .collect(),
        etcd_endpoints: vec!["https://192.0.2.9:2379".to_owned()],
        ..Inputs::default()
    }
}

fn get<'a>(resources: &'a [Phased], address: &str) -> &'a Desired {
    let found = resources.iter().find(|phased| phased.desired.address.to_string() == address);
    &found.unwrap_or_else(|| panic!("no {address}")).desired
}

/// Every expansion, with everything switched on.
fn all() -> Vec<(Command, Vec<Phased>)> {
    let mut full = configuration();
    full.profile = Profile::Slipway;
    let inputs = Inputs {
        encryption: Some(Value::from(Secret::new("env:ENCRYPTION"))),
        audit: Some(crate::audit::Audit::default()),
        flannel: Some(crate::addon::flannel::Flannel::default()),
        ..Inputs::default()
    };
    vec![
        (Command::Init, init(&configuration(), &facts(), &Inputs::default()).unwrap()),
        (Command::Init, init(&full, &facts(), &inputs).unwrap()),
        (Command::Join, join_worker(&joining(false), &facts(), &discovered()).unwrap()),
        (Command::Join, join_control_plane(&joining(true), &facts(), &discovered()).unwrap()),
    ]
}

#[test]
fn every_resource_has_a_phase_an_address_of_its_own_and_what_it_stands_on() {
    for (command, resources) in all() {
        let phases = leaves(command);
        let mut before: BTreeSet<Address> = BTreeSet::new();
        for phased in &resources {
            let desired = &phased.desired;
            assert!(phases.iter().any(|phase| phase == phased.phase), "{}", phased.phase);
            assert_eq!(desired.address.to_string().parse::<Address>().unwrap(), desired.address);
            for dependency in desired.dependencies() {
                assert!(before.contains(&dependency), "{} before {dependency}", desired.address);
            }
            assert!(before.insert(desired.address.clone()), "{} twice", desired.address);
        }
    }
}

#[test]
fn the_same_input_gives_the_same_resources() {
    let texts = || -> Vec<String> {
        all()
            .iter()
            .flat_map(|(_, all)| all)
            .map(|one| serde_json::to_string(&one.desired).unwrap())
            .collect()
    };
    assert_eq!(texts(), texts());
}

#[test]
fn the_kubelet_starts_without_waiting_for_certificates_of_others() {
    let resources = init(&configuration(), &facts(), &Inputs::default()).unwrap();
    let needed: Vec<String> =
        get(&resources, "service.kubelet").dependencies().iter().map(ToString::to_string).collect();
    assert_eq!(
        needed,
        [
            "directory.manifests",
            "file.kubelet-config",
            "file.kubelet-flags",
            "file.kubelet-instance-config",
            "kubeconfig.kubelet",
            "kubelet_state.kubelet",
            "network_state.pods"
        ]
    );
    let scheduler = get(&resources, "static_pod.kube-scheduler").dependencies();
    assert_eq!(scheduler.len(), 2, "{scheduler:?}");
}

#[test]
fn a_joining_member_starts_with_the_names_that_etcd_gave_it() {
    let resources = join_control_plane(&joining(true), &facts(), &discovered()).unwrap();
    let pod = get(&resources, "static_pod.etcd");
    let mut seen = Vec::new();
    pod.attributes.get("manifest").unwrap().for_each_reference(&mut |found| seen.push(found.clone()));
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].address.to_string(), "etcd_member.etcd");
    let text = pod.attributes.get("manifest").unwrap().resolve(&mut |_| "a=b".into());
    let text = text.as_str().unwrap().to_owned();
    assert!(text.contains("    - --initial-cluster=a=b\n    - --initial-cluster-state=existing\n"), "{text}");
    // It is ready when it votes, which comes after it; from then on it is waited for as the first one is.
    let first = init(&configuration(), &facts(), &Inputs::default()).unwrap();
    let first = get(&first, "static_pod.etcd");
    assert!(first.attributes.get("ready_url").is_some());
    assert_eq!(pod.attributes.get("ready_url"), first.attributes.get("ready_url"));
    let later = |pod: &Desired| pod.attributes.get("ready_later").and_then(Value::as_bool);
    assert_eq!((later(first), later(pod)), (None, Some(true)));
    // The API server does not start before its etcd votes.
    let api = get(&resources, "static_pod.kube-apiserver").dependencies();
    assert!(api.iter().any(|address| address.to_string() == "etcd_voter.etcd"));
}

#[test]
fn an_authority_whose_key_is_elsewhere_makes_nothing_here() {
    let mut facts = facts();
    facts.external_authorities.insert("ca".to_owned());
    let resources = init(&configuration(), &facts, &Inputs::default()).unwrap();
    let kinds: Vec<&str> = resources
        .iter()
        .filter(|phased| phased.desired.address.kind() == "certificate")
        .map(|phased| phased.desired.address.name())
        .collect();
    assert!(!kinds.contains(&"ca") && !kinds.contains(&"apiserver"), "{kinds:?}");
    assert!(kinds.contains(&"front-proxy-client"));
    assert!(resources.iter().all(|phased| !phased.phase.starts_with("kubeconfig/")
        || phased.desired.address.kind() == "kubernetes_object"));
    let manifest = get(&resources, "static_pod.kube-controller-manager").attributes.get("manifest").unwrap();
    assert!(manifest.as_str().unwrap().contains("--cluster-signing-key-file=\n"));
}

#[test]
fn hosts_keep_their_resources_apart() {
    let mut inputs = discovered();
    inputs.shared_after = vec![Address::new("keypair", "ca")];
    let resources = on_host(join_control_plane(&joining(true), &facts(), &inputs).unwrap(), "cp-1");
    let pod = get(&resources, "static_pod.cp-1/etcd");
    assert_eq!(pod.attributes.get("host").unwrap().as_str(), Some("cp-1"));
    let names: Vec<String> = pod.dependencies().iter().map(ToString::to_string).collect();
    assert!(names.contains(&"etcd_member.cp-1/etcd".to_owned()), "{names:?}");
    let leaf = get(&resources, "certificate.cp-1/apiserver").dependencies();
    assert!(leaf.iter().any(|address| address.to_string() == "file.cp-1/pki/ca.crt"), "{leaf:?}");
    let shared = get(&resources, "file.cp-1/pki/ca.crt").dependencies();
    assert_eq!(shared, [Address::new("keypair", "ca")]);
    assert!(resources.iter().any(|phased| phased.desired.address.to_string() == "kubernetes_node.cp0"));
}

#[test]
fn our_own_profile_is_narrower() {
    let resources = &all()[1].1;
    let api = get(resources, "static_pod.kube-apiserver");
    let manifest = api.attributes.get("manifest").unwrap().as_str().unwrap().to_owned();
    for flag in [
        "--encryption-provider-config=",
        "--authentication-config=",
        "--audit-log-path=",
        "--kubelet-certificate-authority=",
        "--shutdown-send-retry-after=true",
    ] {
        assert!(manifest.contains(flag), "{flag}");
    }
    let secret = get(resources, "file.encryption-configuration").attributes.get("content").unwrap();
    assert!(matches!(secret, Value::Secret(_)));
    let plain = get(&all()[0].1, "static_pod.kube-apiserver").clone();
    assert!(!plain.attributes.get("manifest").unwrap().as_str().unwrap().contains("authentication-config"));
}

#[test]
fn what_is_missing_is_named() {
    let mut unknown = configuration();
    unknown.node.bootstrap_tokens[0].token = None;
    assert_eq!(init(&unknown, &facts(), &Inputs::default()).unwrap_err().code(), "EXPAND0010");
    let error = join_worker(&joining(false), &facts(), &Inputs::default()).unwrap_err();
    assert_eq!(error.code(), "EXPAND0011");
}

#[test]
fn cluster_info_names_the_authority_when_it_is_made() {
    let resources = init(&configuration(), &facts(), &Inputs::default()).unwrap();
    let object = get(&resources, "kubernetes_object.ConfigMap/kube-public/cluster-info");
    let text = object.attributes.at(&"manifest.data.kubeconfig".parse().unwrap()).unwrap();
    let text = text.resolve(&mut |found| {
        assert_eq!(found.to_owned().address.to_string(), "certificate.ca");
        "LS0t".into()
    });
    assert!(text.as_str().unwrap().contains("certificate-authority-data: LS0t\n"));
    // Its signatures follow the tokens and are not for a plan to keep.
    let data = object.attributes.at(&"manifest.data".parse().unwrap()).and_then(Value::as_map).unwrap();
    assert_eq!(data.keys().collect::<Vec<_>>(), ["kubeconfig"]);
}

#[test]
fn etcd_elsewhere_has_no_member_here() {
    let mut outside = configuration();
    outside.cluster.etcd = Etcd::External(crate::configuration::ExternalEtcd {
        endpoints: vec!["https://10.0.0.9:2379".to_owned()],
        ca_file: "/etcd/ca.crt".to_owned(),
        cert_file: "/etcd/client.crt".to_owned(),
        key_file: "/etcd/client.key".to_owned(),
    });
    let resources = init(&outside, &facts(), &Inputs::default()).unwrap();
    assert!(resources.iter().all(|phased| !phased.desired.address.kind().starts_with("etcd")));
}

#[test]
fn requests_are_made_for_everything_that_a_ca_elsewhere_signs() {
    let requests = certificate_requests(&configuration());
    let files: BTreeSet<String> = requests
        .iter()
        .filter_map(|phased| phased.desired.attributes.get("request_path")?.as_str().map(str::to_owned))
        .collect();
    // Those of `kubeadm certs generate-csr`.
    let mut expected: BTreeSet<String> = [
        "apiserver",
        "apiserver-etcd-client",
        "apiserver-kubelet-client",
        "etcd/healthcheck-client",
        "etcd/peer",
        "etcd/server",
        "front-proxy-client",
    ]
    .iter()
    .map(|name| format!("/etc/kubernetes/pki/{name}.csr"))
    .collect();
    let users = ["admin", "controller-manager", "kubelet", "scheduler", "super-admin"];
    expected.extend(users.iter().map(|name| format!("/etc/kubernetes/{name}.conf.csr")));
    assert_eq!(files, expected);
}

#[test]
fn what_is_read_once_starts_its_reader_again() {
    let resources = init(&configuration(), &facts(), &Inputs::default()).unwrap();
    for name in ["controller-manager", "scheduler"] {
        let pod = get(&resources, &format!("static_pod.kube-{name}"));
        let inputs = pod.attributes.get("volatile_inputs").unwrap();
        let mut seen = Vec::new();
        inputs.for_each_reference(&mut |found| seen.push(found.to_owned()));
        assert_eq!(seen.len(), 1);
        assert_eq!(seen[0].address.to_string(), format!("kubeconfig.{name}"));
        assert_eq!(seen[0].path.to_string(), "sha256");
    }
}

#[test]
fn our_own_profile_renews_before_the_end() {
    let before = |resources: &[Phased], address: &str| {
        get(resources, address).attributes.get("renew_before_seconds").and_then(Value::as_integer)
    };
    let (kubeadm, own) = (&all()[0].1, &all()[1].1);
    for address in ["certificate.apiserver", "kubeconfig.admin"] {
        assert_eq!(before(kubeadm, address), None);
        assert_eq!(before(own, address), Some(30 * 24 * 3_600));
    }
    // A CA is never renewed like that.
    assert_eq!(before(own, "certificate.ca"), None);
}
