//! Requests of a further control plane to the cluster before it joins: a token for its kubelet, and the
//! members of etcd.
//!
//! The control plane has the keys of the cluster's authorities, so it authenticates with a short-lived
//! certificate that it signs itself.

use jiff::{SignedDuration, Timestamp};
use slipway_bootstrap::boot::{NodeBootstrap, SETTINGS};
use slipway_bootstrap::configuration::{BootstrapTokenSettings, Configuration};
use slipway_bootstrap::objects::{TokenObject, bootstrap_token};
use slipway_bootstrap::token::Token;
use slipway_resource::SecretText;

use super::{Stop, settings};
use crate::api::{Api, ApiError, Trust};
use crate::authority::{Authority, SHORT};
use crate::error::Error;
use crate::join;

const SECRETS: &str = "/api/v1/namespaces/kube-system/secrets";

/// The API of the cluster as its administrator sees it.
pub(super) struct Administrator {
    api: Api,
    server: String,
}

impl Administrator {
    /// With the certificate and the key of the cluster's authority.
    pub fn new(
        configuration: &Configuration,
        server: &str,
        authority: &str,
        key: &SecretText,
    ) -> Result<Self, Error> {
        let administrator =
            Authority::from_pem(authority, key)?.administrator(configuration.cluster.key_algorithm())?;
        let trust = Trust::Authorities(authority.to_owned());
        let api = Api::new(server, &trust, &administrator)?;
        Ok(Self { api, server: server.to_owned() })
    }

    /// The URLs of the members of etcd, when the API answers.
    pub async fn etcd_endpoints(&self) -> Result<Vec<String>, Stop> {
        join::etcd_members(&self.api).await.map_err(|error| waits(&self.server, error))?.ok_or_else(|| {
            Stop::Waits(format!("waits for a member of etcd in the cluster behind {}", self.server))
        })
    }

    /// The settings that new machines of a pool get from a ConfigMap in `kube-system`; `None` when the cluster has none yet.
    pub async fn settings(&self, name: &str) -> Result<Option<String>, Stop> {
        let map = self.api.find(&settings::path(name)).await.map_err(|error| waits(&self.server, error))?;
        Ok(map.and_then(|map| settings::text_of(&map, SETTINGS, None)))
    }

    /// A token with which the kubelet of this machine asks for its certificate.
    pub async fn token(&self) -> Result<SecretText, Stop> {
        let random = |error: &dyn std::fmt::Display| {
            Error::new(slipway_operations::code::INTERNAL, "no token is made").cause(error.to_string())
        };
        let token = Token::generate().map_err(|error| random(&error))?.to_text();
        let (id, part) = token.expose().split_once('.').unwrap_or_default();
        let usual = BootstrapTokenSettings::default();
        let end =
            SignedDuration::try_from(SHORT).ok().and_then(|span| Timestamp::now().checked_add(span).ok());
        let object = bootstrap_token(&TokenObject {
            id,
            secret: part.into(),
            description: "a control plane that boots",
            expiration: end,
            usages: &usual.usages,
            groups: &usual.groups,
        });
        self.api.post(SECRETS, &object.to_json()).await.map_err(|error| waits(&self.server, error))?;
        Ok(token)
    }
}

/// An API that does not answer is waited for.
pub(super) fn waits(server: &str, error: ApiError) -> Stop {
    if error.may_pass() {
        Stop::Waits(format!("waits for the API server at {server}: {error}"))
    } else {
        Stop::Failed(error.into())
    }
}

/// The token as the machine's own configuration names it.
pub(super) fn secret(token: SecretText) -> slipway_resource::Secret {
    NodeBootstrap::token(Some(token))
}
