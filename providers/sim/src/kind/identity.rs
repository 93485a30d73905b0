//! Identities of machines and keys of people.

use slipway_resource::{Attribute, Digest, Form, ProviderError, Type, Value};

use super::{Candidate, Kind, normal};
use crate::cloud::World;
use crate::error::invalid;

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::new("sim_identity", "idn", "Identity of machines with permissions in the cloud.")
            .attribute(
                "name",
                Attribute::required(Type::String).immutable(),
                "Its name, unique in the account.",
            )
            .attribute(
                "description",
                Attribute::optional(Type::String),
                "Free text that describes the object.",
            )
            .attribute("policy", Attribute::required(Type::String), "Permissions, a JSON document.")
            .attribute(
                "trust",
                Attribute::optional(Type::String).default_to("machine"),
                "Principals that may assume it.",
            )
            .attribute("unique_id", Attribute::computed(Type::String), "An id that is never used again.")
            .unique(&["name"])
            .forms(&["policy"], &Form::Json)
            .normalise(|attributes| normal::documents(attributes, &["policy"]))
            .assign(|assigned, attributes| {
                attributes.insert("unique_id".into(), format!("AIDA{:016X}", assigned.serial).into());
            })
            .check(check_policy)
            .rate_class("identity")
            .takes(9, 2, 3),
        Kind::new("sim_key_pair", "key", "A public key that may log in to machines.")
            .attribute(
                "name",
                Attribute::required(Type::String).immutable(),
                "Its name, unique in the account.",
            )
            .attribute(
                "public_key",
                Attribute::required(Type::String).immutable(),
                "The key in the form of authorized_keys.",
            )
            .attribute("fingerprint", Attribute::computed(Type::String), "The digest of the key.")
            .unique(&["name"])
            .assign(|_, attributes| {
                let key = attributes.get("public_key").and_then(Value::as_str).unwrap_or_default();
                let digest = Digest::of_bytes(key.as_bytes()).as_str().to_owned();
                attributes.insert("fingerprint".into(), digest.into());
            })
            .rate_class("identity")
            .takes(1, 1, 1),
    ]
}

fn check_policy(_: &World, candidate: &Candidate<'_>) -> Result<(), ProviderError> {
    serde_json::from_str::<serde::de::IgnoredAny>(candidate.text("policy")).map(drop).map_err(|error| {
        invalid(format!("identity {}: the policy is not JSON: {error}", candidate.text("name")))
    })
}
