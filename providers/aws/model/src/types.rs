//! The resource types: attributes, their meaning, and their guarantees for the engine. Names, nesting and ids
//! are those of the Terraform AWS provider, which many readers of plans know.

mod balance;
mod builder;
mod dns;
mod gateway;
mod identity;
mod instances;
mod interruption;
mod key_service;
mod kind;
mod network;
pub mod rate;
mod scaling;
mod security;
mod storage;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use slipway_resource::ResourceType;

pub use key_service::DELETION_WINDOW_DAYS;
pub use kind::Kind;

/// All resource types by name.
pub fn all() -> &'static BTreeMap<String, ResourceType> {
    static TYPES: OnceLock<BTreeMap<String, ResourceType>> = OnceLock::new();
    TYPES.get_or_init(|| {
        [
            network::types(),
            gateway::types(),
            security::types(),
            identity::types(),
            storage::types(),
            instances::types(),
            scaling::types(),
            balance::types(),
            dns::types(),
            interruption::types(),
            key_service::types(),
        ]
        .into_iter()
        .flatten()
        .map(|(name, kind)| (name.to_owned(), kind))
        .collect()
    })
}

/// One resource type.
#[must_use]
pub fn get(name: &str) -> Option<&'static ResourceType> {
    all().get(name)
}

#[cfg(test)]
mod tests {
    use slipway_resource::schema::OwnershipKind;
    use slipway_resource::{Attribute, Mode, Type};

    use super::*;

    #[test]
    fn every_type_and_attribute_is_described() {
        fn check(place: &str, fields: &BTreeMap<String, Attribute>) {
            for (name, attribute) in fields {
                assert!(attribute.description.ends_with('.'), "{place}.{name}");
                assert!(
                    attribute.default.is_null()
                        || matches!(attribute.mode, Mode::Optional | Mode::OptionalComputed),
                    "{place}.{name}"
                );
                let mut kind = &attribute.kind;
                while let Type::List(item) | Type::Set(item) | Type::Map(item) = kind {
                    kind = item;
                }
                if let Type::Object(fields) = kind {
                    check(&format!("{place}.{name}"), fields);
                }
            }
        }
        let classes = rate::classes();
        let listed: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(all().keys().map(String::as_str).collect::<Vec<_>>(), listed);
        assert!(Kind::ALL.iter().all(|kind| Kind::of(kind.name()) == Some(*kind)));
        for (name, kind) in all() {
            assert!(kind.description.ends_with('.'), "{name}");
            assert!(classes.contains_key(&kind.rate_class), "{name}");
            assert!(kind.exclusive.iter().all(|attribute| kind.attributes.contains_key(attribute)), "{name}");
            check(name, &kind.attributes);
        }
    }

    #[test]
    fn what_is_owned_by_tags_has_tags() {
        for (name, kind) in all() {
            let tags = kind.attributes.contains_key("tags") || kind.attributes.contains_key("tag");
            assert!(kind.ownership != OwnershipKind::Tags || tags, "{name}");
        }
    }
}
