//! Certificates that are replaced while a client writes.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use slipway_controller::k8s_openapi::api::core::v1::ConfigMap;
use slipway_controller::kube::api::Api;

use super::lab::{Lab, NAMESPACE, spec_for};
use super::pod::{Given, Pod};
use super::until::until;

/// Longer than the validity of the authorities: each is replaced, and the first one has ended.
const LOAD: Duration = Duration::from_secs(46);
/// How often the client reads its certificates again.
const SYNC: Duration = Duration::from_millis(400);

/// A client writes on one connection after the other, each with the certificates that its namespace has at that moment.
/// Authorities and certificates are replaced, the controller that leads is killed, and no write fails.
pub async fn under_load(lab: &Lab) {
    lab.with_core().await;
    lab.tenant("rotating", "etcd-serving-ca", "etcd-client-cert").await;
    lab.create("rotating", &spec_for("rotating", "40s", "30s")).await;
    let kube = lab.client().await;
    let mut given = until("certificates are given", async || Given::read(&kube, "rotating").await).await;
    let first = given.clone();
    let authorities = async || {
        let maps: Api<ConfigMap> = Api::namespaced(kube.clone(), NAMESPACE);
        maps.get("rotating-ca-cert").await.unwrap().data.unwrap().remove("client-ca.crt").unwrap()
    };
    let first_authority = authorities().await;
    assert_eq!(first_authority.matches("BEGIN").count(), 1);
    lab.condition("rotating", "CertificatesReady", "True", "ShortValidity").await;
    let pod = Pod::start(lab, "rotating").await;

    let (begun, mut read, mut is_killed) = (Instant::now(), Instant::now(), false);
    let (mut written, mut certificates, mut bundles) = (0_u32, BTreeSet::new(), BTreeSet::new());
    let mut lasting = given.client(&pod.url());
    while begun.elapsed() < LOAD {
        if read.elapsed() > SYNC {
            given = Given::read(&kube, "rotating").await.unwrap();
            read = Instant::now();
        }
        certificates.insert(given.certificate.clone());
        bundles.insert(given.authorities.matches("BEGIN").count());
        let value = written.to_string();
        given.client(&pod.url()).put("counter", &value).await.unwrap_or_else(|error| {
            panic!("after {:?}: {error:?}", begun.elapsed());
        });
        lasting.put("lasting", &value).await.unwrap();
        written += 1;
        if !is_killed && begun.elapsed() > LOAD / 4 {
            lab.replace_leader();
            is_killed = true;
        }
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
    pod.check();
    let mut client = given.client(&pod.url());
    assert_eq!(client.get("counter").await.unwrap().unwrap(), (written - 1).to_string());
    assert_eq!(client.get("lasting").await.unwrap().unwrap(), (written - 1).to_string());
    assert!(certificates.len() >= 3, "{} client certificates in {LOAD:?}", certificates.len());
    assert!(
        bundles.contains(&1) && bundles.contains(&2),
        "both authorities are trusted for a time: {bundles:?}"
    );
    // What has ended is trusted no more, and opens nothing.
    assert!(!given.authorities.contains(first.authorities.trim()));
    assert!(!authorities().await.contains(first_authority.trim()));
    assert!(first.client(&pod.url()).get("counter").await.is_err());
    // Also a client that trusts the present authority is refused with its first certificate.
    let old = Given { authorities: given.authorities.clone(), ..first };
    assert!(old.client(&pod.url()).get("counter").await.is_err());
    for reason in
        ["AuthorityPrepared", "AuthoritySwitched", "ClientCertificateIssued", "ServingCertificateIssued"]
    {
        lab.event("rotating", reason).await;
    }
    assert!(lab.event("rotating", "ServingAuthorityPublished").await.contains("must be restarted before"));
    let metrics = lab.metrics();
    for line in [
        "leader_election_master_status 1",
        "etcd_storage_certificates_issued_total{kind=\"client\"}",
        "etcd_storage_certificate_expiry_timestamp_seconds{etcdstorage=\"rotating\"}",
        "etcd_storage_reconciles_total{outcome=\"ready\"}",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    for number in 0..2 {
        let log = lab.controller_log(number);
        assert!(!log.contains("forbidden") && !log.contains("not published"), "{log}");
    }
}
