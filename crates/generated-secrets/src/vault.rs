//! The secrets of one cluster. Reading needs a key, writing needs a hold.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use slipway_resource::{
    Address, ClusterUid, ErrorClass, Identity, Path, ProviderError, SecretText, Session, Value, with_causes,
};
use slipway_secrets::store::SecretReference;
use slipway_secrets::{Error, Keyring, SecretStore};
use slipway_state_store::{Backend, ClusterName, Journal};

use crate::content::Content;
use crate::found::Found;
use crate::kind;
use crate::readers::{self, SEALED_FOR, Services};

/// The secrets of one cluster in its state store, as known to one stage of an operation.
///
/// The knowledge of a stage does not change: [`Vault::knowing`], [`Vault::held`], [`Vault::offering`] and
/// [`Vault::with_services`] make the vault of the next stage. All stages share the opened secrets.
pub struct Vault {
    place: Option<Arc<Place>>,
    cluster: String,
    /// The hold under which secrets are written; `None` while the cluster is not held.
    hold: Option<Journal>,
    /// The secrets that the state of the cluster names.
    named: BTreeMap<Address, Identity>,
    /// The secrets that another tool has made, as they were found.
    pub(crate) offered: BTreeMap<Address, Found>,
    /// The sessions with the key services for whose keys secrets are encrypted, too.
    services: Services,
    /// The secrets that the steps under the hold have made, and those that they have deleted as `None`.
    made: Mutex<BTreeMap<Address, Option<Identity>>>,
    /// The opened secrets: a key service is called once for each.
    opened: Arc<Mutex<Contents>>,
}

type Contents = BTreeMap<(ClusterUid, Identity), Arc<Content>>;

struct Place {
    backend: Arc<dyn Backend>,
    keyring: Arc<Keyring>,
    cluster: ClusterName,
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Vault({})", self.cluster)
    }
}

impl Vault {
    /// The secrets of a cluster in a state store.
    #[must_use]
    pub fn new(backend: Arc<dyn Backend>, keyring: Arc<Keyring>, cluster: ClusterName) -> Self {
        let name = cluster.to_string();
        Self { place: Some(Arc::new(Place { backend, keyring, cluster })), ..Self::nowhere(name) }
    }

    /// A vault without a store: for plans without a state.
    #[must_use]
    pub fn nowhere(cluster: impl Into<String>) -> Self {
        Self {
            place: None,
            cluster: cluster.into(),
            hold: None,
            named: BTreeMap::new(),
            offered: BTreeMap::new(),
            services: Services::new(),
            made: Mutex::default(),
            opened: Arc::default(),
        }
    }

    /// The vault of a stage that knows a state, with exactly the secrets that the state names.
    #[must_use]
    pub fn knowing(&self, secrets: impl IntoIterator<Item = (Address, Identity)>) -> Self {
        let named = secrets.into_iter().filter(|(address, _)| kind::of(address).is_some()).collect();
        Self { named, ..self.next() }
    }

    /// The vault of a stage that holds the cluster: secrets may be written as long as the hold of this
    /// journal lasts.
    #[must_use]
    pub fn held(&self, journal: Journal) -> Self {
        Self { hold: Some(journal), ..self.next() }
    }

    /// The vault of a stage that has found secrets of other tools. A search for these secrets finds them.
    /// Nothing is stored.
    #[must_use]
    pub fn offering(&self, found: BTreeMap<Address, Found>) -> Self {
        let mut next = self.next();
        next.offered.extend(found);
        next
    }

    /// The vault of a stage with sessions of providers, by their names: secrets are encrypted also for keys of their key
    /// services.
    #[must_use]
    pub fn with_services(&self, sessions: impl IntoIterator<Item = (String, Arc<dyn Session>)>) -> Self {
        Self { services: sessions.into_iter().collect(), ..self.next() }
    }

