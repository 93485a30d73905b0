//! Attributes in and out of values.

use slipway_resource::{ProviderError, Value};

use crate::error::invalid;

/// The text of an attribute; `None` when it is absent or empty.
pub(crate) fn text<'a>(attributes: &'a Value, name: &str) -> Option<&'a str> {
    attributes.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// The text of an attribute that has to be there.
///
/// # Errors
/// `invalid` when it is not.
pub(crate) fn need<'a>(attributes: &'a Value, name: &str) -> Result<&'a str, ProviderError> {
    text(attributes, name).ok_or_else(|| invalid(format!("{name} is missing")))
}

/// A yes or no; no when it is absent.
pub(crate) fn flag(attributes: &Value, name: &str) -> bool {
    attributes.get(name).and_then(Value::as_bool).unwrap_or_default()
}

/// A whole number.
pub(crate) fn number(attributes: &Value, name: &str) -> Option<i64> {
    attributes.get(name).and_then(Value::as_integer)
}

/// A number as the SDK takes it.
pub(crate) fn number32(attributes: &Value, name: &str) -> Option<i32> {
    number(attributes, name).and_then(|number| i32::try_from(number).ok())
}

/// The texts of a list; none when it is absent.
pub(crate) fn texts(attributes: &Value, name: &str) -> Vec<String> {
    let items = attributes.get(name).and_then(Value::as_list).unwrap_or_default();
    items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The first block of a list of blocks.
pub(crate) fn block<'a>(attributes: &'a Value, name: &str) -> Option<&'a Value> {
    attributes.get(name).and_then(Value::as_list).and_then(<[Value]>::first)
}

/// The blocks of a list of blocks.
pub(crate) fn blocks<'a>(attributes: &'a Value, name: &str) -> &'a [Value] {
    attributes.get(name).and_then(Value::as_list).unwrap_or_default()
}

/// Whether an attribute differs between two sets of attributes.
pub(crate) fn differs(prior: &Value, desired: &Value, name: &str) -> bool {
    let (before, after) =
        (prior.get(name).unwrap_or(&Value::Null), desired.get(name).unwrap_or(&Value::Null));
    before != after
}

/// A text attribute that is absent when it is empty.
pub(crate) fn some(text: Option<&str>) -> Value {
    text.filter(|text| !text.is_empty()).into()
}
