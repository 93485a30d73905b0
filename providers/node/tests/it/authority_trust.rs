//! The authorities that a running etcd accepts, as it names them itself.

use serde_json::json;
use slipway_resource::{Path, Value};

use super::bench::value;
use super::etcd::{Host, PKI, first};

const ADDRESS: &str = "authority_trust.etcd-ca";

fn wanted(host: &Host, former: &[&str]) -> Value {
    let ca = format!("{PKI}/ca.crt");
    value(json!({
        "path": ca, "version": "1", "servers": [host.url()], "server_ca_path": ca, "former": former,
        "timeout_seconds": 1,
        // Only an API server publishes its authorities.
        "api_url": "https://127.0.0.1:6443", "api_ca_path": ca, "api_cert_path": ca, "api_key_path": ca,
    }))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authority_is_in_use_when_the_running_server_names_it() {
    let (host, etcd) = first().await;
    let (path, plain) = (format!("{PKI}/ca.crt"), wanted(&host, &[]));
    host.bench.create(ADDRESS, plain.clone()).await.unwrap();
    assert_eq!(host.bench.changes(ADDRESS, &path, &plain).await, [""; 0]);

    // An authority that the server has not read.
    let mut other = wanted(&host, &["etcd-ca"]);
    other.set(&Path::key("path"), format!("{PKI}/new.crt").into());
    let new = json!({
        "path": format!("{PKI}/new.crt"), "key_path": format!("{PKI}/new.key"), "common_name": "etcd-ca-2",
        "is_ca": true, "key_algorithm": "ECDSA-P256",
    });
    host.bench.create("certificate.new", value(new)).await.unwrap();
    let refused = host.bench.create("authority_trust.new", other).await.unwrap_err();
    assert!(refused.message.contains("does not accept the authority etcd-ca-2 yet"), "{refused}");

    // A second authority on the disk is not in use before the server has read it.
    let both = format!("{}{}", host.bench.text(&path), host.bench.text(&format!("{PKI}/new.crt")));
    host.bench.put(&path, &both);
    assert_eq!(host.bench.changes(ADDRESS, &path, &plain).await.len(), 1);
    let refused = host.bench.update(ADDRESS, &path, plain.clone()).await.unwrap_err();
    assert!(refused.message.contains("etcd-ca-2 yet"), "{refused}");

    // A server that does not answer is not known to use the file.
    drop(etcd);
    let refused = host.bench.update(ADDRESS, &path, plain).await.unwrap_err();
    assert!(refused.message.contains("is not in use by all servers after 1 s"), "{refused}");
}