    fn next(&self) -> Self {
        Self {
            place: self.place.clone(),
            cluster: self.cluster.clone(),
            hold: self.hold.clone(),
            named: self.named.clone(),
            offered: self.offered.clone(),
            services: self.services.clone(),
            made: Mutex::new(lock(&self.made).clone()),
            opened: self.opened.clone(),
        }
    }

    /// The object of a secret resource that the state names, or that was created since.
    #[must_use]
    pub fn known(&self, address: &Address) -> Option<Identity> {
        match lock(&self.made).get(address) {
            Some(made) => made.clone(),
            None => self.named.get(address).cloned(),
        }
    }

    /// Records the result of a step.
    pub(crate) fn note(&self, address: Address, identity: Identity) {
        lock(&self.made).insert(address, Some(identity));
    }

    pub(crate) fn forget(&self, identity: &Identity) {
        let mut made = lock(&self.made);
        for (address, named) in &self.named {
            if named == identity {
                made.entry(address.clone()).or_insert(None);
            }
        }
        for made in made.values_mut().filter(|made| made.as_ref() == Some(identity)) {
            *made = None;
        }
        drop(made);
        lock(&self.opened).retain(|(_, opened), _| opened != identity);
    }

    /// The text of a secret field.
    ///
    /// # Errors
    /// `not-found` when nothing is stored under the identity or it has no such field, `permission` when no
    /// available key opens it.
    pub async fn text(
        &self,
        uid: &ClusterUid,
        identity: &Identity,
        field: &str,
    ) -> Result<SecretText, ProviderError> {
        let content = self.open(uid, identity).await?;
        content.field(field).map(SecretText::new).ok_or_else(|| {
            ProviderError::new(ErrorClass::NotFound, format!("{} keeps no `{field}`", content.address))
        })
    }

    /// The public attributes of a secret.
    ///
    /// # Errors
    /// As for [`Self::text`].
    pub async fn attributes(&self, uid: &ClusterUid, identity: &Identity) -> Result<Value, ProviderError> {
        Ok(self.open(uid, identity).await?.attributes.clone())
    }

    pub(crate) async fn open(
        &self,
        uid: &ClusterUid,
        identity: &Identity,
    ) -> Result<Arc<Content>, ProviderError> {
        let key = (uid.clone(), identity.clone());
        if let Some(content) = lock(&self.opened).get(&key) {
            return Ok(content.clone());
        }
        let reference = reference(identity)?;
        let opened = self.store(uid)?.open(&reference).await.map_err(failed)?;
        let mut content = Content::from_bytes(&opened.plain).map_err(|reason| {
            ProviderError::new(ErrorClass::Permanent, format!("the secret {identity} is damaged: {reason}"))
        })?;
        // Secrets that were stored before fingerprints existed get one too.
        content.tell_fingerprint();
        readers::correct(&mut content.attributes, &opened.names);
        let content = Arc::new(content);
        lock(&self.opened).insert(key, content.clone());
        Ok(content)
    }

    /// Stores the result of a step. Repeated with the same token it stores nothing new and returns the first
    /// value.
    pub(crate) async fn put(
        &self,
        uid: &ClusterUid,
        content: Content,
    ) -> Result<(Identity, Arc<Content>), ProviderError> {
        let journal = self.journal()?;
        let store = self.store(uid)?;
        let bytes = content.to_bytes().map_err(unwritable)?;
        let (name, also) =
            (content.address.to_string(), readers::recipients(&content.attributes, &self.services)?);
        let stored = store.put(&journal, (&name, content.token.as_str()), &bytes, &also).await;
        let stored = stored.map_err(failed)?;
        let identity = Identity::new(stored.to_string());
        self.note(content.address.clone(), identity.clone());
        let opened = self.open(uid, &identity).await?;
        Ok((identity, opened))
    }

