//! What happens to the keys in the core.

use slipway_controller::kube::api::DeleteParams;
use slipway_etcd_storage::proxy::TlsFiles;

use super::client::Client;
use super::lab::{Lab, spec_for, spec_for_none};
use super::pod::{Given, Pod};
use super::until::until;

/// A client of the core.
pub fn core(lab: &Lab) -> Client {
    let core = lab.plane.etcd();
    Client::new(&core.url, &TlsFiles { authorities: core.ca, certificate: core.certificate, key: core.key })
}

/// Keys are deleted if the spec asks for it and a proxy of the tenant has opened them; others stay.
pub async fn on_request(lab: &Lab) {
    lab.with_core().await;
    let kube = lab.client().await;
    lab.tenant("deleting", "etcd-serving-ca", "etcd-client-cert").await;
    let mut spec = spec_for("deleting", "10h", "1h");
    spec["deletionPolicy"] = "Delete".into();
    lab.create("deleting", &spec).await;
    let given = until("certificates are given", async || Given::read(&kube, "deleting").await).await;
    let pod = Pod::start(lab, "deleting").await;
    given.client(&pod.url()).put("of-the-tenant", "a").await.unwrap();
    drop(pod);
    let mut core = core(lab);
    // More than one page.
    for number in 0..1100 {
        core.put(&format!("/deleting/{number}"), "a").await.unwrap();
    }
    // A name that another program's keys have: no proxy has ever opened them.
    core.put("/unopened/key", "of another program").await.unwrap();
    let mut spec = spec_for_none("10h", "1h");
    spec["deletionPolicy"] = "Delete".into();
    lab.create("unopened", &spec).await;
    lab.condition("unopened", "Deployed", "True", "Deployed").await;
    let storages = lab.storages().await;
    for name in ["deleting", "unopened"] {
        storages.delete(name, &DeleteParams::default()).await.unwrap();
        until("it is gone", async || storages.get_opt(name).await.unwrap().is_none().then_some(())).await;
    }
    let note = lab.event("deleting", "KeysDeleted").await;
    let count = note.strip_prefix("all keys were deleted from the core etcd, ");
    let count: u32 = count.and_then(|rest| rest.strip_suffix(" of them just now")).unwrap().parse().unwrap();
    assert!((1..=1101).contains(&count), "{note}");
    let keys = core.keys().await;
    let left: Vec<_> =
        keys.iter().filter(|key| key.contains("/deleting/") && !key.starts_with("/registry/")).collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(keys.iter().any(|key| key == "/unopened/key"));
}
