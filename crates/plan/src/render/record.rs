//! One resource as the state has it.

use serde_json::Value as Json;
use slipway_resource::{Path, ResourceType, Value};

use super::attribute::{layout, leaves};
use super::json::values::side;
use super::text::TextOptions;
use crate::decide::sensitive_paths;

/// What was applied to a resource, attribute by attribute, each line indented by so many columns. Secrets are not
/// shown; without the resource's type, which says what is one, nothing is.
#[must_use]
pub fn applied(applied: &Value, kind: Option<&ResourceType>, indent: usize, options: &TextOptions) -> String {
    let mut out = String::new();
    for line in layout(&leaves(applied, &hidden(kind), options), indent) {
        line.write(&mut out, options.color);
    }
    out
}

/// What was applied to a resource, for tools: what may not be shown is null.
#[must_use]
pub fn applied_json(applied: &Value, kind: Option<&ResourceType>) -> Json {
    side(applied, &hidden(kind)).values
}

fn hidden(kind: Option<&ResourceType>) -> Vec<Path> {
    kind.map_or_else(|| vec![Path::root()], |kind| sensitive_paths(&kind.attributes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_type_nothing_is_shown() {
        let value = Value::map([("password", "hunter2")]);
        let text = applied(&value, None, 2, &TextOptions::default());
        assert!(!text.contains("hunter2"), "{text}");
        assert!(!applied_json(&value, None).to_string().contains("hunter2"));
    }
}
