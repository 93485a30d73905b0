//! Both sides held against each other.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value as Json, json};
use slipway_bootstrap::expand::Phased;
use slipway_bootstrap::kubeconfig::Kubeconfig;
use slipway_bootstrap::pki::{Certificate, Usage};
use slipway_resource::{Desired, Value};

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
    let pods = of_kind(ours, "static_pod").map(|pod| (text(pod, "path"), manifest(pod)));
    let files = of_kind(ours, "file").map(|file| (text(file, "path"), text(file, "content").to_owned()));
    let name = |path: &str| path.rsplit('/').next().unwrap().to_owned();
    let ours: BTreeMap<String, String> = pods.chain(files).map(|(path, text)| (name(path), text)).collect();
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
        if a.as_deref() != b.map(String::as_str) {
            wrong.insert(
                known.to_owned(),
                diff(a.as_deref().unwrap_or("(none)"), b.map_or("(none)", String::as_str)),
            );
        }
    }
}

/// The text of a pod's manifest. A member that joins etcd has the names of all members in it, which a dry run does not
/// have: kubeadm writes that of a first member then.
fn manifest(pod: &Desired) -> String {
    let manifest = pod.attributes.get("manifest").unwrap();
    let text = manifest.resolve(&mut |_| differences::FIRST_MEMBER.into());
    let text = text.as_str().unwrap();
    let first = |line: &&str| line.trim() != "- --initial-cluster-state=existing";
    let lines: Vec<&str> = text.split('\n').filter(first).collect();
    let own = lines.iter().find_map(|line| line.trim().strip_prefix("- --initial-advertise-peer-urls="));
    let name = lines.iter().find_map(|line| line.trim().strip_prefix("- --name="));
    let member = format!("{}={}", name.unwrap_or_default(), own.unwrap_or_default());
    lines.join("\n").replace(differences::FIRST_MEMBER, &member)
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
        let mut theirs = json!({
            "context": kubeconfig.current_context(), "server": kubeconfig.cluster().unwrap().server,
            "user": kubeconfig.user().unwrap(),
        });
        let user = text(desired, "user_name");
        let mut ours = json!({
            "context": format!("{user}@{}", text(desired, "cluster_name")), "server": text(desired, "server"),
            "user": user,
        });
        if let Some(certificate) = kubeconfig.certificate().unwrap() {
            theirs["subject"] =
                json!([certificate.subject().common_name, certificate.subject().organizations]);
            ours["subject"] = json!([text(desired, "common_name"), texts(desired, "organizations")]);
        } else {
            theirs["token"] = kubeconfig.token().unwrap().expose().into();
            if let Some(Value::Secret(secret)) = desired.attributes.get("token")
                && let Some(token) = &secret.text
            {
                ours["token"] = token.expose().into();
            }
        }
        if theirs != ours {
            wrong.insert(file.to_owned(), format!("kubeadm {theirs}\nours    {ours}"));
        }
    }
}

/// Every API object, but for what the list of differences names.
pub fn objects(theirs: &DryRun, ours: &[Phased], wrong: &mut Wrong) {
    against(&theirs.objects, ours, wrong);
}

/// API objects against those that are expected.
pub fn against(expected: &BTreeMap<String, Json>, ours: &[Phased], wrong: &mut Wrong) {
    let mut expected = expected.clone();
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

/// A manifest with the texts of its secrets, and with placeholders for outputs of other resources.
fn plain(manifest: &Value) -> Json {
    let mut manifest = manifest.resolve(&mut |_| "(key material)".into());
    let path = "stringData.token-secret".parse().unwrap();
    if let Some(Value::Secret(secret)) = manifest.at(&path)
        && let Some(text) = &secret.text
    {
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
