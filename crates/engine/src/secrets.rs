//! Secret texts on their way from the user to the one call that needs them.

use std::collections::BTreeMap;

use async_trait::async_trait;
use slipway_plan::Plan;
use slipway_resource::{Address, ClusterUid, Identity, Secret, SecretText, Value};
use slipway_secrets::{FingerprintKey, fingerprint};

/// A secret that cannot be read.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the secret {source_name} cannot be read: {message}")]
pub struct SecretError {
    /// Where it should come from, as `env:NAME`.
    pub source_name: String,
    /// Why not.
    pub message: String,
}

/// Where secret texts come from.
#[async_trait]
pub trait SecretSource: Send + Sync {
    /// The text of a secret, by its source as `env:NAME`, `file:path` or `sops:path#key`.
    ///
    /// # Errors
    /// When there is none.
    fn text(&self, source: &str) -> Result<SecretText, SecretError>;

    /// The text of a field that a resource of the cluster keeps in the state store, by the resource's identity.
    ///
    /// # Errors
    /// When nothing is kept under it, or when it cannot be opened here.
    async fn kept(
        &self,
        uid: &ClusterUid,
        identity: &Identity,
        field: &str,
    ) -> Result<SecretText, SecretError> {
        let message = format!("{uid} keeps no secrets here");
        Err(SecretError { source_name: format!("{identity}#{field}"), message })
    }
}

/// A source that has no secrets.
#[derive(Debug, Default)]
pub struct NoSecrets;

impl SecretSource for NoSecrets {
    fn text(&self, source: &str) -> Result<SecretText, SecretError> {
        Err(SecretError {
            source_name: source.to_owned(),
            message: "secrets are not available here".to_owned(),
        })
    }
}

/// Gives the secrets in wanted attributes the fingerprints by which a plan compares them.
///
/// A fingerprint of the older form stays while the recorded text is the same, so that an unchanged secret
/// shows no change. A secret without the cluster's key, or whose text cannot be read here, counts as
/// unchanged when it has the same source as the applied one. The caller must report that it was not compared.
/// Where the state had a fingerprint that was forgotten, a secret of the same source gets no fingerprint
/// either, and the plan names it.
#[derive(Debug)]
pub struct Comparing<'a> {
    /// The cluster's key; none when the cluster has none yet, or when it cannot be opened here.
    pub key: Option<&'a FingerprintKey>,
    /// The cluster's unique id.
    pub uid: &'a ClusterUid,
    /// Whether fingerprints of what was applied were forgotten, as [`forget_foreign`] says.
    pub forgets: bool,
    /// Texts that could not be read.
    pub unread: Vec<SecretError>,
}

impl Comparing<'_> {
    /// Gives the secrets in desired attributes their fingerprints, beside the attributes that were applied
    /// last.
    pub fn compare(&mut self, wanted: &mut Value, applied: Option<&Value>, source: &dyn SecretSource) {
        match wanted {
            Value::Secret(secret) => self.one(secret, applied, source),
            Value::List(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    let applied = applied.and_then(Value::as_list).and_then(|items| items.get(index));
                    self.compare(item, applied, source);
                }
            }
            Value::Map(entries) => {
                for (key, value) in entries {
                    let applied = applied.and_then(|applied| applied.get(key));
                    self.compare(value, applied, source);
                }
            }
            _ => {}
        }
    }

    fn one(&mut self, secret: &mut Secret, applied: Option<&Value>, source: &dyn SecretSource) {
        let before = match applied {
            Some(Value::Secret(before)) => Some(&**before),
            _ => None,
        };
        let text = match source.text(&secret.source) {
            Ok(text) => Some(text),
            Err(error) => {
                self.unread.push(error);
                None
            }
        };
        let recorded = before.and_then(|before| before.fingerprint.as_deref());
        let is_unknown = |before: &Secret| before.fingerprint.is_none() && before.source == secret.source;
        if self.forgets && before.is_some_and(is_unknown) && secret.keeper().is_none() {
            secret.fingerprint = None;
            return;
        }
        secret.fingerprint = match (text, recorded, self.key) {
            (Some(text), Some(recorded), _) if fingerprint::is_older(recorded) => {
                if fingerprint::older(self.uid, &text) == recorded {
                    Some(recorded.to_owned())
                } else {
                    self.key.map(|key| key.fingerprint(&text))
                }
            }
            (Some(text), _, Some(key)) => Some(key.fingerprint(&text)),
            _ => before
                .filter(|before| before.source == secret.source)
                .and_then(|before| before.fingerprint.clone()),
        };
    }
}

