//! Documents in buckets, from which IAM learns about the issuer of service-account tokens.

use serde_json::json;
use slipway_resource::ProviderError;

use super::build::Builder;
use super::refuse;
use crate::policy::part::Place;

/// How keys are written.
const KEYS: &str = "write {\"keys\": […]} (RFC 7517)";

/// The discovery document of the issuer and its public keys, if they are stored in a bucket. The bucket's
/// policy decides which clients may read them.
pub(super) fn objects(builder: &mut Builder<'_>) -> Result<(), ProviderError> {
    let accounts = &builder.cluster.service_accounts;
    let Some(store) = accounts.discovery_store.as_deref().filter(|store| store.starts_with("s3://")) else {
        return Ok(());
    };
    let field = "serviceAccounts.discoveryStore";
    let place =
        Place::parse(store).ok_or_else(|| refuse(field, "names no bucket", "write s3://bucket/folder"))?;
    let issuer = accounts.issuer.trim_end_matches('/');
    let document = json!({
        "issuer": issuer,
        "jwks_uri": format!("{issuer}/openid/v1/jwks"),
        "authorization_endpoint": "urn:kubernetes:programmatic_authorization",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
        "claims_supported": ["sub", "iss"],
    });
    let below = ".well-known/openid-configuration";
    object(builder, "discovery", &place.join(below), document.to_string(), field);
    let keys = &builder.settings.service_account_issuer_discovery.keys;
    let origin = "provider.config.serviceAccountIssuerDiscovery.keys";
    match keys {
        Some(keys) => {
            let parsed: serde_json::Value = serde_json::from_str(keys)
                .map_err(|error| refuse(origin, &format!("is not a set of keys in JSON: {error}"), KEYS))?;
            if !parsed["keys"].is_array() {
                return Err(refuse(origin, "is not a set of keys", KEYS));
            }
            object(builder, "keys", &place.join("openid/v1/jwks"), parsed.to_string(), origin);
        }
        None => builder.note(
            field,
            "the issuer's public keys are not published by this plan; give them as \
             provider.config.serviceAccountIssuerDiscovery.keys, as `kubectl get --raw /openid/v1/jwks` prints them",
        ),
    }
    Ok(())
}

fn object(builder: &mut Builder<'_>, name: &str, at: &Place, content: String, origin: &str) {
    let name = builder.named(name);
    let draft = builder
        .draft("aws_s3_object", &name, origin)
        .fix("bucket", at.bucket.as_str())
        .fix("key", at.folder.as_str())
        .set("content", content, origin)
        .fix("content_type", "application/json");
    builder.add(draft);
}
