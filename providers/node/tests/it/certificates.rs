//! Certificates, keys and kubeconfigs: created, kept, renewed, and replaced if they do not fit.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;
use slipway_bootstrap::kubeconfig::Kubeconfig;
use slipway_bootstrap::pki::{Certificate, Pin, PrivateKey, Request, Template, verify};
use slipway_resource::{ErrorClass, Path, Value};

use super::bench::{Bench, secret, value};

const CA: &str = "/etc/kubernetes/pki/ca.crt";
const SERVER: &str = "/etc/kubernetes/pki/apiserver.crt";

fn ca() -> Value {
    value(json!({
        "path": CA, "key_path": "/etc/kubernetes/pki/ca.key", "common_name": "kubernetes",
        "is_ca": true, "key_algorithm": "ECDSA-P256", "validity_seconds": 315_360_000,
    }))
}

fn server(names: &[&str]) -> Value {
    value(json!({
        "path": SERVER, "key_path": "/etc/kubernetes/pki/apiserver.key",
        "ca_path": CA, "ca_key_path": "/etc/kubernetes/pki/ca.key",
        "common_name": "kube-apiserver", "dns_names": names, "ip_addresses": ["10.96.0.1"],
        "usages": ["server"], "key_algorithm": "ECDSA-P256",
    }))
}

fn admin(url: &str) -> Value {
    value(json!({
        "path": "/etc/kubernetes/admin.conf", "cluster_name": "kubernetes", "server": url, "ca_path": CA,
        "user_name": "kubernetes-admin", "common_name": "kubernetes-admin",
        "organizations": ["kubeadm:cluster-admins"], "key_algorithm": "ECDSA-P256",
    }))
}

fn certificate(bench: &Bench, path: &str) -> Certificate {
    Certificate::from_pem(&bench.text(path)).unwrap()
}

fn with(mut value: Value, name: &str, to: impl Into<Value>) -> Value {
    value.set(&Path::key(name), to.into());
    value
}

async fn made() -> Bench {
    let bench = Bench::new().await;
    bench.create("certificate.ca", ca()).await.unwrap();
    bench.create("certificate.apiserver", server(&["kubernetes", "node-1"])).await.unwrap();
    bench
}

#[tokio::test]
async fn a_server_gets_what_it_asks_for_and_a_changed_name_changes_the_certificate_alone() {
    let bench = made().await;
    let first = certificate(&bench, SERVER);
    assert!(verify::is_signed(&first, &[], &certificate(&bench, CA)));
    assert_eq!(first.names().dns, ["kubernetes", "node-1"]);
    let key = bench.text("/etc/kubernetes/pki/apiserver.key");
    assert!(!format!("{:?}", bench.discover().await).contains(key.lines().nth(1).unwrap()));
    let wanted = server(&["kubernetes", "node-1"]);
    assert_eq!(bench.changes("certificate.apiserver", SERVER, &wanted).await, [""; 0]);

    let more = server(&["kubernetes", "node-1", "api.example"]);
    let changes = bench.changes_since("certificate.apiserver", SERVER, &more, &wanted).await;
    assert_eq!(changes.len(), 1, "{changes:?}");
    bench.update("certificate.apiserver", SERVER, more.clone()).await.unwrap();
    assert!(certificate(&bench, SERVER).names().cover("api.example"));
    assert_eq!(bench.text("/etc/kubernetes/pki/apiserver.key"), key);
    // An entry that was requested once is removed when it is not desired any more.
    let changes = bench.changes_since("certificate.apiserver", SERVER, &wanted, &more).await;
    assert_eq!(changes.len(), 1, "{changes:?}");
}

#[tokio::test]
async fn tampering_shows_with_its_reason_and_is_mended() {
    let bench = made().await;
    let wanted = server(&["kubernetes", "node-1"]);
    let other =
        PrivateKey::generate(slipway_bootstrap::configuration::EncryptionAlgorithm::EcdsaP256).unwrap();
    bench.put("/etc/kubernetes/pki/apiserver.key", other.to_pem().unwrap().expose());
    let changes = bench.changes("certificate.apiserver", SERVER, &wanted).await;
    assert_eq!(changes, ["valid: false -> true"]);
    let found = bench.attributes("certificate.apiserver", SERVER).await;
    assert!(found.get("problems").unwrap().to_plain_text().contains("does not belong to the key"));
    bench.update("certificate.apiserver", SERVER, wanted.clone()).await.unwrap();
    assert_eq!(bench.changes("certificate.apiserver", SERVER, &wanted).await, [""; 0]);

    bench.put(SERVER, "no certificate");
    assert!(!bench.changes("certificate.apiserver", SERVER, &wanted).await.is_empty());
    bench.update("certificate.apiserver", SERVER, wanted.clone()).await.unwrap();
    assert_eq!(bench.changes("certificate.apiserver", SERVER, &wanted).await, [""; 0]);
}