/// Removes the fingerprints that only another key than the cluster's can have made from the user's secrets in a value:
/// nothing can be compared with them. Returns whether there was one.
pub fn forget_foreign(value: &mut Value, key: Option<&FingerprintKey>) -> bool {
    let mut is_any = false;
    let forgotten: Result<(), SecretError> = each(value, &mut |secret| {
        let is_foreign = |fingerprint: &mut String| {
            !fingerprint::is_older(fingerprint) && !key.is_some_and(|key| key.has_made(fingerprint))
        };
        if secret.keeper().is_none() {
            is_any |= secret.fingerprint.take_if(is_foreign).is_some();
        }
        Ok(())
    });
    debug_assert!(forgotten.is_ok(), "forgetting cannot fail");
    is_any
}

/// Whether a value contains a secret.
#[must_use]
pub fn has_secret(value: &Value) -> bool {
    match value {
        Value::Secret(_) => true,
        Value::List(items) => items.iter().any(has_secret),
        Value::Map(entries) => entries.values().any(has_secret),
        _ => false,
    }
}

/// Whether carrying a plan out needs the text of a secret.
pub(crate) fn needs_texts(plan: &Plan) -> bool {
    plan.changes.iter().any(|change| has_secret(&change.after) || has_secret(&change.record.applied))
}

/// Whether a secret in a value, which the user supplies, has no fingerprint yet.
pub(crate) fn lacks_fingerprint(value: &Value) -> bool {
    match value {
        Value::Secret(secret) => secret.fingerprint.is_none() && secret.keeper().is_none(),
        Value::List(items) => items.iter().any(lacks_fingerprint),
        Value::Map(entries) => entries.values().any(lacks_fingerprint),
        _ => false,
    }
}

/// The texts that resources of the cluster keep, for the secrets in a value, by their sources.
///
/// # Errors
/// When such a resource is not recorded, or its text cannot be opened here.
pub async fn kept_texts(
    values: &[&Value],
    source: &dyn SecretSource,
    uid: &ClusterUid,
    identity_of: &(dyn Fn(&Address) -> Option<Identity> + Sync),
) -> Result<Texts, SecretError> {
    open_kept(&kept(values, identity_of)?, source, uid).await
}

/// Texts of secrets, by the sources of the secrets.
pub type Texts = BTreeMap<String, SecretText>;

/// The objects of the cluster that keep the texts of secrets, each with the field, by the sources of the
/// secrets.
pub(crate) type Kept = BTreeMap<String, (Identity, String)>;

/// Finds the objects of the cluster that keep the texts of the secrets in some values. Opens none of them.
///
/// # Errors
/// When such an object is not recorded.
pub(crate) fn kept(
    values: &[&Value],
    identity_of: &(dyn Fn(&Address) -> Option<Identity> + Sync),
) -> Result<Kept, SecretError> {
    let mut keepers: BTreeMap<String, (Address, String)> = BTreeMap::new();
    for value in values {
        value.for_each_secret(&mut |secret| {
            if let Some((address, field)) = secret.keeper() {
                keepers.insert(secret.source.clone(), (address, field.to_owned()));
            }
        });
    }
    let known = |(name, (address, field)): (String, (Address, String))| match identity_of(&address) {
        Some(identity) => Ok((name, (identity, field))),
        None => Err(SecretError { source_name: name, message: format!("{address} is not there yet") }),
    };
    keepers.into_iter().map(known).collect()
}

/// Opens the texts that objects of the cluster keep.
///
/// # Errors
/// When one cannot be opened here.
pub(crate) async fn open_kept(
    kept: &Kept,
    source: &dyn SecretSource,
    uid: &ClusterUid,
) -> Result<Texts, SecretError> {
    let mut texts = Texts::new();
    for (name, (identity, field)) in kept {
        texts.insert(name.clone(), source.kept(uid, identity, field).await?);
    }
    Ok(texts)
}

/// Gives every secret in a value its text, and its fingerprint where the cluster has its key.
pub(crate) fn fill(
    value: &mut Value,
    source: &dyn SecretSource,
    kept: &Texts,
    key: Option<&FingerprintKey>,
) -> Result<(), SecretError> {
    each(value, &mut |secret| {
        if secret.text.is_none() {
            secret.text = Some(match kept.get(&secret.source) {
                Some(text) => text.clone(),
                None => source.text(&secret.source)?,
            });
        }
        if let (Some(key), Some(text)) = (key, &secret.text) {
            let fingerprint = key.fingerprint(text);
            if secret.fingerprint.as_deref().is_some_and(|planned| key.contradicts(planned, &fingerprint)) {
                return Err(SecretError {
                    source_name: secret.source.clone(),
                    message: "it differs from the one that the plan was made for; run `slipway plan` again"
                        .to_owned(),
                });
            }
            secret.fingerprint = Some(fingerprint);
        }
        Ok(())
    })
}

