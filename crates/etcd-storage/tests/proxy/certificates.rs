//! Certificates: who gets in, and what happens when they change.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use slipway_cluster_api::Credentials;

use super::client::Client;
use super::etcd::Etcd;
use super::pki::Authority;
use super::tenant::Tenant;

#[tokio::test]
async fn only_certificates_of_the_tenants_authority_get_in() {
    let core = Etcd::start().await;
    let (one, two) = (Tenant::start(&core, "one").await, Tenant::start(&core, "two").await);
    one.connect().put("key", "value").await.unwrap();
    assert!(one.connect().get("key").await.is_ok());
    let anonymous = Client::with(&one.url, &one.authority.pem(), &Credentials::Anonymous);
    let mut foreign = two.client.clone();
    foreign.authorities = one.client.authorities.clone();
    for mut client in [anonymous, Client::new(&one.url, &foreign)] {
        assert!(client.get("key").await.is_err());
    }
    one.end().await;
    two.end().await;
}

/// The serving certificate and the authority of clients change under load. Old
/// connections stay, new ones use the new certificates, and no request fails.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_fails_while_certificates_change() {
    let core = Etcd::start().await;
    let tenant = Tenant::start(&core, "one").await;
    let done = Arc::new(AtomicBool::new(false));
    let mut client = tenant.connect();
    let load = tokio::spawn({
        let done = Arc::clone(&done);
        async move {
            let mut written = 0_u32;
            while !done.load(Ordering::Relaxed) {
                client.put("counter", &written.to_string()).await.unwrap();
                written += 1;
            }
            (client, written)
        }
    });
    let next = Authority::new("next");
    let serving = &tenant.settings.serving;
    next.write(&serving.certificate, &serving.key);
    fs::write(&serving.authorities, next.pem()).unwrap();
    let files = next.files(core.folder(), "next-client", &[&next]);
    let mut newcomer = Client::new(&tenant.url, &files);
    while newcomer.get("counter").await.is_err() {
        tokio::time::sleep(Duration::from_millis(20)).await;
        newcomer = Client::new(&tenant.url, &files);
    }
    // Certificates that cannot be used are not taken.
    fs::write(&serving.certificate, "nothing").unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(Client::new(&tenant.url, &files).get("counter").await.unwrap().is_some());
    assert!(tenant.connect().get("counter").await.is_err());
    // The proxy's certificate for the core is replaced too.
    core.renew_client();
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(Client::new(&tenant.url, &files).get("counter").await.unwrap().is_some());
    done.store(true, Ordering::Relaxed);
    let (mut client, written) = load.await.unwrap();
    assert!(written > 10);
    assert_eq!(client.get("counter").await.unwrap().unwrap(), (written - 1).to_string());
    tenant.end().await;
}
