//! Checks of an object: its form, the account's limits, and conflicts with other objects.

use slipway_resource::diff::same;
use slipway_resource::validate::misfits;
use slipway_resource::{Address, ErrorClass, ProviderError, Value};

use super::SimSession;
use crate::cloud::World;
use crate::error::{conflict, invalid, not_found};
use crate::kind::{self, Candidate, Kind};

impl SimSession {
    pub(super) fn quota(&self, kind: &Kind) -> u64 {
        self.config.quotas.get(kind.name).copied().unwrap_or(kind.quota)
    }

    /// Refuses zones and machine types that the account does not have.
    pub(super) fn check_account(&self, kind: &Kind, attributes: &Value) -> Result<(), ProviderError> {
        let texts = |name: &str| -> Vec<&str> {
            match attributes.get(name) {
                Some(Value::String(text)) => vec![text],
                Some(Value::List(items)) => items.iter().filter_map(Value::as_str).collect(),
                _ => Vec::new(),
            }
        };
        let checks = [
            ("zone", "zone", &self.config.zones),
            ("zones", "zone", &self.config.zones),
            ("machine_type", "machine type", &self.config.machine_types),
        ];
        for (attribute, what, known) in checks {
            if known.is_empty() || !kind.resource.attributes.contains_key(attribute) {
                continue;
            }
            if let Some(text) =
                texts(attribute).into_iter().find(|text| known.iter().all(|known| known != text))
            {
                return Err(invalid(format!("there is no {what} {text}; there are {}", known.join(", "))));
            }
        }
        Ok(())
    }

    /// The errors that an object with these attributes would cause, for a check beforehand.
    pub(super) fn refusals(
        &self,
        world: &World,
        kind: &Kind,
        already: u64,
        attributes: &Value,
        id: Option<&str>,
    ) -> Vec<ProviderError> {
        let mut refusals = Vec::new();
        refusals.extend(self.check_account(kind, attributes).err());
        if id.is_none() {
            refusals.extend(check_quota(world, kind, self.quota(kind), already).err());
            if let Some(error) = check_unique(world, kind, None, attributes).err() {
                refusals.push(error);
            }
        }
        refusals
    }
}

/// Refuses attributes that do not fit the schema, or are not known.
pub(super) fn check_form(kind: &Kind, desired: &Value, address: &Address) -> Result<(), ProviderError> {
    if let Some(misfit) = misfits(&kind.resource.attributes, desired).into_iter().next() {
        return Err(invalid(format!("{address}: {misfit}")));
    }
    if !desired.is_known() {
        return Err(invalid(format!("{address}: an attribute is not known")));
    }
    Ok(())
}

/// Refuses one more object beyond the quota of its kind; `already` are planned before it, and do not exist yet.
pub(super) fn check_quota(world: &World, kind: &Kind, limit: u64, already: u64) -> Result<(), ProviderError> {
    let used = world.count(kind.name);
    if used.saturating_add(already) < limit {
        return Ok(());
    }
    let class = ErrorClass::Quota { name: kind.name.to_owned(), limit, used };
    let planned = match already {
        0 => String::new(),
        already => format!(", and the plan makes {already} before this one"),
    };
    let text = format!("the account may have {limit} of {}; it has {used}{planned}", kind.name);
    Err(ProviderError::new(class, text)
        .with_hint(format!("raise quotas.{} in the provider's configuration", kind.name)))
}

pub(super) fn check_unique(
    world: &World,
    kind: &Kind,
    id: Option<&str>,
    attributes: &Value,
) -> Result<(), ProviderError> {
    let holder = kind
        .unique_key(attributes)
        .and_then(|key| world.holder_of(&key))
        .filter(|holder| Some(holder.as_str()) != id);
    match holder {
        Some(holder) => {
            let name = kind
                .unique
                .iter()
                .filter_map(|name| attributes.get(name))
                .map(Value::to_plain_text)
                .collect::<Vec<_>>()
                .join("/");
            Err(conflict(format!("{} {name} exists already as {holder}", kind.name)))
        }
        None => Ok(()),
    }
}

/// Refuses an object that does not go with what else exists.
pub(super) fn check_place(
    world: &World,
    kind: &Kind,
    id: Option<&str>,
    attributes: &Value,
    before: Option<&Value>,
) -> Result<(), ProviderError> {
    check_unique(world, kind, id, attributes)?;
    for (link, target) in kind.targets(attributes) {
        match world.object(target) {
            Some(object) if link.target.is_empty() || object.kind == link.target => {}
            Some(object) => {
                return Err(invalid(format!(
                    "{}: {target} is a {}, no {}",
                    link.attribute, object.kind, link.target
                )));
            }
            None if kind::is_foreign(target) => {}
            None => {
                return Err(not_found(format!(
                    "{}: {} {target} does not exist",
                    link.attribute,
                    if link.target.is_empty() { "object" } else { link.target }
                )));
            }
        }
    }
    (kind.check)(world, &Candidate { id, attributes, before })
}

/// An attribute that differs and can only be set when the object is made.
pub(super) fn changed_for_ever<'a>(kind: &'a Kind, before: &Value, after: &Value) -> Option<&'a str> {
    kind.resource
        .attributes
        .iter()
        .filter(|(_, attribute)| attribute.immutable)
        .find(|(name, attribute)| {
            let null = Value::Null;
            !same(&attribute.kind, before.get(name).unwrap_or(&null), after.get(name).unwrap_or(&null))
        })
        .map(|(name, _)| name.as_str())
}