/// The stages of a rotation: two authorities in one file, the one in use first.
#[tokio::test]
async fn a_certificate_follows_the_authority_that_signs_it() {
    const NEW: &str = "/etc/kubernetes/pki/new.crt";
    let bench = made().await;
    let new = with(with(ca(), "path", NEW), "key_path", "/etc/kubernetes/pki/new.key");
    bench.create("certificate.new", new).await.unwrap();
    let (old_text, new_text) = (bench.text(CA), bench.text(NEW));
    let pin = async |name: &str, path: &str| {
        let attributes = bench.attributes(name, path).await;
        attributes.get("public_key_sha256").and_then(Value::as_str).unwrap().to_owned()
    };
    let (old_pin, new_pin) = (pin("certificate.ca", CA).await, pin("certificate.new", NEW).await);
    let plain = server(&["kubernetes", "node-1"]);
    let old = with(plain.clone(), "signed_by", old_pin);
    let new = with(plain.clone(), "signed_by", new_pin);
    assert_eq!(bench.changes_since("certificate.apiserver", SERVER, &old, &plain).await, [""; 0]);

    // Both are accepted: nothing changes until the certificate has to be signed by the new one.
    bench.put(CA, &format!("{old_text}{new_text}"));
    assert_eq!(bench.changes_since("certificate.apiserver", SERVER, &old, &plain).await, [""; 0]);
    bench.put(CA, &format!("{new_text}{old_text}"));
    let changes = bench.changes_since("certificate.apiserver", SERVER, &new, &old).await;
    assert!(changes.iter().any(|change| change.starts_with("signed_by: ")), "{changes:?}");
    let key = bench.text("/etc/kubernetes/pki/apiserver.key");
    // The key of the authority in use is not there yet.
    assert!(bench.update("certificate.apiserver", SERVER, new.clone()).await.is_err());
    bench.put("/etc/kubernetes/pki/ca.key", &bench.text("/etc/kubernetes/pki/new.key"));
    bench.update("certificate.apiserver", SERVER, new.clone()).await.unwrap();
    let signed = certificate(&bench, SERVER);
    assert!(verify::is_signed(&signed, &[], &Certificate::from_pem(&new_text).unwrap()));
    assert_eq!(bench.text("/etc/kubernetes/pki/apiserver.key"), key);
    bench.put(CA, &new_text);
    assert_eq!(bench.changes("certificate.apiserver", SERVER, &new).await, [""; 0]);
    // Another authority than the wanted one signs nothing.
    let refused = bench.update("certificate.apiserver", SERVER, old).await.unwrap_err();
    assert_eq!(refused.class, ErrorClass::Conflict, "{refused}");
}

