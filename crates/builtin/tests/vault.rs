//! Secrets of a cluster as resources: created once, found again, opened with a key, removed by their delete.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what fails in a test ends it")]

use std::sync::Arc;

use slipway_bootstrap::pki::{Certificate, PrivateKey};
use slipway_builtin::{Builtin, Vault};
use slipway_resource::provider::{
    Action, ApplyRequest, DiscoverRequest, EventSink, PlanItem, Resolution, ResumeRequest, SessionRequest,
};
use slipway_resource::{
    Address, ClusterUid, ErrorClass, Observation, Ownership, Provider as _, Session, Token, Value,
};
use slipway_secrets::key::GivenKeys;
use slipway_secrets::{Keyring, age};
use slipway_state_store::{Acquire, Backend, ClusterName, Holder, Identity, MemoryBackend, SystemClock};

struct Place {
    backend: Arc<dyn Backend>,
    vault: Arc<Vault>,
    session: Arc<dyn Session>,
}

async fn place(backend: Arc<dyn Backend>, key: age::Identity) -> Place {
    let keyring = Arc::new(Keyring::new(Arc::new(GivenKeys::of_identity(key))));
    let vault = Vault::new(backend.clone(), keyring, ClusterName::new("prod").unwrap());
    over(backend, vault).await
}

async fn over(backend: Arc<dyn Backend>, vault: Vault) -> Place {
    let vault = Arc::new(vault);
    let request = SessionRequest { config: Value::Null, region: None, offline: false };
    let session = Builtin::new(vault.clone()).open_session(request).await.unwrap();
    Place { backend, vault, session }
}

async fn hold(place: &mut Place) -> Holder {
    let acquire = Acquire::new(Identity::current("ada", "test")).create("u1".parse().unwrap());
    let name = ClusterName::new("prod").unwrap();
    let holder = Holder::acquire(place.backend.clone(), &name, acquire, Arc::new(SystemClock)).await.unwrap();
    *place = over(place.backend.clone(), place.vault.held(holder.journal().clone())).await;
    holder
}

fn create(address: &str, token: &str, desired: Value) -> ApplyRequest {
    let address: Address = address.parse().unwrap();
    let ownership = Ownership { uid: ClusterUid::new("u1"), cluster: "prod".to_owned(), address };
    ApplyRequest {
        token: Token::new(token),
        ownership,
        action: Action::Create { desired },
        timeout_ms: 1_000,
    }
}

fn authority() -> Value {
    let authority = Value::map([("common_name", "kubernetes")]);
    Value::map([("algorithm", Value::from("ECDSA-P256")), ("certificate_authority", authority)])
}

async fn planned(place: &Place, address: &str, desired: Value, observed: Option<Value>) -> Value {
    let address = address.parse().unwrap();
    let item = PlanItem { address, desired: Some(desired), observed, last_applied: None };
    place.session.plan(vec![item]).await.unwrap().remove(0).normalised
}

#[tokio::test]
async fn an_authority_is_made_once_and_found_again() {
    let key = age::Identity::generate().unwrap();
    let mut place = place(Arc::new(MemoryBackend::new()), key).await;
    let request = create("keypair.ca", "t1", authority());
    let unheld = place.session.apply(request.clone(), EventSink::discard()).await.unwrap_err();
    assert!(unheld.message.contains("is not held"), "{unheld}");
    let _holder = hold(&mut place).await;
    let first = place.session.apply(request.clone(), EventSink::discard()).await.unwrap();
    let again = place.session.apply(request.clone(), EventSink::discard()).await.unwrap();
    assert_eq!(first, again, "the same step has one effect");
    let resume = ResumeRequest { request, identity: None, handle: None, superseded: false };
    let resumed = place.session.resume(resume, EventSink::discard()).await.unwrap();
    assert_eq!(resumed, Resolution::Done(first.clone()));

    // The key belongs to the certificate, and no public attribute contains it.
    let identity = first.identity.clone().unwrap();
    let uid = ClusterUid::new("u1");
    let text = place.vault.text(&uid, &identity, "private_key_pem").await.unwrap();
    let key = PrivateKey::from_pem(text.expose()).unwrap();
    let shown = first.attributes.get("certificate_pem").and_then(Value::as_str).unwrap();
    assert_eq!(Certificate::from_pem(shown).unwrap().public_key(), key.public_key());
    assert!(!format!("{first:?}").contains("PRIVATE KEY"));
    let missing = place.vault.text(&uid, &identity, "token").await.unwrap_err();
    assert_eq!(missing.class, ErrorClass::NotFound);

    // The next plan wants the applied attributes.
    let found = place
        .session
        .discover(DiscoverRequest { uid: None, cluster: "prod".to_owned(), types: Vec::new() })
        .await
        .unwrap();
    assert_eq!(found.uid, Some(uid));
    let [found] = found.observed.as_slice() else { panic!("one secret, not {found:?}") };
    assert_eq!(found.identity, identity);
    let Observation::Present(observed) = &found.observation else { panic!("{found:?}") };
    assert_eq!(planned(&place, "keypair.ca", authority(), Some(observed.clone())).await, *observed);
}

#[tokio::test]
async fn who_has_no_key_sees_that_there_is_something() {
    let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
    let mut owner = place(backend.clone(), age::Identity::generate().unwrap()).await;
    let _holder = hold(&mut owner).await;
    let request = create("token.join", "t1", Value::map([("form", "bootstrap")]));
    let made = owner.session.apply(request, EventSink::discard()).await.unwrap();
    let identity = made.identity.unwrap();
    let token = owner.vault.text(&ClusterUid::new("u1"), &identity, "token").await.unwrap();
    let id = made.attributes.get("token_id").and_then(Value::as_str).unwrap();
    assert!(token.expose().starts_with(&format!("{id}.")) && token.expose().len() == 23);

    let stranger = place(backend, age::Identity::generate().unwrap()).await;
    let request = DiscoverRequest { uid: None, cluster: "prod".to_owned(), types: Vec::new() };
    let found = stranger.session.discover(request).await.unwrap();
    let [found] = found.observed.as_slice() else { panic!("one secret, not {found:?}") };
    assert!(
        matches!(&found.observation, Observation::Unreadable(error) if error.class.name() == "permission")
    );
}

#[tokio::test]
async fn a_deleted_secret_is_gone() {
    let mut place = place(Arc::new(MemoryBackend::new()), age::Identity::generate().unwrap()).await;
    let _holder = hold(&mut place).await;
    let request = create("encryption_key.rest", "t1", Value::map::<&str, Value>([]));
    let made = place.session.apply(request.clone(), EventSink::discard()).await.unwrap();
    let identity = made.identity.unwrap();
    let uid = ClusterUid::new("u1");
    assert_eq!(place.vault.text(&uid, &identity, "key").await.unwrap().expose().len(), 44);
    let action = Action::Delete { identity: identity.clone() };
    let delete = ApplyRequest { token: Token::new("t2"), action, ..request };
    place.session.apply(delete.clone(), EventSink::discard()).await.unwrap();
    let resume = ResumeRequest { request: delete, identity: None, handle: None, superseded: false };
    let resumed = place.session.resume(resume, EventSink::discard()).await.unwrap();
    assert!(matches!(resumed, Resolution::Done(_)));
    let gone = place.vault.text(&uid, &identity, "key").await.unwrap_err();
    assert_eq!(gone.class, ErrorClass::NotFound);
}
