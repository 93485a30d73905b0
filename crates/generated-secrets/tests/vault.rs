//! Secrets of a cluster as resources: created once, found again, opened with a key, removed by their delete.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what fails in a test ends it")]

use std::sync::Arc;

use slipway_bootstrap::pki::{Certificate, PrivateKey};
use slipway_generated_secrets::{GeneratedSecrets, SEALED_FOR, Vault};
use slipway_resource::provider::{
    Action, ApplyRequest, DiscoverRequest, EventSink, PlanItem, Resolution, ResumeRequest, SessionRequest,
};
use slipway_resource::{
    Address, ClusterUid, ErrorClass, Observation, Ownership, Path, Provider as _, ProviderError, Session,
    Token, Value,
};
use slipway_secrets::key::GivenKeys;
use slipway_secrets::rekey::rekey;
use slipway_secrets::service::{OpenSession, ServiceKeys};
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
    let session = GeneratedSecrets::new(vault.clone()).open_session(request).await.unwrap();
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

/// A session with the simulated cloud, which has a key service.
async fn cloud(folder: &std::path::Path) -> Arc<dyn Session> {
    let folder = folder.to_str().unwrap().to_owned();
    let config = Value::map([("directory", Value::from(folder))]);
    let request = SessionRequest { config, region: None, offline: false };
    slipway_provider_sim::Sim.open_session(request).await.unwrap()
}

/// The keys of a machine: all that its identity lets it use in the key service of the simulated cloud.
fn of_machine(session: Arc<dyn Session>) -> Arc<Keyring> {
    struct Open(Arc<dyn Session>);
    #[async_trait::async_trait]
    impl OpenSession for Open {
        async fn open(&self) -> Result<Arc<dyn Session>, ProviderError> {
            Ok(self.0.clone())
        }
    }
    let identity = ServiceKeys::new("sim", Box::new(Open(session)));
    let keys = GivenKeys { recipients: Vec::new(), identities: vec![Arc::new(identity)] };
    Arc::new(Keyring::new(Arc::new(keys)))
}

fn update(
    request: &ApplyRequest,
    token: &str,
    identity: &slipway_resource::Identity,
    reader: Value,
) -> ApplyRequest {
    let mut desired = authority();
    desired.set(&Path::key(SEALED_FOR), reader);
    let action = Action::Update { identity: identity.clone(), prior: authority(), desired };
    ApplyRequest { token: Token::new(token), action, ..request.clone() }
}

#[tokio::test]
async fn a_machine_opens_a_key_that_is_sealed_for_the_cloud_and_the_people_still_do() {
    let folder = tempfile::tempdir().unwrap();
    let cloud = cloud(folder.path()).await;
    let mut own = place(Arc::new(MemoryBackend::new()), age::Identity::generate().unwrap()).await;
    let holder = hold(&mut own).await;
    let vault = own.vault.held(holder.journal().clone());
    let services = [("sim".to_owned(), cloud.clone())];
    own = over(own.backend.clone(), vault.with_services(services)).await;
    let uid = ClusterUid::new("u1");

    let mut wanted = authority();
    wanted.set(&Path::key(SEALED_FOR), "sim:key/prod".into());
    let request = create("keypair.ca", "t1", wanted.clone());
    let made = own.session.apply(request.clone(), EventSink::discard()).await.unwrap();
    let identity = made.identity.unwrap();
    assert_eq!(planned(&own, "keypair.ca", wanted, Some(made.attributes.clone())).await, made.attributes);
    let machine = || async {
        let vault =
            Vault::new(own.backend.clone(), of_machine(cloud.clone()), ClusterName::new("prod").unwrap());
        vault.text(&uid, &identity, "private_key_pem").await
    };
    let text = own.vault.text(&uid, &identity, "private_key_pem").await.unwrap();
    assert_eq!(machine().await.unwrap().expose(), text.expose());

    // Without the reader, and with it again: the key is the same, and the machine follows.
    for (token, reader, opens) in [("t2", Value::Null, false), ("t3", "sim:key/prod".into(), true)] {
        let request = update(&request, token, &identity, reader.clone());
        let applied = own.session.apply(request, EventSink::discard()).await.unwrap();
        assert_eq!(applied.attributes.get(SEALED_FOR).unwrap_or(&Value::Null), &reader);
        assert_eq!(machine().await.is_ok(), opens, "{token}");
        let kept = own.vault.text(&uid, &identity, "private_key_pem").await.unwrap();
        assert_eq!(kept.expose(), text.expose());
    }

    // A provider that is not part of the run, and a key that does not exist.
    for (reader, message) in
        [("gone:key/a", "provider gone is not part"), ("sim:other", "there is no key other")]
    {
        let request = update(&request, "t4", &identity, reader.into());
        let refused = own.session.apply(request, EventSink::discard()).await.unwrap_err();
        assert!(refused.message.contains(message), "{refused}");
    }
    assert!(machine().await.is_ok(), "a refused step changes nothing");
}

