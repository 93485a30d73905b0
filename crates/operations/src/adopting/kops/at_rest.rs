//! The key with which a cluster of kOps encrypts objects at rest: the secret `encryptionconfig`, which the user gave to kOps.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;
use slipway_bootstrap::encryption::{self, Key};
use slipway_cluster_input::AtRest;
use slipway_resource::{Desired, SecretText};

/// The configuration of the API server as Slipway writes it, with the key of kOps. `None` if the secret has other settings than the
/// spec, or several keys: the API server needs all of it.
pub(super) fn configuration(key: &Desired, secret: &str) -> Option<SecretText> {
    let settings = key.attributes.get("at_rest")?.to_json();
    let settings: AtRest = serde_json::from_value(settings).ok()?;
    let found = found(&settings, secret)?;
    let text = encryption::configuration_of(&settings, std::slice::from_ref(&found));
    // The text gives the key back, whatever its name is.
    let is_same = |kept: &Key| kept.name == found.name && kept.secret == found.secret;
    matches!(encryption::keys(text.expose()).as_slice(), [kept] if is_same(kept)).then_some(text)
}

/// The only key in a secret of kOps, if its settings are those of the spec.
fn found(settings: &AtRest, secret: &str) -> Option<Key> {
    let secret: Json = serde_json::from_str(secret).ok()?;
    let data = STANDARD.decode(secret.get("Data")?.as_str()?).ok()?;
    let document: Json = serde_yaml::from_slice(&data).ok()?;
    let [entry] = document.get("resources")?.as_array()?.as_slice() else { return None };
    let resources: Vec<&str> =
        entry.get("resources")?.as_array()?.iter().map(Json::as_str).collect::<Option<_>>()?;
    let [first, last] = entry.get("providers")?.as_array()?.as_slice() else { return None };
    let provider = serde_json::to_value(settings.provider).ok()?;
    let [key] = first.get(provider.as_str()?)?.get("keys")?.as_array()?.as_slice() else { return None };
    let (name, secret) = (key.get("name")?.as_str()?, key.get("secret")?.as_str()?);
    let is_fit = resources == settings.resources && last.get("identity").is_some();
    is_fit.then(|| Key { name: name.to_owned(), secret: SecretText::new(secret) })
}

#[cfg(test)]
pub(super) mod tests {
    use slipway_resource::{Address, Value};

    use super::*;

    /// The key of the spec.
    pub(in crate::adopting) fn key(provider: &str) -> Desired {
        let settings =
            serde_json::json!({ "provider": provider, "kmsEndpoint": null, "resources": ["secrets"] });
        let attributes = Value::map([("at_rest", Value::from_json(&settings))]);
        Desired::new(Address::new("encryption_key", "at-rest"), attributes)
    }

    /// A secret as kOps stores it.
    pub(in crate::adopting) fn secret(configuration: &str) -> String {
        serde_json::json!({ "Data": STANDARD.encode(configuration) }).to_string()
    }

    pub(in crate::adopting) const CONFIGURATION: &str = "\
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
  - resources: [secrets]
    providers:
      - aescbc:
          keys:
            - name: k-2024
              secret: c2VjcmV0IGlzIHNlY3VyZQ==
      - identity: {}
";

    #[test]
    fn a_key_is_kept_with_its_name_where_the_settings_are_those_of_the_spec() {
        let text = configuration(&key("aescbc"), &secret(CONFIGURATION)).unwrap();
        let keys = encryption::keys(text.expose());
        assert_eq!(keys.len(), 1);
        assert_eq!((keys[0].name.as_str(), keys[0].secret.expose()), ("k-2024", "c2VjcmV0IGlzIHNlY3VyZQ=="));
        let more = "            - name: old\n              secret: b2xk\n      - identity";
        for (settings, other) in [
            ("secretbox", CONFIGURATION.to_owned()),
            ("aescbc", CONFIGURATION.replace("[secrets]", "[secrets, configmaps]")),
            ("aescbc", CONFIGURATION.replace("      - identity", more)),
            ("aescbc", CONFIGURATION.replace("      - identity: {}\n", "")),
            ("aescbc", "resources: []".to_owned()),
        ] {
            assert!(configuration(&key(settings), &secret(&other)).is_none(), "{settings}: {other}");
        }
        assert!(configuration(&key("aescbc"), CONFIGURATION).is_none(), "it is not as kOps stores it");
    }
}
