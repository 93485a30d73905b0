//! Encryption of objects in etcd: `EncryptionConfiguration` of apiserver.config.k8s.io/v1.

use serde_json::{Value, json};
use slipway_cluster_input::{AtRest, AtRestProvider};
use slipway_resource::SecretText;

use crate::yaml;

/// The name of the first key of a cluster.
pub const FIRST_KEY: &str = "key1";

/// A key for data, with the name that objects encrypted with it have in their prefix.
#[derive(Clone, Debug)]
pub struct Key {
    /// The name.
    pub name: String,
    /// The key in base64.
    pub secret: SecretText,
}

/// The text of the configuration. `key` is 32 bytes in base64, without effect for a KMS plugin.
///
/// Objects that were stored before stay readable: the last provider is the one that reads what is not encrypted.
#[must_use]
pub fn configuration(settings: &AtRest, key: &SecretText) -> SecretText {
    configuration_of(settings, &[Key { name: FIRST_KEY.to_owned(), secret: key.clone() }])
}

/// The same with several keys. The first one encrypts, all of them decrypt.
#[must_use]
pub fn configuration_of(settings: &AtRest, keys: &[Key]) -> SecretText {
    let key = |key: &Key| json!({"name": key.name, "secret": key.secret.expose()});
    let keys = json!({"keys": keys.iter().map(key).collect::<Vec<Value>>()});
    let first = match settings.provider {
        AtRestProvider::Secretbox => json!({"secretbox": keys}),
        AtRestProvider::Aescbc => json!({"aescbc": keys}),
        AtRestProvider::Kms => json!({"kms": {
            "apiVersion": "v2", "name": "slipway", "timeout": "3s",
            "endpoint": settings.kms_endpoint.as_deref().unwrap_or_default(),
        }}),
    };
    let configuration: Value = json!({
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "EncryptionConfiguration",
        "resources": [{"resources": settings.resources, "providers": [first, {"identity": {}}]}],
    });
    SecretText::new(yaml::to_string(&configuration))
}

/// The keys in the text of a configuration, in their order. Reads the form that [`configuration_of`] writes: in other forms it
/// finds no keys.
#[must_use]
pub fn keys(text: &str) -> Vec<Key> {
    let value = |line: &str, field: &str| {
        let value = line.trim_start().strip_prefix(field)?;
        Some(value.trim().trim_matches('"').to_owned())
    };
    let mut name = None;
    let mut keys = Vec::new();
    for line in text.lines() {
        if let Some(found) = value(line, "- name: ") {
            name = Some(found);
        } else if let Some(secret) = value(line, "secret: ")
            && let Some(name) = name.take()
        {
            keys.push(Key { name, secret: SecretText::new(secret) });
        }
    }
    keys
}

/// Whether everything that was encrypted by one configuration can be decrypted by another one: it has the key that the first
/// one encrypts with.
#[must_use]
pub fn reads_what_is_written(before: &str, after: &str) -> bool {
    let (before, after) = (keys(before), keys(after));
    let Some(used) = before.first() else { return false };
    after.iter().any(|key| key.name == used.name && key.secret.expose() == used.secret.expose())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_stored_before_stays_readable() {
        let settings = AtRest {
            provider: AtRestProvider::Secretbox,
            key: None,
            kms_endpoint: None,
            resources: vec!["secrets".to_owned()],
        };
        let text = configuration(&settings, &SecretText::new("a2V5"));
        assert_eq!(
            text.expose(),
            "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- providers:\n  - \
             secretbox:\n      keys:\n      - name: key1\n        secret: a2V5\n  - identity: {}\n  resources:\n  - secrets\n"
        );
    }

    #[test]
    fn a_configuration_is_followed_by_one_that_has_its_key() {
        let settings = AtRest {
            provider: AtRestProvider::Aescbc,
            key: None,
            kms_endpoint: None,
            resources: vec!["secrets".to_owned()],
        };
        let text = |all: &[(&str, &str)]| {
            let key = |(name, secret): &(&str, &str)| Key {
                name: (*name).to_owned(),
                secret: SecretText::new(*secret),
            };
            let keys: Vec<Key> = all.iter().map(key).collect();
            configuration_of(&settings, &keys).expose().to_owned()
        };
        let (old, new) = (("key1", "AAAA"), ("key-2", "Zm9v+/=="));
        let stages = [text(&[old]), text(&[old, new]), text(&[new, old]), text(&[new])];
        let names = |text: &str| keys(text).into_iter().map(|key| key.name).collect::<Vec<_>>();
        assert_eq!(names(&stages[2]), ["key-2", "key1"]);
        for pair in stages.windows(2) {
            assert!(reads_what_is_written(&pair[0], &pair[1]) && reads_what_is_written(&pair[1], &pair[0]));
        }
        assert!(!reads_what_is_written(&stages[0], &stages[3]));
        // The same name with another key, and a text in another form.
        assert!(!reads_what_is_written(&stages[0], &text(&[("key1", "BBBB")])));
        assert!(!reads_what_is_written("{kind: EncryptionConfiguration}", &stages[0]));
    }
}