/// A server sends the certificate of its new authority that the old one has signed, until the old one is removed.
#[tokio::test]
async fn a_cross_certificate_follows_the_certificate_of_a_server() {
    const NEW: &str = "/etc/kubernetes/pki/new.crt";
    let bench = made().await;
    let authority = |path: &str, key: &str| {
        let named = with(with(ca(), "path", path), "key_path", key);
        with(named, "common_name", "kubernetes-ca-2")
    };
    bench.create("certificate.new", authority(NEW, "/etc/kubernetes/pki/new.key")).await.unwrap();
    let (old_text, new_text) = (bench.text(CA), bench.text(NEW));
    let (old, new) = (certificate(&bench, CA), certificate(&bench, NEW));
    let old_key = PrivateKey::from_pem(&bench.text("/etc/kubernetes/pki/ca.key")).unwrap();
    let template =
        Template::authority("kubernetes-ca-2", Timestamp::now(), Duration::from_secs(600)).unwrap();
    let cross = template.signed_by(new.public_key(), &old, &old_key).unwrap();
    let pin = |authority: &Certificate| Pin::of(authority.public_key()).to_string();
    let plain = server(&["kubernetes", "node-1"]);
    let (first, last) =
        (with(plain.clone(), "signed_by", pin(&old)), with(plain.clone(), "signed_by", pin(&new)));
    let between = with(last.clone(), "chain_pem", cross.to_pem());
    let chain = || Certificate::chain_from_pem(&bench.text(SERVER)).unwrap();
    let name = "certificate.apiserver";
    bench.update(name, SERVER, first.clone()).await.unwrap();

    bench.put(CA, &format!("{new_text}{old_text}"));
    bench.put("/etc/kubernetes/pki/ca.key", &bench.text("/etc/kubernetes/pki/new.key"));
    bench.update(name, SERVER, between.clone()).await.unwrap();
    assert_eq!(bench.changes_since(name, SERVER, &between, &between).await, [""; 0]);
    assert_eq!(chain()[1..], *std::slice::from_ref(&cross));
    for authority in [&old, &new] {
        assert!(verify::is_signed(&chain()[0], &chain()[1..], authority));
    }
    // The way back: the old authority, which has signed the cross-certificate, has not signed the certificate.
    bench.put(CA, &format!("{old_text}{new_text}"));
    let changes = bench.changes_since(name, SERVER, &first, &between).await;
    assert!(changes.iter().any(|change| change.starts_with("signed_by: ")), "{changes:?}");

    // Without the old authority, the same certificate stays alone.
    bench.put(CA, &new_text);
    let before = chain();
    let changes = bench.changes_since(name, SERVER, &last, &between).await;
    assert!(changes.iter().any(|change| change.starts_with("chain_pem")), "{changes:?}");
    bench.update(name, SERVER, last.clone()).await.unwrap();
    assert_eq!(chain(), before[..1]);
    assert_eq!(bench.changes_since(name, SERVER, &last, &last).await, [""; 0]);

    // Certificates that nobody asked for stay.
    let other = format!("{}{old_text}", bench.text(SERVER));
    bench.put(SERVER, &other);
    assert_eq!(bench.changes_since(name, SERVER, &last, &last).await, [""; 0]);
    bench.update(name, SERVER, last).await.unwrap();
    assert_eq!(bench.text(SERVER), other);
}

/// A kubeconfig has the same stages, and trusts both authorities from the first one on.
#[tokio::test]
async fn a_kubeconfig_follows_the_authorities() {
    const NEW: &str = "/etc/kubernetes/pki/new.crt";
    const CONFIG: &str = "/etc/kubernetes/admin.conf";
    let name = "kubeconfig.admin";
    let bench = made().await;
    let new = with(with(ca(), "path", NEW), "key_path", "/etc/kubernetes/pki/new.key");
    bench.create("certificate.new", new).await.unwrap();
    let (old_text, new_text) = (bench.text(CA), bench.text(NEW));
    let pin = async |name: &str, path: &str| {
        let attributes = bench.attributes(name, path).await;
        attributes.get("public_key_sha256").and_then(Value::as_str).unwrap().to_owned()
    };
    let (old_pin, new_pin) = (pin("certificate.ca", CA).await, pin("certificate.new", NEW).await);
    let plain = admin("https://192.0.2.10:6443");
    let stage = |trusts: &[&String], signer: &String| {
        let trusts = Value::list(trusts.iter().map(|pin| pin.as_str()));
        with(with(plain.clone(), "trusts", trusts), "signed_by", signer.as_str())
    };
    let first = stage(&[&old_pin, &new_pin], &old_pin);
    let second = stage(&[&old_pin, &new_pin], &new_pin);
    let last = stage(&[&new_pin], &new_pin);
    let trusted = || Kubeconfig::parse(&bench.text(CONFIG)).unwrap().cluster().unwrap().authority.unwrap();
    let client = || Kubeconfig::parse(&bench.text(CONFIG)).unwrap().certificate().unwrap().unwrap();
    bench.create(name, plain.clone()).await.unwrap();
    let before = client();

    // The file has both: nothing changes until the kubeconfig has to trust both.
    bench.put(CA, &format!("{old_text}{new_text}"));
    assert_eq!(bench.changes_since(name, CONFIG, &plain, &plain).await, [""; 0]);
    let changes = bench.changes_since(name, CONFIG, &first, &plain).await;
    assert!(changes.iter().any(|change| change.starts_with("trusts")), "{changes:?}");
    bench.update(name, CONFIG, first.clone()).await.unwrap();
    assert_eq!(bench.changes_since(name, CONFIG, &first, &first).await, [""; 0]);
    assert_eq!((trusted(), client()), (format!("{old_text}{new_text}"), before.clone()));

    bench.put(CA, &format!("{new_text}{old_text}"));
    bench.put("/etc/kubernetes/pki/ca.key", &bench.text("/etc/kubernetes/pki/new.key"));
    bench.update(name, CONFIG, second.clone()).await.unwrap();
    assert_eq!(bench.changes_since(name, CONFIG, &second, &second).await, [""; 0]);
    assert!(verify::is_signed(&client(), &[], &Certificate::from_pem(&new_text).unwrap()));

    bench.put(CA, &new_text);
    let after = client();
    bench.update(name, CONFIG, last.clone()).await.unwrap();
    assert_eq!(bench.changes_since(name, CONFIG, &last, &last).await, [""; 0]);
    assert_eq!((trusted(), client()), (new_text, after));
}

