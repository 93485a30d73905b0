//! Cheap objects for tests and benchmarks.

use slipway_resource::{Attribute, Digest, Type, Value};

use super::{Kind, OnDelete};

pub(super) fn kinds() -> Vec<Kind> {
    vec![
        Kind::new("sim_object", "obj", "Something cheap, for tests and benchmarks.")
            .attribute("name", Attribute::optional(Type::String), "Its name, for people.")
            .attribute("key", Attribute::optional(Type::String).immutable(), "Something that never changes.")
            .attribute("data", Attribute::optional(Type::map(Type::String)), "Anything by name.")
            .attribute("text", Attribute::optional(Type::String), "A long text.")
            .attribute("labels", Attribute::optional(Type::set(Type::String)), "Texts in no order.")
            .attribute("size", Attribute::optional_computed(Type::Integer), "A number; the server takes 1.")
            .links(
                "links",
                "",
                OnDelete::Refuse,
                "Identities of other objects, which stay as long as this one.",
            )
            .attribute(
                "sleep_ms",
                Attribute::optional(Type::Integer).default_to(0i64),
                "How long the create takes.",
            )
            .attribute("digest", Attribute::computed(Type::String), "The digest of the key.")
            .assign(|_, attributes| {
                attributes.entry("size".into()).or_insert(Value::Integer(1));
                let key = attributes.get("key").and_then(Value::as_str).unwrap_or_default();
                let digest = Digest::of_bytes(key.as_bytes()).as_str().to_owned();
                attributes.insert("digest".into(), digest.into());
            })
            .rate_class("object")
            .quota(1_000_000)
            .takes(0, 0, 0),
    ]
}
