//! Secrets in a state store: under a hold, never overwritten, and sealed again.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what fails in a test ends it")]

use std::sync::Arc;
use std::time::Duration;

use slipway_secrets::key::GivenKeys;
use slipway_secrets::rekey::rekey;
use slipway_secrets::{Envelope, Error, Expected, Keyring, Recipient, SealedBackend, SecretStore, age};
use slipway_state_store::clock::manual::ManualClock;
use slipway_state_store::faults::{Failure, Fault, Faulty, Operation};
use slipway_state_store::{Acquire, Backend, ClusterName, Holder, Identity, MemoryBackend, SystemClock};

fn cluster() -> ClusterName {
    ClusterName::new("prod").unwrap()
}

fn keyring(identity: age::Identity) -> Arc<Keyring> {
    Arc::new(Keyring::new(Arc::new(GivenKeys::of_identity(identity))))
}

/// Seals for the first, opens with both.
fn rotating(new: &str, old: &str) -> Arc<Keyring> {
    let (new, old): (age::Identity, age::Identity) = (new.parse().unwrap(), old.parse().unwrap());
    let mut keys = GivenKeys::of_identity(new);
    keys.identities.push(Arc::new(old));
    Arc::new(Keyring::new(Arc::new(keys)))
}

fn identity() -> String {
    age::Identity::generate().unwrap().to_secret_text().to_string()
}

async fn hold(backend: &Arc<dyn Backend>) -> Holder {
    let acquire = Acquire::new(Identity::current("ada", "test")).create("u1".parse().unwrap());
    Holder::acquire(backend.clone(), &cluster(), acquire, Arc::new(SystemClock)).await.unwrap()
}

#[tokio::test]
async fn a_value_is_stored_once_for_a_token_and_never_overwritten() {
    let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
    let holder = hold(&backend).await;
    let store =
        SecretStore::new(backend.clone(), keyring(age::Identity::generate().unwrap()), cluster(), "u1");
    let first = store.put(holder.journal(), ("token.join", "t1"), b"one", &[]).await.unwrap();
    assert_eq!(store.put(holder.journal(), ("token.join", "t1"), b"other", &[]).await.unwrap(), first);
    let second = store.put(holder.journal(), ("token.join", "t2"), b"two", &[]).await.unwrap();
    assert_eq!((first.generation, second.generation), (1, 2));
    assert_eq!(store.get(&first).await.unwrap().as_slice(), b"one");
    assert_eq!(store.get(&second).await.unwrap().as_slice(), b"two");
    assert_eq!(first.to_string().parse::<slipway_secrets::store::SecretReference>().unwrap(), first);
    store.delete(holder.journal(), &first).await.unwrap();
    assert!(matches!(store.get(&first).await, Err(Error::Missing { .. })));
    assert_eq!(store.list_all().await.unwrap(), [second]);
}

#[tokio::test]
async fn a_stored_value_is_encrypted_for_another_recipient_in_place() {
    let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
    let holder = hold(&backend).await;
    let (own, machine) = (identity(), age::Identity::generate().unwrap());
    let also: Vec<Arc<dyn Recipient>> = vec![Arc::new(machine.recipient().clone())];
    let operator = SecretStore::new(backend.clone(), keyring(own.parse().unwrap()), cluster(), "u1");
    let reader = SecretStore::new(backend.clone(), keyring(machine), cluster(), "u1");
    let secret = operator.put(holder.journal(), ("keypair.ca", "t1"), b"one", &[]).await.unwrap();
    assert_eq!(reader.get(&secret).await.unwrap_err().code(), "SECRET0003");
    for _ in 0..2 {
        operator.replace(holder.journal(), &secret, b"one", &also).await.unwrap();
        assert_eq!(reader.get(&secret).await.unwrap().as_slice(), b"one");
        assert_eq!(operator.open(&secret).await.unwrap().names.len(), 2);
    }
    operator.replace(holder.journal(), &secret, b"one", &[]).await.unwrap();
    assert_eq!(reader.get(&secret).await.unwrap_err().code(), "SECRET0003");
    let missing = secret.to_string().replace("t1", "t2").parse().unwrap();
    let refused = operator.replace(holder.journal(), &missing, b"one", &[]).await;
    assert!(matches!(refused, Err(Error::Missing { .. })), "{refused:?}");
}

