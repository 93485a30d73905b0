use std::time::Duration;

use jiff::Timestamp;
use slipway_resource::SecretText;

use super::{Credentials, Error, Kubeconfig, Problem, client_certificate};
use crate::{
    configuration::EncryptionAlgorithm,
    pki::{Certificate, PrivateKey, Subject, Template, verify},
};

const DAY: Duration = Duration::from_secs(86_400);
const SERVER: &str = "https://api.test:6443";

fn now() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

fn authority() -> (Certificate, PrivateKey) {
    let key = PrivateKey::generate(EncryptionAlgorithm::EcdsaP256).unwrap();
    (Template::authority("kubernetes", now(), DAY * 10).unwrap().self_signed(&key).unwrap(), key)
}

fn made(cluster: &str, server: &str, user: &str) -> (Kubeconfig, Certificate) {
    let (certificate, key) = authority();
    let subject = Subject::new(user).with_organizations(["a", "b"]);
    let algorithm = EncryptionAlgorithm::EcdsaP256;
    let credentials = client_certificate(&subject, algorithm, &certificate, &key, now(), DAY).unwrap();
    (Kubeconfig::new(cluster, server, &certificate.to_pem(), user, &credentials), certificate)
}

#[test]
fn what_is_written_is_read_back() {
    let (kubeconfig, authority) = made("kubernetes", SERVER, "ada");
    let read = Kubeconfig::parse(kubeconfig.to_yaml().expose()).unwrap();
    assert_eq!(read, kubeconfig);
    let cluster = read.cluster().unwrap();
    assert_eq!((cluster.name.as_str(), cluster.server.as_str()), ("kubernetes", SERVER));
    assert_eq!(cluster.authority.unwrap(), authority.to_pem());
    assert_eq!(read.user().unwrap(), "ada");
    let certificate = read.certificate().unwrap().unwrap();
    assert_eq!(certificate.subject(), &Subject::new("ada").with_organizations(["a", "b"]));
    assert_eq!(certificate.not_after(), now() + DAY);
    assert_eq!(read.key().unwrap().unwrap().public_key(), certificate.public_key());
    assert!(read.has_credentials());
}

#[test]
fn what_is_wrong_is_found() {
    let (kubeconfig, authority) = made("kubernetes", SERVER, "ada");
    let subject = Subject::new("ada").with_organizations(["b", "a"]);
    let check = |server, authority: &Certificate, subject: &Subject, now| {
        kubeconfig.check(server, std::slice::from_ref(authority), None, Some(subject), now)
    };
    assert_eq!(check(SERVER, &authority, &subject, now()), []);
    let (_, other) = made("kubernetes", SERVER, "ada");
    assert_eq!(check(SERVER, &other, &subject, now())[0], Problem::OtherAuthority);
    let found = check("https://other:6443", &authority, &subject, now());
    assert!(matches!(found[..], [Problem::OtherServer { .. }]) && !found[0].is_fatal());
    let found = check(SERVER, &authority, &Subject::new("bob"), now());
    assert!(matches!(found[..], [Problem::Certificate(verify::Problem::OtherSubject { .. })]));
    let found = check(SERVER, &authority, &subject, now() + DAY * 2);
    assert!(matches!(found[..], [Problem::Certificate(verify::Problem::Expired(_))]));
}

#[test]
fn a_cluster_without_a_name_is_the_one_that_is_meant() {
    let info = Kubeconfig::cluster_info(SERVER, "pem");
    let text = info.to_yaml();
    assert_eq!(
        text.expose(),
        "apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority-data: cGVt\n    server: https://api.test:6443\n  name: \"\"\n\
         contexts: null\ncurrent-context: \"\"\nkind: Config\nusers: null\n"
    );
    let read = Kubeconfig::parse(text.expose()).unwrap();
    assert_eq!(read.cluster().unwrap().server, SERVER);
    assert!(!read.has_credentials());
}

