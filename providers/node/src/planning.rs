//! Plans a change without reading the node.

use slipway_resource::provider::{PlanItem, Planned};
use slipway_resource::validate::misfits;
use slipway_resource::{Attribute, Entries, Mode, ProviderError, Schema, Value};

use crate::error::invalid;
use crate::kind::Kinds;

/// Plans one resource.
pub(crate) fn plan(kinds: &Kinds, schema: &Schema, item: &PlanItem) -> Result<Planned, ProviderError> {
    let kind = kinds.of(&item.address)?;
    let Some(desired) = &item.desired else { return Ok(Planned::default()) };
    let attributes = &schema
        .types
        .get(item.address.kind())
        .ok_or_else(|| invalid(format!("{}: a node has no such type", item.address.kind())))?
        .attributes;
    if let Some(misfit) = misfits(attributes, desired).first() {
        return Err(invalid(misfit.to_string()).with_address(&item.address));
    }
    let normalised = attributes.iter().map(|(name, attribute)| {
        let value =
            normal(attribute, desired.get(name), item.observed.as_ref().and_then(|value| value.get(name)));
        (name.clone(), value)
    });
    let entries: Entries = normalised.filter(|(_, value)| !value.is_null()).collect();
    let mut planned = Planned { normalised: Value::Map(entries), ..Planned::default() };
    kind.plan(item, &mut planned).map_err(|error| error.with_address(&item.address))?;
    Ok(planned)
}

/// A desired value with its default; values that the node sets are the observed ones, or unknown.
fn normal(attribute: &Attribute, wanted: Option<&Value>, observed: Option<&Value>) -> Value {
    let wanted = wanted.filter(|value| !value.is_null());
    match (attribute.mode, wanted) {
        (Mode::Computed, _) | (Mode::OptionalComputed, None) => observed.cloned().unwrap_or(Value::Unknown),
        (_, Some(wanted)) => wanted.clone(),
        (_, None) => attribute.default.clone(),
    }
}
