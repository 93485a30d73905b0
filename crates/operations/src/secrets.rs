//! Secrets: their texts from the environment and from files, and the keys that seal them in the state.

pub(crate) mod sealed;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use slipway_engine::{Comparing, SecretError, SecretSource, forget_foreign, has_secret, kept_texts};
use slipway_generated_secrets::Vault;
use slipway_limits::{Exceeded, size};
use slipway_plan::{Snapshot, Uncompared};
use slipway_resource::provider::{ExpandNote, PreflightFinding};
use slipway_resource::{Address, ClusterUid, Desired, ErrorClass, Identity, Secret, SecretText, Value};
use slipway_secrets::sops::{self, Syntax};
use slipway_secrets::{FingerprintKey, Keyring, SecretStore};
use slipway_state_store::{Backend, ClusterName};
use slipway_trust::Refusal;

use crate::composition::MANIFEST_SOURCE;
use crate::environment::Identities;
use crate::error::Error;
use crate::trust::Grounds;

/// Reads `env:NAME`, `file:path` and `sops:path#key`; a relative path begins at the folder of the spec.
#[derive(Clone)]
pub struct UserSecrets {
    /// The folder of the spec.
    pub(crate) folder: PathBuf,
    /// Decides whether the spec may name a secret.
    pub(crate) grounds: Grounds,
    /// Texts that a plan file had, by where they came from when it was made.
    pub(crate) sealed: BTreeMap<String, SecretText>,
    /// The identities that open what SOPS has encrypted.
    pub(crate) identities: Identities,
    /// The texts of secrets in the manifests of add-ons, by the rest of their sources.
    pub(crate) manifests: BTreeMap<String, SecretText>,
    /// The secrets that the cluster keeps itself.
    pub(crate) vault: Arc<Vault>,
}

impl UserSecrets {
    /// The text of a file that the policy grants.
    fn file(&self, path: &str) -> Result<String, String> {
        let Grounds { policy, tree } = &self.grounds;
        let granted = policy.secret_file(tree, &self.folder.join(path));
        let file = granted.map_err(|refusal| refused(&refusal))?;
        file.read_text(size::SECRET).map_err(|error| match Exceeded::of(&error) {
            Some(exceeded) => format!("{exceeded} [{}]", exceeded.code()),
            None => error.to_string(),
        })
    }

    /// The limit because of which a file that the policy grants is not read.
    fn exceeded(&self, place: &str) -> Option<Exceeded> {
        let Grounds { policy, tree } = &self.grounds;
        let path = place.split('#').next().unwrap_or(place);
        let file = policy.secret_file(tree, &self.folder.join(path)).ok()?;
        Exceeded::of(&file.read_text(size::SECRET).err()?).cloned()
    }

    /// Why the trust policy does not allow the spec to name a secret.
    fn refusal(&self, source: &str) -> Option<Refusal> {
        let Grounds { policy, tree } = &self.grounds;
        match source.split_once(':')? {
            ("env", name) => policy.variable(name).err(),
            ("file", path) => policy.secret_file(tree, &self.folder.join(path)).err(),
            ("sops", place) => {
                let path = place.split('#').next().unwrap_or(place);
                policy.secret_file(tree, &self.folder.join(path)).err()
            }
            _ => None,
        }
    }

    fn variable(&self, name: &str) -> Result<String, String> {
        let variable = self.grounds.policy.variable(name).map_err(|refusal| refused(&refusal))?;
        variable.text().ok_or_else(|| format!("the environment variable {name} is not set"))
    }

    /// A value of a file that SOPS has encrypted. Nothing is run for it.
    fn sops(&self, place: &str) -> Result<SecretText, String> {
        let (path, key) = place.split_once('#').ok_or("it is written `sops:path#key`")?;
        let syntax = Syntax::of(path).ok_or("only YAML and JSON files of SOPS are read")?;
        let text = self.file(path)?;
        let identities = (self.identities)().map_err(|error| error.to_string())?;
        sops::read(&text, syntax, key, &identities).map_err(|error| error.to_string())
    }
}

#[async_trait]
impl SecretSource for UserSecrets {
    fn text(&self, source: &str) -> Result<SecretText, SecretError> {
        if let Some(text) = self.sealed.get(source) {
            return Ok(text.clone());
        }
        let fail = |message: String| SecretError { source_name: source.to_owned(), message };
        match source.split_once(':') {
            Some(("env", name)) => self.variable(name).map(SecretText::new).map_err(fail),
            Some(("file", path)) => {
                let text = self.file(path).map_err(fail)?;
                Ok(SecretText::new(text.trim_end_matches('\n')))
            }
            Some(("sops", place)) => self.sops(place).map_err(fail),
            Some((MANIFEST_SOURCE, place)) => self
                .manifests
                .get(place)
                .cloned()
                .ok_or_else(|| fail("the manifest does not have it any more".to_owned())),
            _ => Err(fail("a secret comes from `env:NAME`, `file:path` or `sops:path#key`".to_owned())),
        }
    }

