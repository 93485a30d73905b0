//! Encrypts for all recipients, and decrypts with the available keys.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use slipway_state_store::Digest;
use tokio::sync::OnceCell;
use zeroize::Zeroizing;

use crate::envelope::{Context, Envelope, Expected};
use crate::error::{Error, Result};
use crate::key::{DataKey, Identity, KeyName, Keys, Recipient, WrappedKey};
use crate::random;

/// The keys of one user, for all clusters.
///
/// One data key is made for each cluster, keyring and set of further recipients, when the first object is
/// encrypted, and wrapped once for every recipient. The number of calls to a key service grows with runs, not
/// with objects. Unwrapped keys are kept in memory.
pub struct Keyring {
    keys: Arc<dyn Keys>,
    recipients: OnceCell<Vec<Arc<dyn Recipient>>>,
    identities: OnceCell<Vec<Arc<dyn Identity>>>,
    sealing: Mutex<BTreeMap<Purpose, Arc<OnceCell<Sealing>>>>,
    opened: Mutex<HashMap<Digest, DataKey>>,
}

/// What a data key is for: the cluster, and the further recipients.
type Purpose = (String, Vec<KeyName>);

/// A data key with which objects of one cluster are encrypted.
#[derive(Clone)]
struct Sealing {
    key: DataKey,
    wrapped: Vec<WrappedKey>,
}

/// A decrypted envelope.
#[derive(Debug)]
pub struct Opened {
    /// The contents.
    pub plain: Zeroizing<Vec<u8>>,
    /// The context that it was bound to.
    pub context: Context,
    /// The recipients that it was encrypted for.
    pub names: Vec<KeyName>,
}

impl fmt::Debug for Keyring {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Keyring")
    }
}

impl Keyring {
    /// A keyring that has not read any key yet.
    #[must_use]
    pub fn new(keys: Arc<dyn Keys>) -> Self {
        Self {
            keys,
            recipients: OnceCell::new(),
            identities: OnceCell::new(),
            sealing: Mutex::default(),
            opened: Mutex::default(),
        }
    }

    /// Whether it can encrypt without creating a key first.
    ///
    /// # Errors
    /// When a key of the configuration cannot be used.
    pub async fn is_ready(&self) -> Result<bool> {
        self.keys.is_ready().await
    }

    /// The recipients of this keyring.
    ///
    /// # Errors
    /// When a key of the configuration cannot be used, or there is none.
    pub async fn names(&self) -> Result<Vec<KeyName>> {
        Ok(self.recipients().await?.iter().map(|recipient| recipient.name()).collect())
    }

    /// Encrypts bytes for every recipient.
    ///
    /// # Errors
    /// When there is no recipient, or a key provider refuses.
    pub async fn seal(&self, context: Context, plain: &[u8]) -> Result<Vec<u8>> {
        self.seal_also(context, plain, &[]).await
    }

    /// Encrypts bytes for every recipient, and for further ones. The further recipients cannot decrypt other
    /// objects: these have another data key.
    ///
    /// # Errors
    /// As [`Self::seal`].
    pub async fn seal_also(
        &self,
        context: Context,
        plain: &[u8],
        also: &[Arc<dyn Recipient>],
    ) -> Result<Vec<u8>> {
        let scope = context.cluster.clone();
        let names = also.iter().map(|recipient| recipient.name()).collect();
        let cell = {
            let mut sealing = self.sealing.lock().unwrap_or_else(PoisonError::into_inner);
            sealing.entry((scope.clone(), names)).or_default().clone()
        };
        let Sealing { key, wrapped } = cell.get_or_try_init(|| self.make_key(&scope, also)).await?;
        Envelope::seal(context, key, wrapped.clone(), plain)?.to_bytes()
    }

