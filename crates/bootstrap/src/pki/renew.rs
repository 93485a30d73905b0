//! Successors of certificates: the same subject, names and usages, a new key, a new time.

use std::time::Duration;

use jiff::Timestamp;

use super::{Certificate, Error, Result, Template};

/// The template of a certificate's successor: the content of `existing`, from [`super::BACKDATE`] before
/// `now` until `validity` after it. [`Template::signed_by`] makes the certificate with a new key,
/// [`super::Request::new`] a request.
///
/// # Errors
/// [`Error::Template`] for a CA: its successor affects everything that it signed.
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
