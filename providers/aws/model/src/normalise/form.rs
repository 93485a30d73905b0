//! Forms of single values, for some attributes of a resource at once.

use std::net::IpAddr;

use ipnet::IpNet;
use slipway_resource::{RangePart, Value};

use super::Attributes;

/// Address ranges, or lists of them: the shortest form, without host bits; what names a part of a range is that part.
pub(super) fn ranges(attributes: &mut Attributes, names: &[&str]) {
    texts(attributes, names, |text| match RangePart::split(text) {
        Some((range, bits, number)) => part(range, bits, number),
        None => text.trim().parse::<IpNet>().ok().map(|net| net.trunc().to_string()),
    });
}

/// One of the equal parts of a range, which have some bits more.
fn part(range: &str, bits: u8, number: u64) -> Option<String> {
    let range = range.trim().parse::<IpNet>().ok()?.trunc();
    let prefix = range.prefix_len().checked_add(bits).filter(|prefix| *prefix <= range.max_prefix_len())?;
    // Counted, not walked: a range may have more parts than anybody can wait for.
    if number.checked_shr(bits.into()).is_some_and(|beyond| beyond > 0) {
        return None;
    }
    let offset =
        u128::from(number).checked_shl(u32::from(range.max_prefix_len() - prefix)).unwrap_or_default();
    let first: IpAddr = match range.addr() {
        IpAddr::V4(first) => {
            u32::try_from(u128::from(u32::from(first)) | offset).ok().map(Into::into).map(IpAddr::V4)?
        }
        IpAddr::V6(first) => IpAddr::V6((u128::from(first) | offset).into()),
    };
    IpNet::new(first, prefix).ok().map(|part| part.to_string())
}

/// DNS names: lower case, no dot at the end, `*` for its octal form.
pub(super) fn domains(attributes: &mut Attributes, names: &[&str]) {
    texts(attributes, names, |text| Some(domain(text)));
}

/// One DNS name.
pub(super) fn domain(text: &str) -> String {
    text.trim().trim_end_matches('.').to_ascii_lowercase().replace("\\052", "*")
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

/// Lists whose order has no meaning, although Terraform calls them lists.
pub(super) fn sorted(attributes: &mut Attributes, names: &[&str]) {
    for name in names {
        if let Some(Value::List(items)) = attributes.get_mut(*name) {
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

/// Rewrites the texts, and the texts in the lists, under some names; `None` leaves one as it is.
pub(super) fn texts(attributes: &mut Attributes, names: &[&str], form: impl Fn(&str) -> Option<String>) {
    let apply = |value: &mut Value| {
        if let Value::String(text) = value
            && let Some(formed) = form(text)
        {
            *text = formed;
        }
    };
    for name in names {
        match attributes.get_mut(*name) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_the_one_that_walking_finds() {
        for (range, bits) in
            [("10.0.0.0/16", 8), ("0.0.0.0/0", 4), ("10.0.0.0/32", 0), ("fd00::/56", 8), ("::/0", 3)]
        {
            let whole: IpNet = range.parse().unwrap();
            let walked = whole.subnets(whole.prefix_len() + bits).unwrap();
            for (number, part_of) in (0..).zip(walked) {
                assert_eq!(part(range, bits, number), Some(part_of.to_string()), "{range} {bits} {number}");
            }
            assert_eq!(part(range, bits, 1 << bits), None, "{range}");
        }
    }

    #[test]
    fn a_range_of_more_parts_than_can_be_walked_is_divided_at_once() {
        assert_eq!(part("8000::/1", 63, (1 << 63) - 1), Some("ffff:ffff:ffff:ffff::/64".to_owned()));
        assert_eq!(part("8000::/1", 63, 1 << 63), None);
        assert_eq!(part("::/0", 128, u64::MAX), Some("::ffff:ffff:ffff:ffff/128".to_owned()));
        assert_eq!(part("fd00::/56", 73, 0), None);
    }
}
