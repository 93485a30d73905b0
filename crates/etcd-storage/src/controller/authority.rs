//! An authority in its stages. Pure: times come in, certificates come out.
//!
//! ```text
//! current signs ──half of its validity──▶ next is created, and trusted beside current
//! next is trusted everywhere ──a quarter of its validity──▶ next signs; the old one stays trusted until it ends
//! ```
//!
//! A certificate is therefore never signed by an authority that one who checks it does not know yet.

use std::time::Duration;

use jiff::Timestamp;
use slipway_bootstrap::configuration::EncryptionAlgorithm;
use slipway_bootstrap::pki::{AlternativeNames, BACKDATE, Certificate, Error, PrivateKey, Subject, Template};

/// A certificate and its key.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) certificate: Certificate,
    pub(crate) key: PrivateKey,
}

/// The successor of an authority.
#[derive(Debug)]
pub(crate) struct Next {
    pub(crate) pair: Pair,
    /// Since when everyone who checks certificates of this authority was given it. `None` until then.
    pub(crate) trusted_since: Option<Timestamp>,
}

/// An authority in its stages.
#[derive(Debug)]
pub(crate) struct Authority {
    /// Signs.
    pub(crate) current: Pair,
    /// Will sign.
    pub(crate) next: Option<Next>,
    /// Have signed, and are trusted until they end.
    pub(crate) previous: Vec<Certificate>,
}

/// The desired properties of an authority.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// The common name without the time that makes it unique.
    pub(crate) name: String,
    /// How long a certificate of it is valid.
    pub(crate) validity: Duration,
}

/// A step of an authority, as an event tells it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Step {
    /// A successor was created.
    Prepared,
    /// The successor signs from now on.
    Switched,
    /// The authority had ended, and was replaced without a time in which both were trusted.
    Replaced,
}

impl Pair {
    fn authority(wanted: &Wanted, now: Timestamp) -> Result<Self, Error> {
        let key = PrivateKey::generate(EncryptionAlgorithm::EcdsaP256)?;
        let subject = Subject::new(format!("{}-{}", wanted.name, now.as_second()));
        let template = Template {
            is_ca: true,
            names: AlternativeNames::default(),
            ..Template::leaf(subject, now, wanted.validity)?
        };
        Ok(Self { certificate: template.self_signed(&key)?, key })
    }
}

/// When a certificate of ours was made.
pub(crate) fn made(certificate: &Certificate) -> Timestamp {
    certificate.not_before().checked_add(BACKDATE).unwrap_or(certificate.not_before())
}

/// How long it is valid from when it was made.
pub(crate) fn validity(certificate: &Certificate) -> Duration {
    between(made(certificate), certificate.not_after())
}

/// The time from one moment to a later one; zero if it is not later.
pub(crate) fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or_default()
}

/// A moment after another one; the last of all if it is beyond the end of time.
pub(crate) fn after(moment: Timestamp, time: Duration) -> Timestamp {
    moment.checked_add(time).unwrap_or(Timestamp::MAX)
}

impl Authority {
    /// A new authority, which signs at once.
    pub(crate) fn new(wanted: &Wanted, now: Timestamp) -> Result<Self, Error> {
        Ok(Self { current: Pair::authority(wanted, now)?, next: None, previous: Vec::new() })
    }

    /// Takes the step that is due, if one is.
    pub(crate) fn advance(&mut self, wanted: &Wanted, now: Timestamp) -> Result<Option<Step>, Error> {
        self.previous.retain(|certificate| certificate.not_after() > now);
        let has_ended = self.current.certificate.not_after() <= now;
        if has_ended {
            let pair = match self.next.take() {
                Some(next) if next.pair.certificate.not_after() > now => next.pair,
                _ => Pair::authority(wanted, now)?,
            };
            self.current = pair;
            return Ok(Some(Step::Replaced));
        }
        if self.signs_from().is_some_and(|moment| moment <= now)
            && let Some(next) = self.next.take()
        {
            let old = std::mem::replace(&mut self.current, next.pair);
            self.previous.insert(0, old.certificate);
            return Ok(Some(Step::Switched));
        }
        let newest = self.next.as_ref().map_or(&self.current, |next| &next.pair);
        let is_as_wanted = validity(&newest.certificate) == wanted.validity;
        let is_half_over = self.next.is_none() && self.half() <= now;
        if is_half_over || !is_as_wanted {
            // A successor that has not signed yet is forgotten.
            self.next = Some(Next { pair: Pair::authority(wanted, now)?, trusted_since: None });
            return Ok(Some(Step::Prepared));
        }
        Ok(None)
    }

    /// Everyone who checks certificates of this authority has been given its bundle. Returns whether that is new.
    pub(crate) fn is_trusted(&mut self, now: Timestamp) -> bool {
        match &mut self.next {
            Some(next) if next.trusted_since.is_none() => {
                next.trusted_since = Some(now);
                true
            }
            _ => false,
        }
    }

