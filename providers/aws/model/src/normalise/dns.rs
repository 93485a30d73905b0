//! Route 53.

use super::{Attributes, form};

pub(super) fn zone(attributes: &mut Attributes) {
    form::domains(attributes, &["name"]);
    form::zone_ids(attributes, &["zone_id"]);
}

pub(super) fn record(attributes: &mut Attributes) {
    form::zone_ids(attributes, &["zone_id"]);
    form::domains(attributes, &["name", "fqdn"]);
    form::capital(attributes, &["type"]);
    form::each_block(attributes, "alias", |alias| {
        form::zone_ids(alias, &["zone_id"]);
        form::texts(alias, &["name"], |text| {
            let name = form::domain(text);
            // The prefix that the console adds to the name of a load balancer.
            Some(name.strip_prefix("dualstack.").map(str::to_owned).unwrap_or(name))
        });
    });
    match form::text(attributes, "type") {
        Some("TXT" | "SPF") => form::texts(attributes, &["records"], |text| {
            Some(if text.starts_with('"') { text.to_owned() } else { format!("\"{text}\"") })
        }),
        Some("CNAME" | "NS" | "PTR") => form::domains(attributes, &["records"]),
        _ => {}
    }
}

pub(super) fn zone_association(attributes: &mut Attributes) {
    form::zone_ids(attributes, &["zone_id"]);
}