#[test]
fn other_texts_are_refused_without_showing_them() {
    for text in ["", "- a", "kind: Pod", "clusters: 3", "a: b: hunter2"] {
        let error = Kubeconfig::parse(text).unwrap_err();
        assert!(matches!(error, Error::Malformed(_)), "{text}");
        assert!(!error.to_string().contains("hunter2"));
    }
    let error = Kubeconfig::parse("{}").unwrap().cluster().unwrap_err();
    assert!(matches!(error, Error::NoCurrent(_)));
}

#[test]
fn no_output_shows_what_is_secret() {
    let token = Credentials::Token(SecretText::new("hunter2"));
    let kubeconfig = Kubeconfig::new("c", SERVER, "", "u", &token);
    assert!(!format!("{token:?}{kubeconfig:?}{:?}", kubeconfig.to_yaml()).contains("hunter2"));
    assert_eq!(kubeconfig.token().unwrap().expose(), "hunter2");
}

const MINE: &str = "apiVersion: v1
kind: Config
preferences: {colors: true}
clusters:
- name: work
  cluster: {server: https://work, proxy-url: http://proxy}
- name: kubernetes
  cluster: {server: https://old, certificate-authority-data: eA==}
contexts:
- name: work
  context: {cluster: work, user: me, namespace: mine}
current-context: work
users:
- name: me
  user: {exec: {command: login, apiVersion: v1}}
";

#[test]
fn a_users_file_keeps_what_it_had() {
    let file = Kubeconfig::parse(MINE).unwrap();
    let (ours, _) = made("kubernetes", SERVER, "ada");
    let refused = ours.merged_over(&file, false, false).unwrap_err();
    assert_eq!(refused, Error::Taken { kind: "cluster", names: vec!["kubernetes".to_owned()] });

    let merged = ours.merged_over(&file, false, true).unwrap();
    assert_eq!(merged.replaced, [("cluster", "kubernetes".to_owned())]);
    let text = merged.kubeconfig.to_yaml();
    for kept in ["proxy-url: http://proxy", "namespace: mine", "colors: true", "current-context: work"] {
        assert!(text.expose().contains(kept), "{kept}");
    }
    let again = ours.merged_over(&merged.kubeconfig, true, false).unwrap();
    assert_eq!((again.replaced.len(), again.kubeconfig.current_context()), (0, "ada@kubernetes"));
    assert_eq!(again.kubeconfig.user().unwrap(), "ada");

    let without = ours.removed_from(&again.kubeconfig);
    assert_eq!(without.current_context(), "");
    assert!(without.to_yaml().expose().contains("proxy-url") && !without.to_yaml().expose().contains("ada"));
}

#[test]
fn credentials_are_exchanged_in_their_place() {
    let (ours, _) = made("kubernetes", SERVER, "ada");
    let merged = ours.merged_over(&Kubeconfig::parse(MINE).unwrap(), true, true).unwrap().kubeconfig;
    let files = merged.clone().with_certificate_files("/a.pem", "/a.pem").unwrap();
    assert!(files.certificate().unwrap().is_none() && files.has_credentials());
    let (other, _) = made("kubernetes", SERVER, "ada");
    let certificate = other.certificate().unwrap().unwrap();
    let key = other.key().unwrap().unwrap().to_pem().unwrap();
    let renewed = files.with_certificate(&certificate.to_pem(), &key).unwrap();
    assert_eq!(renewed.certificate().unwrap().unwrap(), certificate);
    assert!(!renewed.to_yaml().expose().contains("/a.pem"));
    let moved = renewed.with_server("https://new:6443", None).unwrap();
    assert_eq!(moved.cluster().unwrap().server, "https://new:6443");
    assert!(moved.to_yaml().expose().contains("https://work"));
}

#[test]
fn an_empty_file_becomes_ours() {
    let (ours, _) = made("kubernetes", SERVER, "ada");
    let merged = ours.merged_over(&Kubeconfig::empty(), false, false).unwrap();
    assert_eq!(merged.kubeconfig, ours);
}