    /// When the successor begins to sign. It does so in the last eighth of the authority even if not everyone could be given
    /// it: otherwise all certificates would end with the authority.
    pub(crate) fn signs_from(&self) -> Option<Timestamp> {
        let next = self.next.as_ref()?;
        let end = self.current.certificate.not_after();
        let latest = end.checked_sub(validity(&self.current.certificate) / 8).unwrap_or(end);
        let Some(since) = next.trusted_since else { return Some(latest) };
        let overlap = (validity(&next.pair.certificate) / 4).min(between(since, end) / 2);
        Some(after(since, overlap).min(latest))
    }

    /// The next moment at which [`Self::advance`] may have something to do.
    pub(crate) fn due(&self) -> Timestamp {
        let forgotten = self.previous.iter().map(Certificate::not_after).min().unwrap_or(Timestamp::MAX);
        self.signs_from().unwrap_or_else(|| self.half()).min(forgotten)
    }

    /// The trusted certificates in PEM, the newest first.
    pub(crate) fn bundle(&self) -> String {
        let next = self.next.iter().map(|next| &next.pair.certificate);
        next.chain([&self.current.certificate]).chain(&self.previous).map(Certificate::to_pem).collect()
    }

    fn half(&self) -> Timestamp {
        let certificate = &self.current.certificate;
        after(made(certificate), validity(certificate) / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(hours: u64) -> Wanted {
        Wanted { name: "signer".to_owned(), validity: Duration::from_secs(hours * 3600) }
    }

    fn at(hours: u64) -> Timestamp {
        after(Timestamp::from_second(1_800_000_000).unwrap(), Duration::from_secs(hours * 3600))
    }

    fn count(authority: &Authority) -> usize {
        authority.bundle().matches("BEGIN CERTIFICATE").count()
    }

    #[test]
    fn a_successor_is_trusted_before_it_signs_and_the_old_one_until_it_ends() {
        let wanted = wanted(100);
        let mut authority = Authority::new(&wanted, at(0)).unwrap();
        assert_eq!(authority.current.certificate.not_after(), at(100));
        assert_eq!(authority.advance(&wanted, at(49)).unwrap(), None);
        assert_eq!((count(&authority), authority.due()), (1, at(50)));
        assert_eq!(authority.advance(&wanted, at(50)).unwrap(), Some(Step::Prepared));
        assert_eq!(authority.advance(&wanted, at(51)).unwrap(), None);
        assert_eq!(count(&authority), 2);
        let first = authority.current.certificate.clone();
        // Nobody has confirmed yet that it is trusted.
        assert_eq!(authority.advance(&wanted, at(76)).unwrap(), None);
        let mut confirmed =
            Authority { current: authority.current, next: authority.next, previous: Vec::new() };
        assert!(confirmed.is_trusted(at(52)) && !confirmed.is_trusted(at(53)));
        // Half of the 48 hours that are left is 24, less than a quarter of 100.
        assert_eq!(confirmed.due(), at(76));
        assert_eq!(confirmed.advance(&wanted, at(75)).unwrap(), None);
        assert_eq!(confirmed.advance(&wanted, at(76)).unwrap(), Some(Step::Switched));
        assert_ne!(confirmed.current.certificate, first);
        assert_eq!(confirmed.previous, [first]);
        assert_eq!((confirmed.advance(&wanted, at(99)).unwrap(), count(&confirmed)), (None, 2));
        assert_eq!(
            (confirmed.advance(&wanted, at(100)).unwrap(), count(&confirmed)),
            (Some(Step::Prepared), 2)
        );
        assert!(confirmed.previous.is_empty());
    }

    #[test]
    fn an_unconfirmed_successor_signs_in_the_last_eighth() {
        let wanted = wanted(80);
        let mut authority = Authority::new(&wanted, at(0)).unwrap();
        authority.advance(&wanted, at(40)).unwrap();
        assert_eq!(authority.due(), at(70));
        assert_eq!(authority.advance(&wanted, at(69)).unwrap(), None);
        assert_eq!(authority.advance(&wanted, at(70)).unwrap(), Some(Step::Switched));
    }

    #[test]
    fn a_changed_validity_prepares_a_successor_at_once() {
        let mut authority = Authority::new(&wanted(1000), at(0)).unwrap();
        assert_eq!(authority.advance(&wanted(100), at(1)).unwrap(), Some(Step::Prepared));
        assert_eq!(authority.advance(&wanted(100), at(2)).unwrap(), None);
        assert!(authority.is_trusted(at(2)));
        assert_eq!(authority.due(), at(27));
        // Changed again: the one that never signed is replaced.
        assert_eq!(authority.advance(&wanted(200), at(3)).unwrap(), Some(Step::Prepared));
        assert_eq!(count(&authority), 2);
        assert_eq!(validity(&authority.next.unwrap().pair.certificate), wanted(200).validity);
    }

    #[test]
    fn an_authority_that_ended_is_replaced_at_once() {
        let wanted = wanted(10);
        let mut authority = Authority::new(&wanted, at(0)).unwrap();
        assert_eq!(authority.advance(&wanted, at(10)).unwrap(), Some(Step::Replaced));
        assert_eq!((authority.current.certificate.not_after(), count(&authority)), (at(20), 1));
    }
}