    /// Encrypts a stored secret for another reader, or for none beside the keys of the state. The secret stays the
    /// same; repeated, it is encrypted again.
    pub(crate) async fn seal_for(
        &self,
        uid: &ClusterUid,
        identity: &Identity,
        reader: Value,
    ) -> Result<Arc<Content>, ProviderError> {
        let journal = self.journal()?;
        let content = self.open(uid, identity).await?;
        let mut attributes = content.attributes.clone();
        attributes.set(&Path::key(SEALED_FOR), reader);
        let also = readers::recipients(&attributes, &self.services)?;
        let content = Arc::new(content.with_attributes(attributes));
        let bytes = content.to_bytes().map_err(unwritable)?;
        self.store(uid)?.replace(&journal, &reference(identity)?, &bytes, &also).await.map_err(failed)?;
        lock(&self.opened).insert((uid.clone(), identity.clone()), content.clone());
        Ok(content)
    }

    pub(crate) async fn delete(&self, uid: &ClusterUid, identity: &Identity) -> Result<(), ProviderError> {
        let journal = self.journal()?;
        self.store(uid)?.delete(&journal, &reference(identity)?).await.map_err(failed)?;
        self.forget(identity);
        Ok(())
    }

    /// All values of the secrets that resources keep, with the unique id of the cluster that each belongs to.
    pub(crate) async fn list(&self) -> Result<Vec<(Identity, ClusterUid)>, ProviderError> {
        let Some(place) = &self.place else { return Ok(Vec::new()) };
        // Listing and reading the owner need neither a key nor a unique id.
        let store = SecretStore::new(place.backend.clone(), place.keyring.clone(), place.cluster.clone(), "");
        let mut found = Vec::new();
        for reference in store.list_all().await.map_err(failed)? {
            let kept =
                reference.name.parse().ok().is_some_and(|address: Address| kind::of(&address).is_some());
            if !kept {
                continue;
            }
            if let Some(uid) = store.owner(&reference).await.map_err(failed)? {
                found.push((Identity::new(reference.to_string()), ClusterUid::new(uid)));
            }
        }
        Ok(found)
    }

    fn store(&self, uid: &ClusterUid) -> Result<SecretStore, ProviderError> {
        let place = self.place.as_ref().ok_or_else(|| {
            let text = format!("{} has no state here, and so no secrets", self.cluster);
            ProviderError::new(ErrorClass::Invalid, text)
        })?;
        let (backend, keyring) = (place.backend.clone(), place.keyring.clone());
        Ok(SecretStore::new(backend, keyring, place.cluster.clone(), uid.as_str()))
    }

    fn journal(&self) -> Result<Journal, ProviderError> {
        self.hold.clone().ok_or_else(|| {
            let text = format!("{} is not held, and secrets are written under a hold only", self.cluster);
            ProviderError::new(ErrorClass::Invalid, text)
        })
    }
}

fn unwritable(reason: String) -> ProviderError {
    ProviderError::new(ErrorClass::Permanent, format!("a secret cannot be written: {reason}"))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn reference(identity: &Identity) -> Result<SecretReference, ProviderError> {
    identity
        .as_str()
        .parse()
        .map_err(|error: Error| ProviderError::new(ErrorClass::NotFound, error.to_string()))
}

/// A failure of the store as an error of a provider.
pub(crate) fn failed(error: Error) -> ProviderError {
    let class = match &error {
        Error::Missing { .. } => ErrorClass::NotFound,
        Error::NoKey { .. } | Error::WrongKey { .. } | Error::NoRecipients => {
            ErrorClass::Permission { action: "open secrets".to_owned() }
        }
        Error::KeyService { source, .. } => source.class.clone(),
        Error::Store(slipway_state_store::Error::Backend(_)) => ErrorClass::Transient,
        _ => ErrorClass::Permanent,
    };
    let failed = ProviderError::new(class, with_causes(&error));
    match error.hint() {
        Some(hint) => failed.with_hint(hint),
        None => failed,
    }
}
