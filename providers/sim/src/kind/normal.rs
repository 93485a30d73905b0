//! The cloud's own form of values.

use ipnet::IpNet;
use slipway_resource::{Entries, Value};

/// Brings an address range, or a list of them, into its shortest form without host bits.
pub(super) fn ranges(attributes: &mut Entries, names: &[&str]) {
    each_text(attributes, names, |text| text.trim().parse::<IpNet>().ok().map(|net| net.trunc().to_string()));
}

/// Brings a DNS name into lower case without a dot at the end.
pub(super) fn names(attributes: &mut Entries, keys: &[&str]) {
    each_text(attributes, keys, |text| Some(text.trim_end_matches('.').to_ascii_lowercase()));
}

/// Lays out JSON documents with sorted keys, two spaces deep.
pub(super) fn documents(attributes: &mut Entries, keys: &[&str]) {
    each_text(attributes, keys, |text| {
        let document: serde_json::Value = serde_json::from_str(text).ok()?;
        serde_json::to_string_pretty(&document).ok()
    });
}

/// Sorts lists whose order has no meaning, and removes duplicates.
pub(super) fn sets(attributes: &mut Entries, keys: &[&str]) {
    for key in keys {
        if let Some(Value::List(items)) = attributes.get_mut(key) {
            items.sort();
            items.dedup();
        }
    }
}

fn each_text(attributes: &mut Entries, keys: &[&str], form: impl Fn(&str) -> Option<String>) {
    let apply = |value: &mut Value| {
        if let Value::String(text) = value
            && let Some(formed) = form(text)
        {
            *text = formed;
        }
    };
    for key in keys {
        match attributes.get_mut(key) {
            Some(Value::List(items)) => items.iter_mut().for_each(apply),
            Some(value) => apply(value),
            None => {}
        }
    }
}
