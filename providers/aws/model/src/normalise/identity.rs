//! IAM.

use super::{Attributes, document, form};

pub(super) fn role(attributes: &mut Attributes) {
    form::texts(attributes, &["assume_role_policy"], document::policy);
}

pub(super) fn role_policy(attributes: &mut Attributes) {
    form::texts(attributes, &["policy"], document::policy);
}

/// IAM keeps the issuer without its scheme.
pub(super) fn openid_connect_provider(attributes: &mut Attributes) {
    form::texts(attributes, &["url"], |text| {
        let rest = text.strip_prefix("https://").unwrap_or(text);
        Some(format!("https://{}", rest.trim_end_matches('/')))
    });
    form::small(attributes, &["thumbprint_list"]);
}