#[tokio::test]
async fn a_reader_that_a_rekey_left_out_is_missed() {
    let folder = tempfile::tempdir().unwrap();
    let key = age::Identity::generate().unwrap();
    let keyring = Arc::new(Keyring::new(Arc::new(GivenKeys::of_identity(key))));
    let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
    let vault = Vault::new(backend.clone(), keyring.clone(), ClusterName::new("prod").unwrap());
    let mut own = over(backend.clone(), vault).await;
    let holder = hold(&mut own).await;
    let services = [("sim".to_owned(), cloud(folder.path()).await)];
    let vault = own.vault.with_services(services);
    own = over(backend.clone(), vault).await;
    let mut wanted = authority();
    wanted.set(&Path::key(SEALED_FOR), "sim:key/prod".into());
    own.session.apply(create("keypair.ca", "t1", wanted), EventSink::discard()).await.unwrap();
    let name = ClusterName::new("prod").unwrap();
    let done = rekey(&backend, &keyring, &name, holder.journal(), false, &|_| true).await.unwrap();
    assert_eq!(done.left_out.iter().map(|name| name.id.as_str()).collect::<Vec<_>>(), ["sim:key/prod"]);

    let fresh = Vault::new(backend.clone(), keyring, name);
    let fresh = over(backend, fresh).await;
    let request = DiscoverRequest { uid: None, cluster: "prod".to_owned(), types: Vec::new() };
    let found = fresh.session.discover(request).await.unwrap();
    let Observation::Present(observed) = &found.observed[0].observation else { panic!("{found:?}") };
    assert_eq!(observed.get(SEALED_FOR), None);
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

#[tokio::test]
async fn a_configuration_has_the_keys_of_a_rotation_in_their_order() {
    let mut place = place(Arc::new(MemoryBackend::new()), age::Identity::generate().unwrap()).await;
    let _holder = hold(&mut place).await;
    let uid = ClusterUid::new("u1");
    let settings = Value::from_json(&serde_json::json!({"provider": "secretbox", "resources": ["secrets"]}));
    let (mut names, mut texts) = (Vec::new(), Vec::new());
    for (address, has_own) in [("encryption_key.at-rest", false), ("encryption_key.at-rest-2", true)] {
        let desired = Value::map([("at_rest", settings.clone()), ("own_name", has_own.into())]);
        let made =
            place.session.apply(create(address, address, desired), EventSink::discard()).await.unwrap();
        let text = place.vault.text(&uid, &made.identity.unwrap(), "key").await.unwrap();
        names.push(made.attributes.get("key_name").and_then(Value::as_str).unwrap().to_owned());
        texts.push(Value::from(text.expose()));
    }
    assert_eq!(names[0], "key1");
    assert!(names[1].starts_with("key-") && names[1].len() == 12, "{names:?}");
    names.reverse();
    texts.reverse();
    let desired = Value::map([
        ("at_rest", settings),
        ("keys", Value::List(texts.clone())),
        ("names", Value::list(names.iter().map(String::as_str))),
    ]);
    let request = create("encryption_configuration.at-rest-2-used", "t3", desired.clone());
    let made = place.session.apply(request, EventSink::discard()).await.unwrap();
    let shown = format!("{:?}", made.attributes);
    let text = place.vault.text(&uid, &made.identity.unwrap(), "configuration").await.unwrap();
    let positions = texts.iter().map(|key| text.expose().find(key.as_str().unwrap()).unwrap());
    let positions: Vec<usize> = positions.collect();
    assert!(positions[0] < positions[1], "{names:?}");
    assert!(shown.contains("sha256:") && texts.iter().all(|key| !shown.contains(key.as_str().unwrap())));
    // A plan of the same keys changes nothing.
    let address = "encryption_configuration.at-rest-2-used";
    let normalised = planned(&place, address, desired, Some(made.attributes.clone())).await;
    assert_eq!(normalised.get("fingerprint"), made.attributes.get("fingerprint"));
}
