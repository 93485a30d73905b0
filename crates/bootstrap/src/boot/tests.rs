use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use slipway_resource::{Address, Digest, Value};

use super::{DocumentError, NodeBootstrap, Part, ThisMachine, key_files};
use crate::configuration::{Detected, LocalEndpoint};
use crate::expand::{Discovered, Facts, Phased};

fn document(role: &str) -> Json {
    let mut document = json!({
        "apiVersion": "slipway.dev/v1alpha1",
        "kind": "NodeBootstrap",
        "cluster": {
            "name": "a.example.com", "provider": "aws", "ipFamily": "ipv4", "domain": "cluster.local",
            "dnsAddress": "10.96.0.10", "podCidrs": ["10.244.0.0/16"], "serviceCidrs": ["10.96.0.0/12"],
            "cni": {"name": "flannel"},
        },
        "node": {
            "pool": "one", "role": role, "architecture": "amd64", "kubernetesVersion": "1.34.4",
            "labels": {"tier": "gold", "node-role.kubernetes.io/node": ""},
            "sysctls": {"vm.max_map_count": "262144"},
            "files": [{"name": "motd", "path": "/etc/motd", "content": "hello"}],
        },
    });
    if role == "controlPlane" {
        document["controlPlane"] = json!({
            "names": ["api.example.com"], "nodePortRange": "30000-32767", "encrypted": ["secrets"],
            "serviceAccounts": {"issuer": "https://kubernetes.default.svc.cluster.local"},
        });
    }
    document
}

fn read(document: &Json) -> Result<NodeBootstrap, DocumentError> {
    let bytes = document.to_string();
    NodeBootstrap::read(bytes.as_bytes(), Digest::of_bytes(bytes.as_bytes()).as_str())
}

fn machine() -> ThisMachine {
    let detected = Detected { hostname: "n1".to_owned(), ..Detected::default() };
    let facts = Facts { hostname: "n1".to_owned(), ..Facts::default() };
    let provider_id = Some("aws:///us-east-1a/i-1".to_owned());
    ThisMachine { detected, facts, provider_id, member: None, former_address: None }
}

fn endpoint() -> LocalEndpoint {
    LocalEndpoint { host: "api.example.com".to_owned(), port: 443 }
}

fn expand(document: &NodeBootstrap, part: &Part) -> Vec<Phased> {
    expand_on(&machine(), document, part)
}

fn expand_on(machine: &ThisMachine, document: &NodeBootstrap, part: &Part) -> Vec<Phased> {
    let begins = matches!(part, Part::Begins { .. } | Part::Continues { .. });
    let configuration = document.configuration(machine, &endpoint(), begins);
    document.expand(machine, &configuration, &endpoint(), part).unwrap()
}

fn attribute<'a>(phased: &'a [Phased], address: &str, name: &str) -> Option<&'a Value> {
    let address: Address = address.parse().unwrap();
    phased.iter().find(|phased| phased.desired.address == address)?.desired.attributes.get(name)
}

#[test]
fn a_document_with_another_digest_is_refused() {
    let text = document("worker").to_string();
    let error = NodeBootstrap::read(text.as_bytes(), Digest::of_bytes(b"").as_str()).unwrap_err();
    assert!(matches!(error, DocumentError::OtherDigest { .. }), "{error}");
}

#[test]
fn a_document_of_another_kind_version_or_role_is_refused() {
    let mut newer = document("worker");
    newer["apiVersion"] = "slipway.dev/v2".into();
    assert!(matches!(read(&newer), Err(DocumentError::OtherKind { .. })));
    let mut unknown = document("worker");
    unknown["node"]["colour"] = "blue".into();
    assert!(matches!(read(&unknown), Err(DocumentError::Unreadable(text)) if text.contains("colour")));
    assert!(matches!(read(&document("bastion")), Err(DocumentError::Role(_))));
    let mut bare = document("worker");
    bare["node"]["role"] = "controlPlane".into();
    assert!(matches!(read(&bare), Err(DocumentError::Unreadable(_))));
}

