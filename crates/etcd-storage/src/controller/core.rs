//! The certificates for the core etcd, which an administrator puts into the controller's namespace.

use slipway_bootstrap::pki::{Certificate, PrivateKey};
use slipway_controller::k8s_openapi::api::core::v1::{ConfigMap, Secret};
use slipway_controller::kube;
use slipway_resource::SecretText;

use super::context::Context;
use super::failure::explained;
use super::names::{CERTIFICATE, CORE_CA, KEY};

/// The certificates for the core etcd, in PEM.
pub(crate) struct CoreFiles {
    pub(crate) authorities: String,
    pub(crate) certificate: String,
    pub(crate) key: SecretText,
}

/// Why there are none.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoCoreFiles {
    #[error("{kind} {name} does not exist in the namespace {namespace}: create it with {keys}")]
    Missing { kind: &'static str, name: String, namespace: String, keys: &'static str },
    #[error("{kind} {name} has no usable {key}: {reason}")]
    Invalid { kind: &'static str, name: String, key: &'static str, reason: String },
    #[error("{}", explained(.0))]
    Api(#[from] kube::Error),
}

impl NoCoreFiles {
    /// The reason in the condition.
    pub(crate) const fn reason(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "Missing",
            Self::Invalid { .. } => "Invalid",
            Self::Api(_) => "Unreadable",
        }
    }
}

/// Reads and checks them. The proxies read the same objects as mounted files.
pub(crate) async fn files(context: &Context) -> Result<CoreFiles, NoCoreFiles> {
    let settings = &context.settings;
    let missing = |kind, name: &str, keys| NoCoreFiles::Missing {
        kind,
        name: name.to_owned(),
        namespace: settings.namespace.clone(),
        keys,
    };
    let name = &settings.core_ca_config_map;
    let map = context.namespaced::<ConfigMap>().get_opt(name).await?;
    let map = map.ok_or_else(|| missing("ConfigMap", name, CORE_CA))?;
    let authorities = map.data.unwrap_or_default().remove(CORE_CA).unwrap_or_default();
    let invalid = |kind, name: &str, key, reason: String| NoCoreFiles::Invalid {
        kind,
        name: name.to_owned(),
        key,
        reason,
    };
    Certificate::chain_from_pem(&authorities)
        .map_err(|error| invalid("ConfigMap", name, CORE_CA, error.to_string()))?;
    let name = &settings.core_certs_secret;
    let secret = context.namespaced::<Secret>().get_opt(name).await?;
    let secret = secret.ok_or_else(|| missing("Secret", name, "tls.crt and tls.key"))?;
    let data = secret.data.unwrap_or_default();
    let text =
        |key| data.get(key).map(|bytes| String::from_utf8_lossy(&bytes.0).into_owned()).unwrap_or_default();
    let (certificate, key) = (text(CERTIFICATE), SecretText::new(text(KEY)));
    let parsed = Certificate::from_pem(&certificate)
        .map_err(|error| invalid("Secret", name, CERTIFICATE, error.to_string()))?;
    let parsed_key = PrivateKey::from_pem(key.expose())
        .map_err(|error| invalid("Secret", name, KEY, error.to_string()))?;
    if parsed.public_key() != parsed_key.public_key() {
        return Err(invalid("Secret", name, KEY, "it is not the key of tls.crt".to_owned()));
    }
    Ok(CoreFiles { authorities, certificate, key })
}
