//! Queues and event rules.

use super::{Attributes, document, form};

pub(super) fn queue(attributes: &mut Attributes) {
    form::texts(attributes, &["policy"], document::policy);
    form::texts(attributes, &["redrive_policy"], document::json);
}

pub(super) fn event_rule(attributes: &mut Attributes) {
    form::texts(attributes, &["event_pattern"], document::event_pattern);
    form::capital(attributes, &["state"]);
}