#[test]
fn the_first_control_plane_takes_its_keys_from_the_state() {
    let document = read(&document("controlPlane")).unwrap();
    let certificates: BTreeMap<String, String> =
        key_files().into_iter().map(|(_, public, _)| (public.to_owned(), format!("{public} text"))).collect();
    let phased = expand(&document, &Part::Begins { certificates });
    let content = attribute(&phased, "file.pki/etcd/ca.crt", "content");
    assert_eq!(content, Some(&Value::from("etcd/ca.crt text")));
    for (_, _, private) in key_files() {
        let content = attribute(&phased, &format!("file.pki/{private}"), "content");
        assert_eq!(content, Some(&Value::from(NodeBootstrap::key(private, None))), "{private}");
    }
    // No authority is made on the machine.
    assert!(phased.iter().all(|phased| phased.desired.attributes.get("is_ca") != Some(&true.into())));
    let encryption = attribute(&phased, "file.encryption-configuration", "content");
    assert_eq!(encryption, Some(&Value::from(NodeBootstrap::encryption(None))));
    assert!(
        attribute(&phased, "kubernetes_object.DaemonSet/kube-flannel/kube-flannel-ds", "manifest").is_some()
    );
    let node = attribute(&phased, "kubernetes_node.n1", "labels").unwrap();
    assert_eq!(node.get("node-role.kubernetes.io/node"), Some(&"".into()));
}

/// Objects in the cluster are installed through its API, once the cloud controller has removed the taint of a
/// new node.
#[test]
fn with_a_cloud_controller_a_machine_installs_no_add_ons() {
    let with_controller = |role: &str| {
        let mut document = document(role);
        document["cluster"]["cloudController"] = "[global]\n".into();
        document["addons"] = json!([{"name": "coredns"}]);
        read(&document).unwrap()
    };
    let phased = expand(&with_controller("controlPlane"), &Part::Begins { certificates: BTreeMap::new() });
    let content = attribute(&phased, "file.cloud-config", "content");
    assert_eq!(content, Some(&Value::from("[global]\n")));
    let names = format!("{:?}", attribute(&phased, "certificate.apiserver", "ip_addresses"));
    assert!(names.contains("127.0.0.1"), "{names}");
    let objects: Vec<&str> = phased
        .iter()
        .filter(|phased| phased.desired.address.kind() == "kubernetes_object")
        .map(|phased| phased.desired.address.name())
        .collect();
    assert!(objects.contains(&"DaemonSet/kube-system/kube-proxy"), "{objects:?}");
    assert!(!objects.iter().any(|name| name.contains("coredns") || name.contains("flannel")), "{objects:?}");
    assert_eq!(attribute(&phased, "kubernetes_node.n1", "ready"), Some(&false.into()));
    let discovered = Discovered {
        server: "https://10.0.0.1:443".to_owned(),
        authority: "authority".to_owned(),
        client_certificate: None,
    };
    for (role, part) in [
        ("controlPlane", Part::Begins { certificates: BTreeMap::new() }),
        ("worker", Part::JoinsAsWorker { discovered }),
    ] {
        let phased = expand(&with_controller(role), &part);
        let flags = attribute(&phased, "file.kubelet-flags", "content").unwrap().as_str().unwrap();
        assert!(flags.contains("--cloud-provider=external"), "{flags}");
        assert!(flags.contains("--provider-id=aws:///us-east-1a/i-1"), "{flags}");
    }
}

#[test]
fn a_worker_joins_with_its_token_and_gives_itself_the_labels_that_it_may() {
    let document = read(&document("worker")).unwrap();
    let discovered = Discovered {
        server: "https://10.0.0.1:443".to_owned(),
        authority: "authority".to_owned(),
        client_certificate: None,
    };
    let phased = expand(&document, &Part::JoinsAsWorker { discovered });
    let token = attribute(&phased, "kubeconfig.bootstrap-kubelet", "token");
    assert_eq!(token, Some(&Value::from(NodeBootstrap::token(None))));
    let flags = attribute(&phased, "file.kubelet-flags", "content").unwrap().as_str().unwrap();
    assert!(
        flags.contains("--node-labels=tier=gold ") || flags.contains("--node-labels=tier=gold\""),
        "{flags}"
    );
    assert!(document.without_effect().iter().any(|text| text.contains("node-role.kubernetes.io/node")));
    let kubelet: Address = "service.kubelet".parse().unwrap();
    let kubelet = phased.iter().find(|phased| phased.desired.address == kubelet).unwrap();
    for before in ["file.node-file-motd", "sysctl.vm.max_map_count", "sysctl.net.ipv4.ip_forward"] {
        assert!(kubelet.desired.depends_on.contains(&before.parse().unwrap()), "{before}");
    }
    assert!(phased.iter().all(|phased| !phased.desired.address.name().ends_with(".key")));
}

#[test]
fn a_machine_says_which_settings_of_static_pods_it_does_not_carry_out() {
    let mut set = document("controlPlane");
    set["components"] = json!({
        "scheduler": {"image": "registry.example.com/scheduler:1"},
        "apiServer": {"resources": {"cpuRequest": "200m"}},
        "cloudController": {"image": "registry.example.com/controller:1"},
    });
    let found = |document: &Json| read(document).unwrap().without_effect();
    let (before, after) = (found(&document("controlPlane")), found(&set));
    for (field, is_named) in [
        ("components.scheduler.image", true),
        ("components.apiServer.resources", true),
        ("components.cloudController.image", false),
    ] {
        let has = |found: &[String]| found.iter().any(|text| text.starts_with(field));
        assert!(!has(&before), "{field}: {before:?}");
        assert_eq!(has(&after), is_named, "{field}: {after:?}");
    }
}