/// Removes the texts and keeps the fingerprints, so that the value may be stored.
pub(crate) fn strip(value: &mut Value) {
    // A value without a secret keeps the entries that it shares with others.
    if !has_secret(value) {
        return;
    }
    let stripped: Result<(), SecretError> = each(value, &mut |secret| {
        secret.text = None;
        Ok(())
    });
    debug_assert!(stripped.is_ok(), "taking away cannot fail");
}

fn each<E>(value: &mut Value, act: &mut impl FnMut(&mut Secret) -> Result<(), E>) -> Result<(), E> {
    match value {
        Value::Secret(secret) => act(secret),
        Value::List(items) => items.iter_mut().try_for_each(|item| each(item, act)),
        Value::Map(entries) => entries.values_mut().try_for_each(|value| each(value, act)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(&'static str);

    impl SecretSource for Fixed {
        fn text(&self, _: &str) -> Result<SecretText, SecretError> {
            Ok(SecretText::new(self.0))
        }
    }

    fn recorded(fingerprint: String) -> Value {
        Value::from(Secret { fingerprint: Some(fingerprint), ..Secret::new("env:A") })
    }

    fn compared(text: &'static str, key: Option<&FingerprintKey>, applied: Option<&Value>) -> Value {
        let mut wanted = Value::from(Secret::new("env:A"));
        let uid = ClusterUid::new("u");
        Comparing { key, uid: &uid, forgets: false, unread: Vec::new() }.compare(
            &mut wanted,
            applied,
            &Fixed(text),
        );
        wanted
    }

    #[test]
    fn a_fingerprint_of_the_older_form_is_recognised() {
        let (key, uid) = (FingerprintKey::new(&[1; 32]).unwrap(), ClusterUid::new("u"));
        let older = recorded(fingerprint::older(&uid, &SecretText::new("same")));
        assert_eq!(compared("same", Some(&key), Some(&older)), older, "no false change");
        assert_eq!(compared("same", None, Some(&older)), older, "nor before the cluster has a key");
        assert_ne!(compared("other", Some(&key), Some(&older)), older);
        assert_ne!(compared("other", None, Some(&older)), older);
    }

    #[test]
    fn a_fingerprint_is_compared_under_the_key() {
        let key = FingerprintKey::new(&[1; 32]).unwrap();
        let before = recorded(key.fingerprint(&SecretText::new("same")));
        assert_eq!(compared("same", Some(&key), Some(&before)), before);
        assert_ne!(compared("other", Some(&key), Some(&before)), before);
        assert_eq!(compared("other", None, Some(&before)), before, "without the key it is taken as applied");
    }

    #[test]
    fn without_the_key_of_its_fingerprint_a_secret_is_unknown() {
        let keys = [1, 2].map(|byte| FingerprintKey::new(&[byte; 32]).unwrap());
        let before = recorded(keys[0].fingerprint(&SecretText::new("same")));
        for (key, is_forgotten) in [(Some(&keys[0]), false), (Some(&keys[1]), true), (None, true)] {
            let mut seen = before.clone();
            assert_eq!(forget_foreign(&mut seen, key), is_forgotten, "{key:?}");
            assert_eq!(seen == before, !is_forgotten);
            let mut wanted = Value::from(Secret::new("env:A"));
            let uid = ClusterUid::new("u");
            let mut comparing = Comparing { key, uid: &uid, forgets: is_forgotten, unread: Vec::new() };
            comparing.compare(&mut wanted, Some(&seen), &Fixed("other"));
            assert_eq!(lacks_fingerprint(&wanted), is_forgotten, "{key:?}");
        }
    }

    #[test]
    fn a_secret_that_never_had_a_fingerprint_gets_one() {
        let key = FingerprintKey::new(&[1; 32]).unwrap();
        let mut never = Value::from(Secret::new("env:A"));
        assert!(!forget_foreign(&mut never, None));
        assert!(!lacks_fingerprint(&compared("any", Some(&key), Some(&never))));
    }

    #[test]
    fn what_may_be_stored_has_no_text() {
        let key = FingerprintKey::new(&[1; 32]).unwrap();
        let mut value = Value::map([("a", Value::List(vec![Value::from(Secret::new("env:A"))]))]);
        assert!(has_secret(&value));
        let changed = fill(&mut value, &Fixed("text"), &BTreeMap::new(), Some(&key)).and_then(|()| {
            strip(&mut value);
            fill(&mut value, &Fixed("other"), &BTreeMap::new(), Some(&key))
        });
        assert!(changed.unwrap_err().to_string().contains("run `slipway plan` again"));
        let text = |value: &Value| format!("{value:?}");
        assert!(text(&value).contains("Some((secret))"), "{}", text(&value));
        strip(&mut value);
        assert!(!text(&value).contains("Some((secret))"), "{}", text(&value));
        assert!(text(&value).contains("hmac-sha256:"));
    }
}
