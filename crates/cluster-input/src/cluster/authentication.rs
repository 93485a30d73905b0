use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who users are. Client certificates always work; everything else is added here.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Authentication {
    /// Tokens of OpenID Connect issuers, in the order of the spec.
    pub open_id_connect: Vec<OpenIdConnect>,
    /// Whether requests without credentials are let in as `system:anonymous`, to the health checks only.
    pub anonymous_health_checks: bool,
}

/// One OpenID Connect issuer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenIdConnect {
    /// The issuer's URL, `https` only.
    pub issuer: String,
    /// The audience that tokens must have.
    pub client_id: String,
    /// The claim that names the user.
    #[serde(default = "subject")]
    pub username_claim: String,
    /// What is put before the user's name.
    #[serde(default)]
    pub username_prefix: String,
    /// The claim that names the user's groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups_claim: Option<String>,
    /// What is put before the groups' names.
    #[serde(default)]
    pub groups_prefix: String,
    /// Claims that a token must have, with their values.
    #[serde(default)]
    pub required_claims: BTreeMap<String, String>,
}

fn subject() -> String {
    "sub".to_owned()
}

/// The issuer of service-account tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceAccounts {
    /// The issuer's URL, as it appears in tokens.
    pub issuer: String,
    /// The bucket or URL where the issuer's keys are published, so that a cloud can trust tokens of the cluster;
    /// absent publishes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discovery_store: Option<String>,
    /// Audiences of tokens beside the issuer.
    pub additional_audiences: Vec<String>,
}
