//! One resource as the state has it.

use serde_json::Value as Json;
use slipway_resource::{Path, ResourceType, Value};

use super::attribute::{layout, leaves};
use super::json::values::side;
use super::text::TextOptions;
use crate::decide::sensitive_paths;

/// The applied attributes of a resource, one by one, each line indented by `indent` columns. Secrets are not
/// shown. Without the resource's type, which marks them, no value is shown.
#[must_use]
pub fn applied(applied: &Value, kind: Option<&ResourceType>, indent: usize, options: &TextOptions) -> String {
    let mut out = String::new();
    for line in layout(&leaves(applied, &hidden(kind), options), indent) {
        line.write(&mut out, options.color);
    }
    out
}

/// The applied attributes of a resource in JSON: hidden values are null.
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