#[test]
fn a_member_on_a_volume_keeps_its_name_and_never_begins_in_an_empty_folder() {
    let mut text = document("controlPlane");
    let member = |name: &str, pool: &str| json!({"name": name, "pool": pool});
    text["controlPlane"]["etcd"] = json!([
        {"name": "main", "members": [member("a", "one"), member("b", "two")], "backups": {}},
        {"name": "events", "members": [member("c", "one")], "backups": {}},
    ]);
    assert!(read(&text).unwrap().members_on_volumes().is_empty());
    text["controlPlane"]["etcdVolumes"] = true.into();
    let document = read(&text).unwrap();
    assert_eq!((document.members_on_volumes(), document.has_one_member()), (vec!["a".to_owned()], false));
    let on_volume = ThisMachine { member: Some("a".to_owned()), ..machine() };
    let discovered = Discovered {
        server: "https://10.0.0.1:443".to_owned(),
        authority: "authority".to_owned(),
        client_certificate: None,
    };
    let joins = Part::JoinsControlPlane {
        certificates: BTreeMap::new(),
        discovered,
        etcd_endpoints: vec!["https://10.0.0.9:2379".to_owned()],
    };
    for part in [Part::Begins { certificates: BTreeMap::new() }, joins] {
        let phased = expand_on(&on_volume, &document, &part);
        let of = |address: &str, name: &str| attribute(&phased, address, name).cloned();
        assert_eq!(of("etcd_member.etcd", "name"), Some("a".into()));
        assert_eq!(of("etcd_member.etcd", "data_dir"), Some("/var/lib/etcd/data".into()));
        let joins = matches!(part, Part::JoinsControlPlane { .. });
        assert_eq!(of("etcd_member.etcd", "members_on_volumes"), joins.then(|| Value::list(["a", "b"])));
        // The data outlives the node.
        assert_eq!(of("directory.etcd-data", "path"), Some("/var/lib/etcd/data".into()));
        assert_eq!(of("directory.etcd-data", "purge"), None);
        let manifest = of("static_pod.etcd", "manifest").unwrap().resolve(&mut |_| "members".into());
        let manifest = manifest.as_str().unwrap().to_owned();
        for line in [
            "--name=a\n",
            "--data-dir=/var/lib/etcd/data\n",
            "path: /var/lib/etcd/data\n      type: Directory\n",
        ] {
            assert!(manifest.contains(line), "{line}: {manifest}");
        }
        // Its certificates are those of the machine.
        let names = format!("{:?}", of("certificate.etcd-server", "dns_names"));
        assert!(names.contains("n1"), "{names}");
    }
    let plain = expand(&document, &Part::Begins { certificates: BTreeMap::new() });
    assert_eq!(attribute(&plain, "etcd_member.etcd", "name"), Some(&"n1".into()));
    assert_eq!(attribute(&plain, "etcd_member.etcd", "data_dir"), None);
    assert_eq!(attribute(&plain, "directory.etcd-data", "purge"), Some(&true.into()));
}

#[test]
fn a_machine_that_continues_a_cluster_makes_none_of_its_objects() {
    let document = read(&document("controlPlane")).unwrap();
    let begins = expand(&document, &Part::Begins { certificates: BTreeMap::new() });
    let former_address = Some("192.0.2.7".to_owned());
    let on_volume = ThisMachine { member: Some("a".to_owned()), former_address, ..machine() };
    let continues = expand_on(&on_volume, &document, &Part::Continues { certificates: BTreeMap::new() });
    let objects = |phased: &[Phased]| {
        phased.iter().filter(|phased| phased.desired.address.kind() == "kubernetes_object").count()
    };
    assert!(objects(&begins) > 5, "{}", objects(&begins));
    assert_eq!(objects(&continues), 0);
    // Members that know its former address only trust it there.
    let addresses = |certificate: &str| format!("{:?}", attribute(&continues, certificate, "ip_addresses"));
    assert!(addresses("certificate.etcd-peer").contains("192.0.2.7"));
    assert!(!addresses("certificate.etcd-server").contains("192.0.2.7"));
    for address in ["static_pod.kube-apiserver", "kubeconfig.kubelet", "kubernetes_node.n1"] {
        let address: Address = address.parse().unwrap();
        assert!(continues.iter().any(|phased| phased.desired.address == address), "{address}");
    }
}