    async fn kept(
        &self,
        uid: &ClusterUid,
        identity: &Identity,
        field: &str,
    ) -> Result<SecretText, SecretError> {
        self.vault.text(uid, identity, field).await.map_err(|error| SecretError {
            source_name: format!("{identity}#{field}"),
            message: error.message,
        })
    }
}

/// A refusal in one sentence, with its code and its way out: a secret's failure is a remark of a plan, or a step's error.
fn refused(refusal: &Refusal) -> String {
    format!("{} [{}]; {}", refusal, refusal.code(), refusal.hint())
}

/// A source that has the texts, too, that the cluster keeps itself and that were opened beforehand.
struct Opened<'a> {
    kept: BTreeMap<String, SecretText>,
    user: &'a dyn SecretSource,
}

impl SecretSource for Opened<'_> {
    fn text(&self, source: &str) -> Result<SecretText, SecretError> {
        self.kept.get(source).cloned().map_or_else(|| self.user.text(source), Ok)
    }
}

/// The secrets of a cluster in the state store.
pub(crate) fn store(
    keyring: &Arc<Keyring>,
    backend: Arc<dyn Backend>,
    cluster: &str,
    uid: &ClusterUid,
) -> Result<SecretStore, Error> {
    let name = ClusterName::new(cluster)?;
    Ok(SecretStore::new(backend, keyring.clone(), name, uid.as_str()))
}

/// The secrets that a state names and its store does not have any more.
///
/// # Errors
/// When the store cannot be read.
pub async fn lost(
    keyring: &Arc<Keyring>,
    backend: &Arc<dyn Backend>,
    cluster: &ClusterName,
    state: Option<&slipway_engine::State>,
) -> Result<Vec<String>, Error> {
    let records = state.into_iter().flat_map(|state| &state.snapshot.resources);
    let named: Vec<(&Address, &slipway_plan::Record)> =
        records.filter(|(_, record)| record.provider == slipway_generated_secrets::NAME).collect();
    if named.is_empty() {
        return Ok(Vec::new());
    }
    // Listing needs no key.
    let store = SecretStore::new(backend.clone(), keyring.clone(), cluster.clone(), "");
    let stored: Vec<String> = store.list_all().await?.iter().map(ToString::to_string).collect();
    let lost =
        named.iter().filter(|(_, record)| !stored.iter().any(|stored| stored == record.identity.as_str()));
    Ok(lost
        .map(|(address, record)| format!("{address}: its secret {} is missing", record.identity))
        .collect())
}

/// Secrets that a plan cannot compare.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    /// Remarks on secrets that cannot be read here.
    pub notes: Vec<ExpandNote>,
    /// Resources that have secrets, were applied before, and cannot be compared.
    pub resources: BTreeMap<Address, Uncompared>,
    /// The snapshot without the fingerprints whose key is missing from the state; none when no key is missing. Resources with
    /// such fingerprints are in `resources`.
    pub prior: Option<Snapshot>,
}

/// Lets a plan compare secrets. Returns the ones that cannot be compared here: a resource that looks
/// unchanged and has such a secret may have changed.
pub(crate) async fn compare(
    desired: &mut [Desired],
    prior: Option<&Snapshot>,
    uid: &ClusterUid,
    store: &SecretStore,
    source: &dyn SecretSource,
) -> Result<Comparison, Error> {
    let mut uncompared = Comparison::default();
    if !desired.iter().any(|desired| has_secret(&desired.attributes)) {
        return Ok(uncompared);
    }
    let (key, locked) = fingerprint_key(store, &mut uncompared.notes).await?;
    let (seen, forgotten) = match prior.filter(|_| locked.is_none()) {
        Some(prior) => without_foreign(prior, key.as_ref()),
        None => (None, BTreeSet::new()),
    };
    let prior = seen.as_ref().or(prior);
    let identity_of = |address: &Address| prior?.resources.get(address).map(|record| record.identity.clone());
    for desired in desired {
        let kept = kept(&desired.attributes, source, uid, &identity_of).await;
        let source = &Opened { kept, user: source };
        let record = prior.and_then(|prior| prior.resources.get(&desired.address));
        let applied = record.and_then(|record| record.applied.as_ref());
        let forgets = forgotten.contains(&desired.address);
        let mut comparing = Comparing { key: key.as_ref(), uid, forgets, unread: Vec::new() };
        comparing.compare(&mut desired.attributes, applied, source);
        // A missing secret that the cluster keeps itself is made by the same plan.
        let unread: Vec<SecretError> = comparing
            .unread
            .into_iter()
            .filter(|error| {
                let keeper = Secret::new(&*error.source_name).keeper().map(|(keeper, _)| keeper);
                keeper.is_none_or(|keeper| identity_of(&keeper).is_some())
            })
            .collect();
        let reason = unread
            .first()
            .map(ToString::to_string)
            .or_else(|| locked.clone().filter(|_| has_secret(&desired.attributes)));
        let why = reason.map(Uncompared::Unread).or(forgets.then_some(Uncompared::Forgotten));
        if let (Some(why), true) = (why, applied.is_some_and(has_secret)) {
            uncompared.resources.insert(desired.address.clone(), why);
        }
        uncompared.notes.extend(
            unread
                .iter()
                .map(|error| ExpandNote { field: desired.address.to_string(), message: error.to_string() }),
        );
    }
    uncompared.prior = seen;
    Ok(uncompared)
}