    /// Drops the data keys that were used so far, so that the next object is encrypted with a new one.
    pub fn renew(&self) {
        self.sealing.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Decrypts an envelope at a path, with any available key that fits.
    ///
    /// # Errors
    /// When it is not an envelope, was encrypted for another path, is damaged, or no available key fits; the
    /// error names the fitting keys.
    pub async fn open(&self, expected: &Expected<'_>, bytes: &[u8]) -> Result<Opened> {
        let envelope = Envelope::read(expected, bytes)?;
        let digest = digest(&envelope.keys);
        let known = self.opened.lock().unwrap_or_else(PoisonError::into_inner).get(&digest).cloned();
        let key = match known {
            Some(key) => key,
            None => {
                let key = self.unwrap(&envelope).await?;
                self.opened.lock().unwrap_or_else(PoisonError::into_inner).insert(digest, key.clone());
                key
            }
        };
        let (context, names) = (envelope.context.clone(), envelope.names());
        Ok(Opened { plain: envelope.open(&key)?, context, names })
    }

    async fn recipients(&self) -> Result<&Vec<Arc<dyn Recipient>>> {
        let ask = || async {
            let recipients = self.keys.recipients().await?;
            if recipients.is_empty() { Err(Error::NoRecipients) } else { Ok(recipients) }
        };
        self.recipients.get_or_try_init(ask).await
    }

    async fn make_key(&self, scope: &str, also: &[Arc<dyn Recipient>]) -> Result<Sealing> {
        let key = DataKey(random::key()?);
        let mut wrapped: Vec<WrappedKey> = Vec::new();
        for recipient in self.recipients().await?.iter().chain(also) {
            if wrapped.iter().all(|wrapped| wrapped.name != recipient.name()) {
                wrapped.push(recipient.wrap(&key, scope).await?);
            }
        }
        // The same process may read the object back, and need not have a key to decrypt it.
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).insert(digest(&wrapped), key.clone());
        Ok(Sealing { key, wrapped })
    }

    /// The data key of an envelope. The error of a key is returned only if no other key fits.
    async fn unwrap(&self, envelope: &Envelope) -> Result<DataKey> {
        let identities = self.identities.get_or_try_init(|| self.keys.identities()).await?;
        let mut failed = None;
        for identity in identities {
            for wrapped in envelope.keys.iter().filter(|wrapped| identity.claims(&wrapped.name)) {
                match identity.unwrap(wrapped, &envelope.context.cluster).await {
                    Ok(Some(key)) => return Ok(key),
                    Ok(None) => {
                        let path = envelope.context.path.clone();
                        failed.get_or_insert(Error::WrongKey { path, key: wrapped.name.clone() });
                    }
                    Err(error) => failed = Some(error),
                }
            }
        }
        Err(failed.unwrap_or_else(|| Error::NoKey {
            path: envelope.context.path.clone(),
            wanted: envelope.names(),
        }))
    }
}

fn digest(keys: &[WrappedKey]) -> Digest {
    let mut bytes = Vec::new();
    for key in keys {
        bytes.extend((key.wrapped.len() as u64).to_be_bytes());
        bytes.extend(&key.wrapped);
    }
    Digest::of(&bytes)
}

#[cfg(test)]
mod tests {
    use slipway_resource::SecretText;

    use super::*;
    use crate::age;
    use crate::key::GivenKeys;
    use crate::passphrase::Passphrase;

    fn context(path: &str, generation: u64) -> Context {
        Context { path: path.to_owned(), cluster: "prod".to_owned(), uid: Some("u1".to_owned()), generation }
    }

    fn passphrase(text: &str) -> Arc<Passphrase> {
        Arc::new(Passphrase::new("team", SecretText::new(text)).unwrap())
    }

    fn keyring(recipients: Vec<Arc<dyn Recipient>>, identities: Vec<Arc<dyn Identity>>) -> Keyring {
        Keyring::new(Arc::new(GivenKeys { recipients, identities }))
    }

    #[tokio::test]
    async fn any_one_of_several_keys_opens() {
        let identity = age::Identity::generate().unwrap();
        let recipients: Vec<Arc<dyn Recipient>> =
            vec![Arc::new(identity.recipient().clone()), passphrase("horse")];
        let sealed = keyring(recipients, Vec::new()).seal(context("p", 1), b"text").await.unwrap();
        assert!(Envelope::is(&sealed));
        for identity in [Arc::new(identity) as Arc<dyn Identity>, passphrase("horse")] {
            let opened = keyring(Vec::new(), vec![identity]).open(&Expected::at("p"), &sealed).await.unwrap();
            assert_eq!(opened.plain.as_slice(), b"text");
            assert_eq!(opened.names.len(), 2);
        }
    }

