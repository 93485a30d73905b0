//! Forms of single values, for some attributes of a resource at once.

use slipway_resource::Value;
pub(super) use slipway_resource::form::domain;

use super::Attributes;

/// Address ranges, or lists of them: the shortest form, without host bits.
pub(super) fn ranges(attributes: &mut Attributes, names: &[&str]) {
    texts(attributes, names, slipway_resource::form::range);
}

/// DNS names: lower case, no dot at the end, `*` for its octal form.
pub(super) fn domains(attributes: &mut Attributes, names: &[&str]) {
    texts(attributes, names, |text| Some(domain(text)));
}

/// Small letters.
pub(super) fn small(attributes: &mut Attributes, names: &[&str]) {
    texts(attributes, names, |text| Some(text.to_ascii_lowercase()));
}

/// Capital letters.
pub(super) fn capital(attributes: &mut Attributes, names: &[&str]) {
    texts(attributes, names, |text| Some(text.to_ascii_uppercase()));
}

/// Ids of hosted zones, which Route 53 returns with a path before them.
pub(super) fn zone_ids(attributes: &mut Attributes, names: &[&str]) {
    texts(attributes, names, |text| text.rsplit('/').next().map(str::to_owned));
}

/// Lists whose order has no meaning, although Terraform has lists there.
pub(super) fn sorted(attributes: &mut Attributes, names: &[&str]) {
    for name in names {
        if let Some(Value::List(items)) = attributes.get_mut(name) {
            items.sort();
            items.dedup();
        }
    }
}

/// Blocks in the order of one of their fields.
pub(super) fn blocks_by(attributes: &mut Attributes, name: &str, field: &str) {
    if let Some(Value::List(items)) = attributes.get_mut(name) {
        items.sort_by(|left, right| left.get(field).cmp(&right.get(field)));
    }
}

/// Does something with each block under a name.
pub(super) fn each_block(attributes: &mut Attributes, name: &str, change: impl Fn(&mut Attributes)) {
    if let Some(Value::List(items)) = attributes.get_mut(name) {
        for item in items {
            if let Value::Map(entries) = item {
                change(entries);
            }
        }
    }
}

/// Rewrites the texts, and the texts in the lists, under some names; `None` leaves a text unchanged.
pub(super) fn texts(attributes: &mut Attributes, names: &[&str], form: impl Fn(&str) -> Option<String>) {
    let apply = |value: &mut Value| {
        if let Value::String(text) = value
            && let Some(formed) = form(text)
        {
            *text = formed;
        }
    };
    for name in names {
        match attributes.get_mut(name) {
            Some(Value::List(items)) => items.iter_mut().for_each(apply),
            Some(value) => apply(value),
            None => {}
        }
    }
}

/// The text of an attribute.
pub(super) fn text<'a>(attributes: &'a Attributes, name: &str) -> Option<&'a str> {
    attributes.get(name).and_then(Value::as_str)
}