/// A snapshot as a plan compares secrets with it: without the fingerprints whose key is missing from the state. `None` when no key
/// is missing, or when it cannot be opened here.
///
/// # Errors
/// When the key cannot be read.
pub(crate) async fn comparable(prior: &Snapshot, store: &SecretStore) -> Result<Option<Snapshot>, Error> {
    let mut records = prior.resources.values();
    if !records.any(|record| record.applied.as_ref().is_some_and(has_secret)) {
        return Ok(None);
    }
    let (key, locked) = fingerprint_key(store, &mut Vec::new()).await?;
    Ok(if locked.is_some() { None } else { without_foreign(prior, key.as_ref()).0 })
}

/// A snapshot without the fingerprints that nothing can be compared with, since their key is missing, and the resources that
/// had them; no snapshot when there is no such fingerprint.
fn without_foreign(prior: &Snapshot, key: Option<&FingerprintKey>) -> (Option<Snapshot>, BTreeSet<Address>) {
    let (mut seen, mut forgotten) = (None, BTreeSet::new());
    for (address, record) in &prior.resources {
        let mut applied = record.applied.clone();
        if applied.as_mut().is_some_and(|applied| forget_foreign(applied, key)) {
            forgotten.insert(address.clone());
            let seen = seen.get_or_insert_with(|| prior.clone());
            if let Some(record) = seen.resources.get_mut(address) {
                record.applied = applied;
            }
        }
    }
    (seen, forgotten)
}

/// The user's secrets that resources need which were never applied, and that are not there: a plan says so, and not the
/// step that needs them. A stranger's spec has no secret read.
pub(crate) fn missing(
    desired: &[Desired],
    prior: Option<&Snapshot>,
    source: &UserSecrets,
) -> Vec<PreflightFinding> {
    if source.grounds.policy.is_untrusted() {
        return Vec::new();
    }
    let is_users = |secret: &str| ["env:", "file:", "sops:"].iter().any(|kind| secret.starts_with(kind));
    let is_applied = |desired: &Desired| {
        prior
            .and_then(|prior| prior.resources.get(&desired.address))
            .is_some_and(|record| record.applied.is_some())
    };
    let mut needed: BTreeMap<String, &Address> = BTreeMap::new();
    for desired in desired.iter().filter(|desired| !is_applied(desired)) {
        desired.attributes.for_each_secret(&mut |secret| {
            if is_users(&secret.source) {
                needed.entry(secret.source.clone()).or_insert(&desired.address);
            }
        });
    }
    let finding = |(name, address): (String, &Address)| {
        let error = source.text(&name).err()?;
        let (message, hint) = match (source.refusal(&name), name.split_once(':')?) {
            (Some(refusal), _) => (format!("secret {name}: {refusal} [{}]", refusal.code()), refusal.hint()),
            (None, ("env", name)) => {
                (error.to_string(), format!("set the environment variable {name} where `slipway` runs"))
            }
            (None, (_, place)) => {
                let hint = match source.exceeded(place) {
                    Some(exceeded) => exceeded.hint().to_owned(),
                    None => format!("make {place} readable, or correct its name in the spec"),
                };
                (error.to_string(), hint)
            }
        };
        let (address, hint) = (Some(address.clone()), Some(hint));
        Some(PreflightFinding { address, class: ErrorClass::Invalid, message, hint })
    };
    needed.into_iter().filter_map(finding).collect()
}

/// The texts that the cluster keeps of the secrets in a value, as far as they are there and can be opened here.
async fn kept(
    value: &Value,
    source: &dyn SecretSource,
    uid: &ClusterUid,
    identity_of: &(dyn Fn(&Address) -> Option<Identity> + Sync),
) -> BTreeMap<String, SecretText> {
    let mut secrets = Vec::new();
    value.for_each_secret(&mut |secret| secrets.push(Value::from(secret.clone())));
    let mut texts = BTreeMap::new();
    for secret in &secrets {
        texts.extend(kept_texts(&[secret], source, uid, identity_of).await.unwrap_or_default());
    }
    texts
}

async fn fingerprint_key(
    store: &SecretStore,
    notes: &mut Vec<ExpandNote>,
) -> Result<(Option<FingerprintKey>, Option<String>), Error> {
    use slipway_secrets::Error as SealError;
    match store.fingerprint_key().await {
        Ok(key) => Ok((key, None)),
        Err(
            error @ (SealError::NoKey { .. } | SealError::WrongKey { .. } | SealError::KeyService { .. }),
        ) => {
            let message = format!("secrets cannot be compared: {error}");
            notes.push(ExpandNote { field: "secrets".to_owned(), message });
            Ok((None, Some(error.to_string())))
        }
        Err(error) => Err(error.into()),
    }
}
