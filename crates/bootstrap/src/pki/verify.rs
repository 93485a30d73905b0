//! Checks of existing keys and certificates.
//!
//! Each check returns [`Problem`]s; none means that the check passed. kubeadm keeps files without a fatal
//! problem, and so does Slipway.

use jiff::Timestamp;

use super::{certificate::Certificate, key::PublicKey, subject::Subject, template::Template};

/// Maximum length of a chain of authorities.
const LONGEST_CHAIN: usize = 8;

/// A problem of an existing certificate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// It is not the certificate of a CA.
    #[error("it is not the certificate of a CA")]
    NotAuthority,
    /// None of the trusted CAs signed it, directly or through an intermediate CA.
    #[error(
        "it is not signed by the CA {authority:?}: it was signed by {issuer:?}, or by another key of that name"
    )]
    NotSigned {
        /// The CA that should have signed it, by its common name.
        authority: String,
        /// The issuer in the certificate.
        issuer: String,
    },
    /// It is not valid yet.
    #[error("it is not valid before {0}: check this host's clock")]
    NotYetValid(Timestamp),
    /// It has expired.
    #[error("it has expired at {0}")]
    Expired(Timestamp),
    /// It lacks names or addresses of the server.
    #[error("it does not hold {}", .0.join(", "))]
    MissingNames(Vec<String>),
    /// It is for another key than the one beside it.
    #[error("it does not belong to the key beside it")]
    OtherKey,
    /// It has another subject.
    #[error("it is for {found}, not for {wanted}")]
    OtherSubject {
        /// The expected subject.
        wanted: String,
        /// The subject in the certificate.
        found: String,
    },
    /// It lacks a needed usage.
    #[error("it may not be used for {0}")]
    MissingUsage(&'static str),
}

impl Problem {
    /// Whether its owner cannot use it. kubeadm only warns about an expired certificate or one that is not
    /// valid yet; an expired certificate can be renewed from itself.
    #[must_use]
    pub const fn is_fatal(&self) -> bool {
        !matches!(self, Self::NotYetValid(_) | Self::Expired(_))
    }
}

/// Whether it has expired or is not valid yet.
#[must_use]
pub fn period(certificate: &Certificate, now: Timestamp) -> Option<Problem> {
    // Certificates have whole seconds, and the last one is included.
    let now = now.as_second();
    if now < certificate.not_before().as_second() {
        Some(Problem::NotYetValid(certificate.not_before()))
    } else if now > certificate.not_after().as_second() {
        Some(Problem::Expired(certificate.not_after()))
    } else {
        None
    }
}

/// Checks an existing CA, with its key if that is available.
#[must_use]
pub fn authority(certificate: &Certificate, key: Option<&PublicKey>, now: Timestamp) -> Vec<Problem> {
    let mut problems = Vec::new();
    if !certificate.is_ca() {
        problems.push(Problem::NotAuthority);
    }
    if key.is_some_and(|key| key != certificate.public_key()) {
        problems.push(Problem::OtherKey);
    }
    problems.extend(period(certificate, now));
    problems
}

/// Checks an existing certificate: signed by the CA, directly or through the `intermediates` after it in its
/// file; for the key beside it; with at least the template's names and usages, and its subject.
#[must_use]
pub fn leaf(
    certificate: &Certificate,
    intermediates: &[Certificate],
    key: Option<&PublicKey>,
    authority: &Certificate,
    template: &Template,
    now: Timestamp,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    if !is_signed(certificate, intermediates, authority) {
        problems.push(Problem::NotSigned {
            authority: authority.subject().common_name.clone(),
            issuer: certificate.issuer().common_name.clone(),
        });
    }
    problems.extend(period(certificate, now));
    if key.is_some_and(|key| key != certificate.public_key()) {
        problems.push(Problem::OtherKey);
    }
    problems.extend(missing_names(certificate, template));
    problems.extend(subject(certificate, &template.subject));
    for usage in &template.usages {
        if !certificate.usages().contains(usage) {
            problems.push(Problem::MissingUsage(match usage {
                super::Usage::Server => "serving TLS",
                super::Usage::Client => "asking as a TLS client",
            }));
        }
    }
    problems
}

/// The names and addresses of a template that a certificate lacks.
#[must_use]
pub fn missing_names(certificate: &Certificate, template: &Template) -> Option<Problem> {
    let wanted = template.names.normalised();
    let addresses = wanted.ip.iter().map(ToString::to_string);
    let missing: Vec<String> =
        wanted.dns.iter().cloned().chain(addresses).filter(|name| !holds(certificate, name)).collect();
    (!missing.is_empty()).then_some(Problem::MissingNames(missing))
}

/// A wildcard matches only itself.
fn holds(certificate: &Certificate, name: &str) -> bool {
    certificate.names().cover(name)
}

/// Whether a certificate has another subject than `wanted`; the order of groups does not matter.
#[must_use]
pub fn subject(certificate: &Certificate, wanted: &Subject) -> Option<Problem> {
    let sorted = |subject: &Subject| {
        let mut organizations = subject.organizations.clone();
        organizations.sort();
        organizations.dedup();
        (subject.common_name.clone(), organizations)
    };
    let (wanted, found) = (sorted(wanted), sorted(certificate.subject()));
    let text = |(name, organizations): &(String, Vec<String>)| match organizations.as_slice() {
        [] => format!("{name:?}"),
        some => format!("{name:?} of {}", some.join(", ")),
    };
    (wanted != found).then(|| Problem::OtherSubject { wanted: text(&wanted), found: text(&found) })
}

/// Whether `root` signed a certificate, directly or through `intermediates`. Times are not checked here.
#[must_use]
pub fn is_signed(certificate: &Certificate, intermediates: &[Certificate], root: &Certificate) -> bool {
    if certificate == root {
        return true;
    }
    search(certificate, intermediates, root, 0)
}

fn search(
    certificate: &Certificate,
    intermediates: &[Certificate],
    root: &Certificate,
    depth: usize,
) -> bool {
    if depth > LONGEST_CHAIN {
        return false;
    }
    if signs(root, certificate, depth) {
        return true;
    }
    intermediates.iter().any(|issuer| {
        issuer != certificate
            && signs(issuer, certificate, depth)
            && search(issuer, intermediates, root, depth + 1)
    })
}

/// Whether a CA signed a certificate that has `depth` further CAs below it.
fn signs(authority: &Certificate, certificate: &Certificate, depth: usize) -> bool {
    authority.is_ca()
        && !authority.has_unknown_critical()
        && !certificate.has_unknown_critical()
        && authority.raw_subject() == certificate.raw_issuer()
        && authority
            .path_length()
            .is_none_or(|longest| u32::try_from(depth).is_ok_and(|depth| depth <= longest))
        && certificate.check_signature(authority.public_key()).is_ok()
}