    #[tokio::test]
    async fn a_missing_key_and_a_wrong_one_are_named() {
        let sealed = keyring(vec![passphrase("horse")], Vec::new()).seal(context("p", 1), b"").await.unwrap();
        let missing = keyring(Vec::new(), Vec::new()).open(&Expected::at("p"), &sealed).await.unwrap_err();
        assert_eq!(missing.code(), "SECRET0003");
        assert_eq!(
            missing.to_string(),
            "p cannot be opened: it is sealed for the passphrase `team`, and none of these keys is at hand"
        );
        assert!(missing.hint().unwrap().contains("SLIPWAY_PASSPHRASE"));
        let other = keyring(Vec::new(), vec![passphrase("cow")]);
        let wrong = other.open(&Expected::at("p"), &sealed).await.unwrap_err();
        assert_eq!(wrong.code(), "SECRET0004");
        let both = keyring(Vec::new(), vec![passphrase("cow"), passphrase("horse")]);
        assert!(both.open(&Expected::at("p"), &sealed).await.is_ok(), "the fallback");
    }

    #[tokio::test]
    async fn an_envelope_opens_only_where_and_as_it_was_written() {
        let keyring = Keyring::new(Arc::new(GivenKeys::of_identity(age::Identity::generate().unwrap())));
        let sealed = keyring.seal(context("a", 2), b"text").await.unwrap();
        let open = async |path: &str, uid: &str, generation: u64, bytes: &[u8]| {
            let expected = Expected { path, uid: Some(uid), generation: Some(generation) };
            keyring.open(&expected, bytes).await.map(|_| "").unwrap_or_else(|error| error.code())
        };
        assert_eq!(open("a", "u1", 2, &sealed).await, "");
        assert_eq!(open("b", "u1", 2, &sealed).await, "SECRET0005", "swapped");
        assert_eq!(open("a", "u2", 2, &sealed).await, "SECRET0005", "another cluster of the name");
        assert_eq!(open("a", "u1", 3, &sealed).await, "SECRET0006", "rolled back");
        // When the plain part is changed to fit, the associated data does not fit.
        let text = String::from_utf8(sealed).unwrap();
        for (from, to, path, generation) in
            [("\"path\":\"a\"", "\"path\":\"b\"", "b", 2), ("\"generation\":2", "\"generation\":3", "a", 3)]
        {
            let bent = text.replace(from, to);
            assert_ne!(bent, text);
            assert_eq!(open(path, "u1", generation, bent.as_bytes()).await, "SECRET0007");
        }
        let newer = text.replace("\"format\":1", "\"format\":2");
        assert_eq!(open("a", "u1", 2, newer.as_bytes()).await, "SECRET0002");
        assert_eq!(open("a", "u1", 2, b"{}").await, "SECRET0001");
    }

    #[tokio::test]
    async fn a_further_recipient_opens_what_was_encrypted_for_it_and_nothing_else() {
        let (own, machine) = (age::Identity::generate().unwrap(), age::Identity::generate().unwrap());
        let operator = Keyring::new(Arc::new(GivenKeys::of_identity(own)));
        let also: Vec<Arc<dyn Recipient>> = vec![Arc::new(machine.recipient().clone())];
        let shared = operator.seal_also(context("p", 1), b"shared", &also).await.unwrap();
        let other = operator.seal(context("p", 1), b"own").await.unwrap();
        let reader = Keyring::new(Arc::new(GivenKeys::of_identity(machine)));
        let opened = reader.open(&Expected::at("p"), &shared).await.unwrap();
        assert_eq!((&**opened.plain, opened.names.len()), (&b"shared"[..], 2));
        assert_eq!(reader.open(&Expected::at("p"), &other).await.unwrap_err().code(), "SECRET0003");
        assert_eq!(&**operator.open(&Expected::at("p"), &shared).await.unwrap().plain, b"shared");
    }

    #[tokio::test]
    async fn equal_texts_give_unequal_envelopes_and_one_data_key() {
        let keyring = Keyring::new(Arc::new(GivenKeys::of_identity(age::Identity::generate().unwrap())));
        let read = |bytes: &[u8]| Envelope::read(&Expected::at("a"), bytes).unwrap();
        let one = read(&keyring.seal(context("a", 1), b"text").await.unwrap());
        let other = read(&keyring.seal(context("a", 1), b"text").await.unwrap());
        assert_ne!(one, other);
        assert_eq!(one.keys, other.keys);
        keyring.renew();
        let third = read(&keyring.seal(context("a", 1), b"text").await.unwrap());
        assert_ne!(one.keys, third.keys);
    }
}
