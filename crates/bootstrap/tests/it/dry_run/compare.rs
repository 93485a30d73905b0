//! Both sides held against each other.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value as Json, json};
use slipway_bootstrap::expand::Phased;
use slipway_bootstrap::kubeconfig::Kubeconfig;
use slipway_bootstrap::pki::{Certificate, Usage};
use slipway_resource::{Desired, Secret, Value};

use super::differences;
use super::output::{DryRun, name};

type Wrong = BTreeMap<String, String>;

fn text<'a>(desired: &'a Desired, attribute: &str) -> &'a str {
    desired.attributes.get(attribute).and_then(Value::as_str).unwrap_or_default()
}

fn texts(desired: &Desired, attribute: &str) -> Vec<String> {
    let items = desired.attributes.get(attribute).and_then(Value::as_list).unwrap_or_default();
    items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

fn of_kind<'a>(ours: &'a [Phased], kind: &'a str) -> impl Iterator<Item = &'a Desired> {
    ours.iter().map(|phased| &phased.desired).filter(move |desired| desired.address.kind() == kind)
}

/// Manifests and the kubelet's files: byte for byte.
pub fn files(theirs: &DryRun, ours: &[Phased], wrong: &mut Wrong) {
    let pods = of_kind(ours, "static_pod").map(|pod| (text(pod, "path"), text(pod, "manifest")));
    let files = of_kind(ours, "file").map(|file| (text(file, "path"), text(file, "content")));
    let ours: BTreeMap<String, &str> =
        pods.chain(files).map(|(path, text)| (path.rsplit('/').next().unwrap().to_owned(), text)).collect();
    for known in [
        "etcd.yaml",
        "kube-apiserver.yaml",
        "kube-controller-manager.yaml",
        "kube-scheduler.yaml",
        "config.yaml",
        "instance-config.yaml",
        "kubeadm-flags.env",
    ] {
        let (a, b) = (theirs.file(known), ours.get(known));
        if a.as_deref() != b.copied() {
            wrong.insert(known.to_owned(), diff(a.as_deref().unwrap_or("(none)"), b.unwrap_or(&"(none)")));
        }
    }
}

/// Every certificate's subject, names, uses and signer.
pub fn certificates(theirs: &DryRun, ours: &[Phased], folder: &str, wrong: &mut Wrong) {
    for desired in of_kind(ours, "certificate") {
        let file = text(desired, "path").strip_prefix(folder).unwrap().trim_start_matches('/');
        let Some(pem) = theirs.file(file) else {
            wrong.insert(file.to_owned(), "kubeadm would not make it".to_owned());
            continue;
        };
        let certificate = Certificate::from_pem(&pem).unwrap();
        let subject = certificate.subject();
        let names = certificate.names();
        let usages: Vec<&str> = certificate
            .usages()
            .iter()
            .map(|usage| match usage {
                Usage::Server => "server",
                Usage::Client => "client",
            })
            .collect();
        let theirs = json!({
            "common_name": subject.common_name, "organizations": subject.organizations,
            "dns_names": names.dns, "ip_addresses": names.ip.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "usages": usages, "is_ca": certificate.is_ca(),
        });
        let ours = json!({
            "common_name": text(desired, "common_name"), "organizations": texts(desired, "organizations"),
            "dns_names": texts(desired, "dns_names"), "ip_addresses": texts(desired, "ip_addresses"),
            "usages": texts(desired, "usages"),
            "is_ca": desired.attributes.get("is_ca").and_then(Value::as_bool),
        });
        if theirs != ours {
            wrong.insert(file.to_owned(), format!("kubeadm {theirs}\nours    {ours}"));
        }
    }
}

/// Every kubeconfig's cluster, server, user, and the subject of its certificate.
pub fn kubeconfigs(theirs: &DryRun, ours: &[Phased], wrong: &mut Wrong) {
    for desired in of_kind(ours, "kubeconfig") {
        let file = text(desired, "path").rsplit('/').next().unwrap();
        let Some(content) = theirs.file(file) else {
            wrong.insert(file.to_owned(), "kubeadm would not make it".to_owned());
            continue;
        };
        let kubeconfig = Kubeconfig::parse(&content).unwrap();
        let certificate = kubeconfig.certificate().unwrap().unwrap();
        let subject = certificate.subject();
        let theirs = json!({
            "context": kubeconfig.current_context(), "server": kubeconfig.cluster().unwrap().server,
            "user": kubeconfig.user().unwrap(), "common_name": subject.common_name,
            "organizations": subject.organizations,
        });
        let user = text(desired, "user_name");
        let ours = json!({
            "context": format!("{user}@{}", text(desired, "cluster_name")), "server": text(desired, "server"),
            "user": user, "common_name": text(desired, "common_name"),
            "organizations": texts(desired, "organizations"),
        });
        if theirs != ours {
            wrong.insert(file.to_owned(), format!("kubeadm {theirs}\nours    {ours}"));
        }
    }
}

/// Every API object, but for what the list of differences names.
pub fn objects(theirs: &DryRun, ours: &[Phased], wrong: &mut Wrong) {
    let mut expected = theirs.objects.clone();
    for desired in of_kind(ours, "kubernetes_object") {
        let object = plain(desired.attributes.get("manifest").unwrap());
        let name = name(&object);
        let found = expected.remove(&name);
        if differences::is_listed(&name) {
            continue;
        }
        let Some(found) = found else {
            wrong.insert(name, "kubeadm would not post it".to_owned());
            continue;
        };
        let theirs = differences::without(&name, unified(&name, found));
        let ours = differences::without(&name, unified(&name, object));
        if theirs != ours {
            wrong.insert(name, diff(&format!("{theirs:#}"), &format!("{ours:#}")));
        }
    }
    for name in expected.into_keys() {
        wrong.insert(name, "only kubeadm would post it".to_owned());
    }
}

/// A manifest with the texts of its secrets, and with a word for what other resources tell.
fn plain(manifest: &Value) -> Json {
    let mut manifest = manifest.resolve(&mut |_| "(key material)".into());
    let path = "stringData.token-secret".parse().unwrap();
    if let Some(Value::Secret(Secret { text: Some(text), .. })) = manifest.at(&path) {
        let text = text.expose().to_owned();
        manifest.set(&path, text.into());
    }
    manifest.to_json()
}

/// Both forms of a Secret's values as one, and a kubeconfig's text as the object that it is.
fn unified(name: &str, mut object: Json) -> Json {
    if let Some(Json::Object(texts)) = object.as_object_mut().unwrap().remove("stringData") {
        let data: Map<String, Json> = texts
            .into_iter()
            .map(|(key, value)| (key, BASE64_STANDARD.encode(value.as_str().unwrap()).into()))
            .collect();
        object["data"] = data.into();
    }
    if name == "ConfigMap/kube-public/cluster-info" {
        let text = object["data"]["kubeconfig"].as_str().unwrap().to_owned();
        let mut lines = Map::new();
        // Kept line by line: its bytes are signed.
        for (number, line) in text.lines().enumerate() {
            match line.trim_start().split_once("certificate-authority-data: ") {
                Some(_) => lines.insert("certificate-authority-data".to_owned(), line.into()),
                None => lines.insert(format!("{number:02}"), line.into()),
            };
        }
        object["data"]["kubeconfig"] = lines.into();
    }
    object
}

/// The lines that only one side has.
fn diff(theirs: &str, ours: &str) -> String {
    let changes = similar::TextDiff::from_lines(theirs, ours);
    changes.unified_diff().context_radius(2).header("kubeadm", "ours").to_string()
}