/// The file of the CA changes before the kubelet's kubeconfig does, which another resource changes.
#[tokio::test]
async fn the_authorities_of_a_kubelet_stay_while_one_of_them_is_trusted() {
    const KUBELET: &str = "/etc/kubernetes/kubelet.conf";
    let name = "kubeconfig.kubelet";
    let bench = made().await;
    let old = bench.text(CA);
    let new =
        with(with(ca(), "path", "/etc/kubernetes/pki/new.crt"), "key_path", "/etc/kubernetes/pki/new.key");
    bench.create("certificate.new", new).await.unwrap();
    let (new, key) = (bench.text("/etc/kubernetes/pki/new.crt"), bench.text("/etc/kubernetes/pki/new.key"));
    bench.put(CA, &format!("{new}{old}"));
    bench.put("/etc/kubernetes/pki/ca.key", &key);
    let plain = with(admin("https://192.0.2.10:6443"), "path", KUBELET);
    let kept = with(plain.clone(), "keep_authorities", true);
    bench.create(name, plain.clone()).await.unwrap();
    let both = bench.text(KUBELET);

    // Otherwise a plan after a kill would write the file, and its next step would not find it as it was.
    bench.put(CA, &new);
    let changes = bench.changes(name, KUBELET, &plain).await;
    assert!(changes.iter().any(|change| change.starts_with("valid")), "{changes:?}");
    bench.put(CA, &format!("{new}{old}"));
    bench.update(name, KUBELET, kept.clone()).await.unwrap();
    bench.put(CA, &new);
    assert_eq!(bench.changes(name, KUBELET, &kept).await, [""; 0]);
    // Nor does another change of the file change them.
    bench.update(name, KUBELET, with(kept, "user_name", "somebody")).await.unwrap();
    let trusted = |text: &str| Kubeconfig::parse(text).unwrap().cluster().unwrap().authority;
    assert_eq!(trusted(&bench.text(KUBELET)), trusted(&both));
}

#[tokio::test]
async fn what_ends_soon_is_renewed_with_a_new_key() {
    let bench = Bench::new().await;
    bench.create("certificate.ca", ca()).await.unwrap();
    let short = with(server(&["kubernetes"]), "validity_seconds", Value::Integer(3600));
    let short = with(short, "renew_before_seconds", Value::Integer(7200));
    bench.create("certificate.apiserver", short.clone()).await.unwrap();
    let (before, key) = (certificate(&bench, SERVER), bench.text("/etc/kubernetes/pki/apiserver.key"));
    let changes = bench.changes("certificate.apiserver", SERVER, &short).await;
    assert_eq!(changes, ["needs_renewal: true -> false"]);
    let long = with(short, "validity_seconds", Value::Integer(86_400));
    bench.update("certificate.apiserver", SERVER, long.clone()).await.unwrap();
    assert_ne!(certificate(&bench, SERVER).serial(), before.serial());
    assert_ne!(bench.text("/etc/kubernetes/pki/apiserver.key"), key);
    assert_eq!(bench.changes("certificate.apiserver", SERVER, &long).await, [""; 0]);
}

