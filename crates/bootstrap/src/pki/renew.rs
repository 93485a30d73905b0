//! Successors of certificates: the same subject, names and usages, a new key, a new time.

use std::time::Duration;

use jiff::Timestamp;

use super::{Certificate, Error, Result, Template};

/// What the successor of a certificate holds: all that `existing` holds, from [`super::BACKDATE`] before `now` until
/// `validity` after it. It becomes a certificate with a new key by [`Template::signed_by`], or a request by
/// [`super::Request::new`].
///
/// # Errors
/// [`Error::Template`] for a CA: its successor is a decision about all that it signed.
pub fn successor(existing: &Certificate, now: Timestamp, validity: Duration) -> Result<Template> {
    let subject = existing.subject().clone();
    if existing.is_ca() {
        let name = subject.common_name;
        return Err(Error::Template(format!(
            "{name:?} is a CA, which is not renewed like other certificates"
        )));
    }
    let template = Template::leaf(subject, now, validity)?;
    Ok(template.with_names(existing.names().clone()).with_usages(existing.usages()))
}

/// Whether a certificate is to be renewed: less than `before` is left of its time, or it is over.
#[must_use]
pub fn is_due(existing: &Certificate, now: Timestamp, before: Duration) -> bool {
    now.checked_add(before).map_or(true, |then| then >= existing.not_after())
}
