//! Encryption of objects in etcd: `EncryptionConfiguration` of apiserver.config.k8s.io/v1.

use serde_json::{Value, json};
use slipway_cluster_input::{AtRest, AtRestProvider};
use slipway_resource::SecretText;

use crate::yaml;

/// The name of the key that encrypts; a rotation puts the next before it.
const KEY: &str = "key1";

/// The text of the configuration. `key` is 32 bytes in base64, without effect for a KMS plugin.
///
/// Objects that were stored before stay readable: the last provider is the one that reads what is not encrypted.
#[must_use]
pub fn configuration(settings: &AtRest, key: &SecretText) -> SecretText {
    let keys = json!({"keys": [{"name": KEY, "secret": key.expose()}]});
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
}
