//! Routes.

use super::{Attributes, form};

pub(super) fn route(attributes: &mut Attributes) {
    form::ranges(attributes, &["destination_cidr_block", "destination_ipv6_cidr_block"]);
}
