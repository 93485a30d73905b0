//! Things outside of the spec that the settings of a provider name, by its schema.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value as Json;
use slipway_limits::size;
use slipway_resource::{Attribute, Names, Schema, Type};
use slipway_spec::source::Location;
use slipway_trust::{Reach, Refusal, kubeconfig};

use super::Grounds;
use crate::diagnose;
use crate::error::Error;

/// The author of a provider's settings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vouched<'a> {
    /// The settings that a flag of the caller says.
    pub by_caller: &'a BTreeSet<String>,
    /// Whether the others are those of the caller's own state: they were accepted when they were applied.
    pub recorded: bool,
}

/// Checks the settings that a spec says. Returns those that the caller vouches for.
///
/// # Errors
/// Each setting that names something that the policy does not grant, at its place.
pub(crate) fn check(
    grounds: &Grounds,
    provider: &str,
    schema: &Schema,
    config: &Json,
    vouched: Vouched<'_>,
    place: &dyn Fn(&str) -> Option<Location>,
) -> Result<BTreeSet<String>, Error> {
    let mut checking = Checking { grounds, provider, problems: Vec::new(), own: BTreeSet::new() };
    for (name, attribute) in &schema.config {
        let Some(value) = config.get(name).filter(|value| !value.is_null()) else { continue };
        if vouched.by_caller.contains(name) {
            checking.own.insert(name.clone());
            continue;
        }
        let only_looked_at = vouched.recorded && !grounds.policy.is_untrusted();
        if only_looked_at && attribute.names != Some(Names::Kubeconfig) {
            // Accepted when it was applied.
            checking.own.insert(name.clone());
            continue;
        }
        checking.attribute(&format!("provider.config.{name}"), attribute, value);
    }
    if checking.problems.is_empty() {
        return Ok(checking.own);
    }
    let at = |(field, refusal): &(String, Refusal)| diagnose::refusal(refusal, place(field).as_ref());
    Err(Error::Specs(checking.problems.iter().map(at).collect()))
}

struct Checking<'a> {
    grounds: &'a Grounds,
    provider: &'a str,
    problems: Vec<(String, Refusal)>,
    own: BTreeSet<String>,
}

impl Checking<'_> {
    fn attribute(&mut self, field: &str, attribute: &Attribute, value: &Json) {
        match attribute.names {
            Some(names) => {
                if let Err(refusal) = self.named(field, names, value) {
                    self.problems.push((field.to_owned(), refusal));
                }
            }
            None => self.inside(field, &attribute.kind, value),
        }
    }

    /// Checks the inside of a value: a nested setting may name something, too.
    fn inside(&mut self, field: &str, kind: &Type, value: &Json) {
        let fields = |attributes: &BTreeMap<String, Attribute>| -> Vec<(String, Attribute)> {
            attributes.iter().map(|(name, attribute)| (name.clone(), attribute.clone())).collect()
        };
        match (kind, value) {
            (Type::Object(attributes), Json::Object(entries)) => {
                for (name, attribute) in fields(attributes) {
                    if let Some(value) = entries.get(&name).filter(|value| !value.is_null()) {
                        self.attribute(&format!("{field}.{name}"), &attribute, value);
                    }
                }
            }
            (Type::List(kind) | Type::Set(kind), Json::Array(items)) => {
                items.iter().for_each(|item| self.inside(field, kind, item));
            }
            (Type::Map(kind), Json::Object(entries)) => {
                entries.values().for_each(|item| self.inside(field, kind, item));
            }
            _ => {}
        }
    }

    fn named(&mut self, field: &str, names: Names, value: &Json) -> Result<(), Refusal> {
        let grounds = self.grounds;
        let Grounds { policy, tree } = grounds;
        let text = value.as_str().unwrap_or_default();
        match names {
            Names::File => policy.file(tree, &format!("{field}:"), Path::new(text)).map(drop),
            Names::Folder => policy.folder(tree, &format!("{field}:"), Path::new(text)),
            Names::Endpoint => self.server(field, policy.endpoint(text, true)?),
            Names::Server => self.server(field, policy.endpoint(text, false)?),
            Names::Credentials => policy.credentials(field, text, self.provider),
            Names::Caller => policy.setting_of_caller(field, self.provider),
            Names::Kubeconfig => {
                if policy.kubeconfig(tree, Path::new(text))? {
                    self.own.insert(field.trim_start_matches("provider.config.").to_owned());
                    return Ok(());
                }
                self.kubeconfig(text)
            }
        }
    }

    /// Checks the content of a kubeconfig that is not the caller's own. The provider checks again when it
    /// reads it.
    fn kubeconfig(&self, path: &str) -> Result<(), Refusal> {
        let Grounds { policy, tree } = self.grounds;
        let refused = |reason: String| Refusal::Kubeconfig { path: path.to_owned(), reason };
        // One that cannot be read or parsed is refused by the provider, which says why, and never what is in it.
        let Ok(text) = policy.file(tree, "the kubeconfig", Path::new(path))?.read_text(size::KUBECONFIG)
        else {
            return Ok(());
        };
        let Ok(document) = serde_yaml::from_str::<Json>(&text) else { return Ok(()) };
        for server in kubeconfig::confined(&document).map_err(refused)? {
            policy.endpoint(&server, false)?;
        }
        Ok(())
    }

    /// A server that the caller allows is theirs, as if a flag said it: its name may lead anywhere.
    fn server(&mut self, field: &str, reach: Reach) -> Result<(), Refusal> {
        if reach == Reach::anywhere() {
            self.own.insert(field.trim_start_matches("provider.config.").to_owned());
        }
        Ok(())
    }
}
