//! VPCs, subnets, DHCP options.

use super::{Attributes, form};

pub(super) fn vpc(attributes: &mut Attributes) {
    form::ranges(attributes, &["cidr_block", "ipv6_cidr_block"]);
}

pub(super) fn cidr_association(attributes: &mut Attributes) {
    form::ranges(attributes, &["cidr_block"]);
}

pub(super) fn subnet(attributes: &mut Attributes) {
    form::ranges(attributes, &["cidr_block", "ipv6_cidr_block"]);
}

pub(super) fn dhcp_options(attributes: &mut Attributes) {
    form::texts(attributes, &["domain_name_servers"], |text| {
        text.eq_ignore_ascii_case("AmazonProvidedDNS").then(|| "AmazonProvidedDNS".to_owned())
    });
}
