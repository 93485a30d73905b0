//! `import` blocks: existing objects are not created again.

use hcl::{Block, Expression};
use slipway_resource::{Address, ResourceType, Value};

use super::expression;
use super::labels::Labels;
use crate::observations::Found;

/// The `import` block of an object.
pub(super) fn block(
    address: &Address,
    found: &Found,
    kind: &ResourceType,
    labels: &Labels,
) -> Result<Block, hcl::Error> {
    let to = expression::traversal(&[address.kind(), &labels.of(address)])?;
    Ok(Block::builder("import")
        .add_attribute(("to", to))
        .add_attribute(("id", Expression::String(id(found, &kind.import_id))))
        .build())
}

/// The id that a pattern gives: `{a|b}` is the first attribute that is set, `{identity}` the identity.
fn id(found: &Found, pattern: &str) -> String {
    if pattern.is_empty() {
        return found.identity.as_str().to_owned();
    }
    let mut id = String::new();
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('{') {
        id.push_str(before);
        let (names, after) = after.split_once('}').unwrap_or((after, ""));
        let value = names.split('|').find_map(|name| match name {
            "identity" => Some(found.identity.as_str().to_owned()),
            name => text(found.attributes.get(name)?),
        });
        id.push_str(&value.unwrap_or_default());
        rest = after;
    }
    id.push_str(rest);
    id
}

/// The text of a value; of a list that of its items, each after a `_` but the first. Nothing for what is not set.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) if text.is_empty() => None,
        Value::List(items) if items.is_empty() => None,
        Value::List(items) => Some(items.iter().map(Value::to_plain_text).collect::<Vec<_>>().join("_")),
        value => Some(value.to_plain_text()),
    }
}

#[cfg(test)]
mod tests {
    use slipway_resource::Identity;

    use super::*;

    #[test]
    fn a_pattern_takes_the_first_attribute_that_is_set() {
        let attributes = Value::map([
            ("route_table_id", Value::from("rtb-1")),
            ("destination_cidr_block", Value::from("")),
            ("destination_ipv6_cidr_block", Value::from("::/0")),
            ("ports", Value::list(["80", "90"])),
        ]);
        let found = Found { identity: Identity::new("r-1"), attributes, owned: true };
        let pattern = "{route_table_id}_{destination_cidr_block|destination_ipv6_cidr_block}";
        assert_eq!(id(&found, pattern), "rtb-1_::/0");
        assert_eq!(id(&found, ""), "r-1");
        assert_eq!(id(&found, "{identity}/{ports}/{nothing}"), "r-1/80_90/");
    }
}
