//! Checks of keys and certificates that are already there.
//!
//! Each check returns what is wrong as [`Problem`]s; nothing found is nothing wrong. kubeadm keeps what has no fatal
//! problem, and so does Slipway.

use jiff::Timestamp;

use super::{certificate::Certificate, key::PublicKey, subject::Subject, template::Template};

/// The longest chain of authorities that is followed.
const LONGEST_CHAIN: usize = 8;

/// Something wrong with a certificate that is already there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// It should be a CA's.
    #[error("it is not the certificate of a CA")]
    NotAuthority,
    /// None of the trusted CAs signed it, nor one that they signed.
    #[error(
        "it is not signed by the CA {authority:?}: it was signed by {issuer:?}, or by another key of that name"
    )]
    NotSigned {
        /// The CA that should have signed it, by its common name.
        authority: String,
        /// Who is named in it.
        issuer: String,
    },
    /// Its time has not come.
    #[error("it is not valid before {0}: check this host's clock")]
    NotYetValid(Timestamp),
    /// Its time is over.
    #[error("it has expired at {0}")]
    Expired(Timestamp),
    /// It lacks names or addresses by which the server is reached.
    #[error("it does not hold {}", .0.join(", "))]
    MissingNames(Vec<String>),
    /// It vouches for another key than the one beside it.
    #[error("it does not belong to the key beside it")]
    OtherKey,
    /// It is for somebody else.
    #[error("it is for {found}, not for {wanted}")]
    OtherSubject {
        /// Who should be in it.
        wanted: String,
        /// Who is.
        found: String,
    },
    /// It may not be used for what it is needed for.
    #[error("it may not be used for {0}")]
    MissingUsage(&'static str),
}

impl Problem {
    /// Whether what has it cannot be used. kubeadm only warns of a time that is over or has not come; a certificate
    /// that expired can be renewed from itself.
    #[must_use]
    pub const fn is_fatal(&self) -> bool {
        !matches!(self, Self::NotYetValid(_) | Self::Expired(_))
    }
}

/// Whether its time has not come or is over.
#[must_use]
pub fn period(certificate: &Certificate, now: Timestamp) -> Option<Problem> {
    // Certificates know whole seconds, and the last one counts.
    let now = now.as_second();
    if now < certificate.not_before().as_second() {
        Some(Problem::NotYetValid(certificate.not_before()))
    } else if now > certificate.not_after().as_second() {
        Some(Problem::Expired(certificate.not_after()))
    } else {
        None
    }
}

/// Checks a CA that is already there, with its key where that is at hand.
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

/// Checks a certificate that is already there against what it should be: signed by the CA, by way of the
/// `intermediates` that stand behind it in its file; for the key beside it; with at least the template's names and
/// usages, and its subject.
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

/// Which of a template's names and addresses a certificate does not hold.
#[must_use]
pub fn missing_names(certificate: &Certificate, template: &Template) -> Option<Problem> {
    let wanted = template.names.normalised();
    let addresses = wanted.ip.iter().map(ToString::to_string);
    let missing: Vec<String> =
        wanted.dns.iter().cloned().chain(addresses).filter(|name| !holds(certificate, name)).collect();
    (!missing.is_empty()).then_some(Problem::MissingNames(missing))
}

/// A wildcard is held when it stands there itself.
fn holds(certificate: &Certificate, name: &str) -> bool {
    certificate.names().cover(name)
}

/// Whether a certificate is for somebody else than `wanted`; the order of groups does not matter.
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

/// Whether `root` signed a certificate, itself or by way of `intermediates`. Times do not matter here.
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

/// Whether a CA signed a certificate below which `depth` further CAs stand.
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