#[tokio::test]
async fn what_is_there_and_fits_is_kept_and_what_does_not_is_refused() {
    let bench = made().await;
    let (ca_text, server_text) = (bench.text(CA), bench.text(SERVER));
    std::fs::remove_dir_all(bench.path("/var/lib/slipway")).unwrap();
    bench.create("certificate.ca", ca()).await.unwrap();
    // The certificate has more entries than desired: kubeadm accepts it, too.
    let fewer = server(&["kubernetes"]);
    bench.create("certificate.apiserver", fewer.clone()).await.unwrap();
    assert_eq!((bench.text(CA), bench.text(SERVER)), (ca_text.clone(), server_text.clone()));
    assert_eq!(bench.changes("certificate.apiserver", SERVER, &fewer).await, [""; 0]);
    bench.delete("certificate.apiserver", SERVER).await.unwrap();
    assert_eq!(bench.text(SERVER), server_text, "it was there before");

    let refused = bench.create("certificate.apiserver", server(&["other.example"])).await.unwrap_err();
    assert_eq!(refused.class, ErrorClass::Conflict);
    assert!(refused.message.contains("does not hold other.example"), "{refused}");
}

#[tokio::test]
async fn with_an_external_ca_nothing_is_signed_and_requests_are_written() {
    let bench = made().await;
    std::fs::remove_file(bench.path("/etc/kubernetes/pki/ca.key")).unwrap();
    std::fs::remove_dir_all(bench.path("/var/lib/slipway")).unwrap();
    let wanted = ca();
    bench.create("certificate.ca", wanted.clone()).await.unwrap();
    assert_eq!(bench.changes("certificate.ca", CA, &wanted).await, [""; 0]);
    bench.create("certificate.apiserver", server(&["kubernetes"])).await.unwrap();
    let missing = with(server(&["kubernetes"]), "path", "/etc/kubernetes/pki/other.crt");
    let missing = with(missing, "key_path", "/etc/kubernetes/pki/other.key");
    let refused = bench.create("certificate.other", missing).await.unwrap_err();
    assert!(refused.message.contains("ca.key is not there"), "{refused}");
    assert!(!bench.path("/etc/kubernetes/pki/other.key").exists());

    let request = value(json!({
        "key_path": "/etc/kubernetes/pki/other.key", "request_path": "/etc/kubernetes/pki/other.csr",
        "common_name": "kube-apiserver", "dns_names": ["kubernetes"], "key_algorithm": "ECDSA-P256",
    }));
    bench.create("certificate_request.other", request.clone()).await.unwrap();
    let made = Request::from_pem(&bench.text("/etc/kubernetes/pki/other.csr")).unwrap();
    assert_eq!(made.subject().common_name, "kube-apiserver");
    let identity = "/etc/kubernetes/pki/other.csr";
    assert_eq!(bench.changes("certificate_request.other", identity, &request).await, [""; 0]);
}

#[tokio::test]
async fn a_kubeconfig_follows_its_server_and_keeps_its_key() {
    let bench = made().await;
    let (path, wanted) = ("/etc/kubernetes/admin.conf", admin("https://10.0.0.1:6443"));
    bench.create("kubeconfig.admin", wanted.clone()).await.unwrap();
    let document = Kubeconfig::parse(&bench.text(path)).unwrap();
    assert_eq!(document.current_context(), "kubernetes-admin@kubernetes");
    let client = document.certificate().unwrap().unwrap();
    assert_eq!(client.subject().organizations, ["kubeadm:cluster-admins"]);
    assert!(verify::is_signed(&client, &[], &certificate(&bench, CA)));
    assert_eq!(bench.changes("kubeconfig.admin", path, &wanted).await, [""; 0]);

    let moved = admin("https://10.0.0.2:6443");
    let changes = bench.changes_since("kubeconfig.admin", path, &moved, &wanted).await;
    assert_eq!(changes, ["server: https://10.0.0.1:6443 -> https://10.0.0.2:6443"]);
    bench.update("kubeconfig.admin", path, moved.clone()).await.unwrap();
    let now = Kubeconfig::parse(&bench.text(path)).unwrap();
    assert_eq!(now.certificate().unwrap().unwrap().serial(), client.serial());
    bench.put(path, "no kubeconfig at all: [");
    assert!(!bench.changes("kubeconfig.admin", path, &moved).await.is_empty());
}

