//! Rules of security groups.

use slipway_resource::Value;

use super::{Attributes, form};

pub(super) fn rule(attributes: &mut Attributes) {
    form::texts(attributes, &["protocol"], |text| {
        let text = text.to_ascii_lowercase();
        Some(match text.as_str() {
            "all" => "-1".to_owned(),
            "1" => "icmp".to_owned(),
            "6" => "tcp".to_owned(),
            "17" => "udp".to_owned(),
            "58" => "icmpv6".to_owned(),
            _ => text,
        })
    });
    // Ports have a meaning to four protocols; for all others AWS returns -1, or what was sent.
    let ports = match form::text(attributes, "protocol") {
        Some("tcp" | "udp" | "icmp" | "icmpv6") | None => None,
        Some("-1") => Some((0, 0)),
        Some(_) => Some((0, 65_535)),
    };
    if let Some((from, to)) = ports {
        attributes.insert("from_port".to_owned(), Value::Integer(from));
        attributes.insert("to_port".to_owned(), Value::Integer(to));
    }
    form::ranges(attributes, &["cidr_blocks", "ipv6_cidr_blocks"]);
    form::sorted(attributes, &["cidr_blocks", "ipv6_cidr_blocks", "prefix_list_ids"]);
    // The group itself is a group like any other.
    if attributes.get("self").and_then(Value::as_bool) == Some(true)
        && !attributes.contains_key("source_security_group_id")
        && let Some(group) = attributes.get("security_group_id").cloned()
    {
        attributes.insert("source_security_group_id".to_owned(), group);
        attributes.remove("self");
    }
}
