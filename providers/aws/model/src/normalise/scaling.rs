//! Auto-scaling groups.

use super::{Attributes, form};

pub(super) fn group(attributes: &mut Attributes) {
    form::blocks_by(attributes, "tag", "key");
}