#[tokio::test]
async fn a_kubeconfig_that_ends_soon_is_renewed_and_those_who_read_it_can_tell() {
    let bench = made().await;
    let (path, wanted) = ("/etc/kubernetes/admin.conf", admin("https://10.0.0.1:6443"));
    let soon = with(with(wanted, "validity_seconds", 3600_i64), "renew_before_seconds", 7200_i64);
    bench.create("kubeconfig.admin", soon.clone()).await.unwrap();
    let digest = async || bench.attributes("kubeconfig.admin", path).await.get("sha256").cloned().unwrap();
    let before = digest().await;
    assert_eq!(bench.changes("kubeconfig.admin", path, &soon).await, ["needs_renewal: true -> false"]);
    let reasons = bench.reasons("kubeconfig.admin", path, &soon).await;
    assert!(reasons.iter().any(|text| text.contains("a successor is made")), "{reasons:?}");
    let later = with(soon, "renew_before_seconds", 60_i64);
    bench.update("kubeconfig.admin", path, later.clone()).await.unwrap();
    assert_eq!(bench.changes("kubeconfig.admin", path, &later).await, [""; 0]);
    assert!(bench.reasons("kubeconfig.admin", path, &later).await.is_empty());
    assert_eq!(digest().await, before, "an hour is enough now, and it stays");
}

#[tokio::test]
async fn a_token_in_a_kubeconfig_is_compared_and_not_shown() {
    let bench = made().await;
    let path = "/etc/kubernetes/bootstrap-kubelet.conf";
    let wanted = value(json!({
        "path": path, "cluster_name": "kubernetes", "server": "https://10.0.0.1:6443", "ca_path": CA,
        "user_name": "tls-bootstrap-token-user",
    }));
    let wanted = with(wanted, "token", secret("abcdef.0123456789abcdef"));
    bench.create("kubeconfig.bootstrap", wanted.clone()).await.unwrap();
    assert!(bench.text(path).contains("abcdef.0123456789abcdef"));
    assert!(!format!("{:?}", bench.discover().await).contains("0123456789abcdef"));
    assert_eq!(bench.changes("kubeconfig.bootstrap", path, &wanted).await, [""; 0]);
    bench.put(path, &bench.text(path).replace("abcdef.", "fedcba."));
    let changes = bench.changes("kubeconfig.bootstrap", path, &wanted).await;
    assert_eq!(changes, ["valid: false -> true"]);
    let ledger = std::fs::read_dir(bench.path("/var/lib/slipway/owned")).unwrap();
    for entry in ledger {
        assert!(!std::fs::read_to_string(entry.unwrap().path()).unwrap().contains("0123456789abcdef"));
    }
}

#[tokio::test]
async fn a_kubelets_kubeconfig_comes_to_name_the_file_that_it_renews() {
    let bench = made().await;
    let (path, current) = ("/etc/kubernetes/kubelet.conf", "/var/lib/kubelet/pki/kubelet-client-current.pem");
    let wanted = with(admin("https://10.0.0.1:6443"), "path", path);
    bench.create("kubeconfig.kubelet", wanted.clone()).await.unwrap();
    let document = Kubeconfig::parse(&bench.text(path)).unwrap();
    let both = format!(
        "{}{}",
        document.certificate().unwrap().unwrap().to_pem(),
        document.key().unwrap().unwrap().to_pem().unwrap().expose()
    );
    bench.put(current, &both);
    let rotation = value(json!({"name": "kubelet", "kubeconfig_path": path, "certificate_path": current}));
    bench.create("kubelet_credentials.kubelet", rotation.clone()).await.unwrap();
    let document = Kubeconfig::parse(&bench.text(path)).unwrap();
    assert_eq!(document.client_files().unwrap().0, current);
    assert_eq!(bench.changes("kubeconfig.kubelet", path, &wanted).await, [""; 0]);
    assert_eq!(bench.changes("kubelet_credentials.kubelet", "kubelet", &rotation).await, [""; 0]);
    // A new server leaves the file in it.
    let moved = with(wanted, "server", "https://10.0.0.2:6443");
    bench.update("kubeconfig.kubelet", path, moved).await.unwrap();
    let document = Kubeconfig::parse(&bench.text(path)).unwrap();
    assert_eq!(document.client_files().unwrap().0, current);
    assert_eq!(document.cluster().unwrap().server, "https://10.0.0.2:6443");
    // Or it is left to the resource that restarts the kubelet too, also when the file is made again.
    let kept = with(with(admin("https://10.0.0.3:6443"), "path", path), "keep_server", true);
    assert_eq!(bench.changes("kubeconfig.kubelet", path, &kept).await, [""; 0]);
    bench.put(path, &bench.text(path).replace("kubernetes-admin@", "somebody@"));
    bench.update("kubeconfig.kubelet", path, kept).await.unwrap();
    let document = Kubeconfig::parse(&bench.text(path)).unwrap();
    assert_eq!(document.cluster().unwrap().server, "https://10.0.0.2:6443");
}