#[tokio::test]
async fn who_lost_the_cluster_stores_nothing() {
    let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
    let clock = Arc::new(ManualClock::new());
    let acquire = Acquire::new(Identity::current("ada", "test")).create("u1".parse().unwrap());
    let holder = Holder::acquire(backend.clone(), &cluster(), acquire, clock.clone()).await.unwrap();
    let store =
        SecretStore::new(backend.clone(), keyring(age::Identity::generate().unwrap()), cluster(), "u1");
    let later = Arc::new(ManualClock::new());
    let acquire = Acquire::new(Identity::current("bob", "test")).wait(Duration::from_secs(3_600));
    let taken = tokio::spawn({
        let later = later.clone();
        async move { Holder::acquire(backend, &cluster(), acquire, later).await }
    });
    while !taken.is_finished() {
        later.advance(Duration::from_secs(1));
        tokio::task::yield_now().await;
    }
    let _next = taken.await.unwrap().unwrap();
    clock.advance(Duration::from_secs(3_600));
    let refused = store.put(holder.journal(), ("token.join", "t1"), b"one", &[]).await.unwrap_err();
    assert_eq!(refused.code(), "STATE0012");
    assert!(store.list_all().await.unwrap().is_empty());
}

#[tokio::test]
async fn two_that_make_the_key_for_fingerprints_at_once_have_one() {
    let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
    let holder = hold(&backend).await;
    let text = identity();
    let store = |uid: &str| SecretStore::new(backend.clone(), keyring(text.parse().unwrap()), cluster(), uid);
    let (own, earlier) = (store("u1"), store("u0"));
    let of_earlier = earlier.fingerprint_key_or_new(holder.journal()).await.unwrap();
    assert!(own.fingerprint_key().await.unwrap().is_none(), "the key of an earlier cluster of the name");
    let (one, other) = tokio::join!(
        own.fingerprint_key_or_new(holder.journal()),
        own.fingerprint_key_or_new(holder.journal())
    );
    let secret = slipway_resource::SecretText::new("text");
    let [one, other] = [one, other].map(|key| key.unwrap().fingerprint(&secret));
    assert_eq!(one, other);
    assert_ne!(one, of_earlier.fingerprint(&secret));
}

#[tokio::test]
async fn a_rekey_that_was_interrupted_anywhere_is_finished_by_the_next() {
    let (old, new) = (identity(), identity());
    for budget in 0..6 {
        let memory = Arc::new(MemoryBackend::new());
        let place: Arc<dyn Backend> = memory.clone();
        let sealed: Arc<dyn Backend> =
            Arc::new(SealedBackend::new(place.clone(), keyring(old.parse().unwrap()), true));
        let mut holder = hold(&sealed).await;
        holder.append(vec![b"{\"begin\":1}".to_vec()]).await.unwrap();
        holder.commit(b"{\"state\":1}".to_vec(), Default::default()).await.unwrap();
        holder.append(vec![b"{\"begin\":2}".to_vec()]).await.unwrap();
        let store = SecretStore::new(place.clone(), keyring(old.parse().unwrap()), cluster(), "u1");
        let secret = store.put(holder.journal(), ("token.join", "t1"), b"one", &[]).await.unwrap();
        holder.release(None).await.unwrap();

        // Dies after so many writes; then it is begun again.
        let both = rotating(&new, &old);
        let through: Arc<dyn Backend> = Arc::new(SealedBackend::new(place.clone(), both.clone(), true));
        let holder = hold(&through).await;
        let dying = Faulty::new(place.clone());
        dying.fail(Fault::new(Operation::Update, "", Failure::Permission).after(budget).times(usize::MAX));
        let dying: Arc<dyn Backend> = Arc::new(dying);
        let first = rekey(&dying, &both, &cluster(), holder.journal(), true, &|_| true).await;
        assert_eq!(first.is_err(), budget < 5, "{first:?}");
        let view = holder.read().await.unwrap();
        assert_eq!(view.snapshot.as_deref(), Some(&b"{\"state\":1}"[..]), "readable at any time");
        let again = rotating(&new, &old);
        let done = rekey(&place, &again, &cluster(), holder.journal(), true, &|_| true).await.unwrap();
        assert!(done.resealed >= 3 && done.sealed == 0, "{done:?}, first {first:?}");
        holder.release(None).await.unwrap();

        let only_new = keyring(new.parse().unwrap());
        let only_old = keyring(old.parse().unwrap());
        for (key, bytes) in memory.dump() {
            if key.name() == "head" {
                continue;
            }
            let expected = Expected::at(key.as_str());
            assert!(Envelope::is(&bytes), "{key} is in clear");
            assert!(only_new.open(&expected, &bytes).await.is_ok(), "{key}");
            assert!(matches!(only_old.open(&expected, &bytes).await, Err(Error::NoKey { .. })), "{key}");
        }
        let store = SecretStore::new(place, only_new, cluster(), "u1");
        assert_eq!(store.get(&secret).await.unwrap().as_slice(), b"one");
    }
}