#[tokio::test]
async fn a_key_pair_is_made_once() {
    let bench = Bench::new().await;
    let (private, public) = ("/etc/kubernetes/pki/sa.key", "/etc/kubernetes/pki/sa.pub");
    let wanted = value(json!({"private_path": private, "public_path": public, "algorithm": "ECDSA-P256"}));
    bench.create("key_pair.sa", wanted.clone()).await.unwrap();
    let key = PrivateKey::from_pem(&bench.text(private)).unwrap();
    assert_eq!(key.public_key().to_pem(), bench.text(public));
    assert_eq!(bench.changes("key_pair.sa", public, &wanted).await, [""; 0]);
    bench.put(public, "no key");
    assert_eq!(bench.changes("key_pair.sa", public, &wanted).await, ["valid: false -> true"]);
    bench.update("key_pair.sa", public, wanted).await.unwrap();
    assert_eq!(key.public_key().to_pem(), bench.text(public));
    bench.delete("key_pair.sa", public).await.unwrap();
    assert!(!bench.path(private).exists() && !bench.path(public).exists());
}

#[tokio::test]
async fn what_the_kubelet_came_with_goes_when_it_has_its_own() {
    let bench = made().await;
    let (path, kubelet) = ("/etc/kubernetes/bootstrap-kubelet.conf", "/etc/kubernetes/kubelet.conf");
    let current = "/var/lib/kubelet/pki/kubelet-client-current.pem";
    let wanted = value(json!({
        "path": path, "cluster_name": "kubernetes", "server": "https://10.0.0.1:6443",
        "certificate_authority": bench.text(CA), "user_name": "tls-bootstrap-token-user", "superseded_by": kubelet,
    }));
    let wanted = with(wanted, "token", secret("abcdef.0123456789abcdef"));
    bench.create("kubeconfig.bootstrap-kubelet", wanted.clone()).await.unwrap();
    assert_eq!(bench.changes("kubeconfig.bootstrap-kubelet", path, &wanted).await, [""; 0]);
    let credentials = value(json!({
        "name": "kubelet", "kubeconfig_path": kubelet, "certificate_path": current,
        "bootstrap_kubeconfig_path": path, "timeout_seconds": 1,
    }));
    let error = bench.create("kubelet_credentials.kubelet", credentials.clone()).await.unwrap_err();
    assert!(error.message.contains("has not written"), "{error}");
    // As the kubelet does.
    let own = with(admin("https://10.0.0.1:6443"), "path", "/tmp/own.conf");
    bench.create("kubeconfig.own", own).await.unwrap();
    let document = Kubeconfig::parse(&bench.text("/tmp/own.conf")).unwrap();
    bench.put(current, &document.certificate().unwrap().unwrap().to_pem());
    let document = document.with_certificate_files(current, current).unwrap();
    bench.put(kubelet, document.to_yaml().expose());
    bench.create("kubelet_credentials.kubelet", credentials.clone()).await.unwrap();
    assert!(!bench.path(path).exists());
    assert_eq!(bench.changes("kubeconfig.bootstrap-kubelet", path, &wanted).await, [""; 0]);
    assert_eq!(bench.changes("kubelet_credentials.kubelet", "kubelet", &credentials).await, [""; 0]);
    bench.delete("kubelet_credentials.kubelet", "kubelet").await.unwrap();
    assert!(!bench.path(kubelet).exists() && !bench.path("/var/lib/kubelet/pki").exists());
}
