//! Certificates for the proxy and its clients. Pure.

use std::time::Duration;

use jiff::Timestamp;
use slipway_bootstrap::configuration::EncryptionAlgorithm;
use slipway_bootstrap::pki::{
    AlternativeNames, Certificate, Error, PrivateKey, Subject, Template, Usage, verify,
};
use slipway_resource::SecretText;

use super::authority::{Pair, after, made, validity};

/// The desired properties of a certificate.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    /// The common name.
    pub(crate) name: String,
    /// The names of a server; none for a client.
    pub(crate) names: AlternativeNames,
    /// What it is used for.
    pub(crate) usage: Usage,
    /// How long it is valid. It never ends after its authority.
    pub(crate) validity: Duration,
}

/// A certificate and its key in PEM.
#[derive(Debug)]
pub(crate) struct Issued {
    pub(crate) certificate: Certificate,
    pub(crate) key: SecretText,
}

/// An existing certificate as its Secret has it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Existing<'a> {
    /// PEM.
    pub(crate) certificate: &'a str,
    /// PEM.
    pub(crate) key: &'a str,
    /// The text of [`Leaf::stamp`] at the time when it was issued.
    pub(crate) stamp: &'a str,
}

/// The certificate that is in use from now on.
#[derive(Debug)]
pub(crate) struct InUse {
    pub(crate) certificate: Certificate,
    /// The certificate in PEM.
    pub(crate) pem: String,
    pub(crate) key: SecretText,
    /// Whether it was made now.
    pub(crate) is_new: bool,
}

impl Leaf {
    /// The existing certificate if it can be used further, else a new one.
    pub(crate) fn in_use(
        &self,
        existing: Existing<'_>,
        authority: &Pair,
        now: Timestamp,
    ) -> Result<InUse, Error> {
        if let Some(certificate) = self.usable(existing, authority, now) {
            let (pem, key) = (existing.certificate.to_owned(), SecretText::new(existing.key));
            return Ok(InUse { certificate, pem, key, is_new: false });
        }
        let Issued { certificate, key } = self.issue(authority, now)?;
        let pem = certificate.to_pem();
        Ok(InUse { certificate, pem, key, is_new: true })
    }

    /// The validity as an annotation has it. It cannot be read from the certificate, which may end earlier with its authority.
    pub(crate) fn stamp(&self) -> String {
        format!("{}s", self.validity.as_secs())
    }

    /// Makes a key and a certificate for it.
    pub(crate) fn issue(&self, authority: &Pair, now: Timestamp) -> Result<Issued, Error> {
        let key = PrivateKey::generate(EncryptionAlgorithm::EcdsaP256)?;
        let template = self.template(authority, now)?;
        let certificate = template.signed_by(key.public_key(), &authority.certificate, &authority.key)?;
        Ok(Issued { certificate, key: key.to_pem()? })
    }

    /// The existing certificate, if it can be used further: it is signed by the authority that signs now, has the desired
    /// properties and its own key, and less than two thirds of its time are over.
    pub(crate) fn usable(
        &self,
        existing: Existing<'_>,
        authority: &Pair,
        now: Timestamp,
    ) -> Option<Certificate> {
        let certificate = Certificate::from_pem(existing.certificate).ok()?;
        let key = PrivateKey::from_pem(existing.key).ok()?;
        let template = self.template(authority, now).ok()?;
        let problems =
            verify::leaf(&certificate, &[], Some(key.public_key()), &authority.certificate, &template, now);
        (problems.is_empty() && existing.stamp == self.stamp() && renewal(&certificate) > now)
            .then_some(certificate)
    }

    fn template(&self, authority: &Pair, now: Timestamp) -> Result<Template, Error> {
        let template = Template::leaf(Subject::new(self.name.clone()), now, self.validity)?
            .with_names(self.names.clone())
            .with_usages([self.usage]);
        let not_after = template.not_after.min(authority.certificate.not_after());
        Ok(Template { not_after, ..template })
    }
}

/// When a certificate is renewed: after two thirds of its time.
pub(crate) fn renewal(certificate: &Certificate) -> Timestamp {
    after(made(certificate), validity(certificate) * 2 / 3)
}

#[cfg(test)]
mod tests {
    use super::super::authority::{Authority, Wanted};
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn leaf(hours: u32) -> Leaf {
        let names = AlternativeNames::of(["etcd-a.ns.svc"]);
        Leaf { name: "etcd-a.ns.svc".to_owned(), names, usage: Usage::Server, validity: HOUR * hours }
    }

    #[test]
    fn a_certificate_is_used_until_two_thirds_of_its_time() {
        let start = Timestamp::from_second(1_800_000_000).unwrap();
        let at = |hours| after(start, HOUR * hours);
        let wanted = Wanted { name: "signer".to_owned(), validity: HOUR * 100 };
        let authority = Authority::new(&wanted, start).unwrap();
        let issued = leaf(30).issue(&authority.current, start).unwrap();
        assert_eq!(issued.certificate.not_after(), at(30));
        let (pem, stamp) = (issued.certificate.to_pem(), leaf(30).stamp());
        let existing = Existing { certificate: &pem, key: issued.key.expose(), stamp: &stamp };
        let is_usable =
            |leaf: &Leaf, existing, hours| leaf.usable(existing, &authority.current, at(hours)).is_some();
        assert!(is_usable(&leaf(30), existing, 19) && !is_usable(&leaf(30), existing, 20));
        // Another validity, other names, another key, another authority, and nothing.
        assert!(!is_usable(&leaf(31), existing, 1));
        let mut more = leaf(30);
        more.names.add("etcd-a");
        assert!(!is_usable(&more, existing, 1));
        let other = leaf(30).issue(&authority.current, start).unwrap();
        assert!(!is_usable(&leaf(30), Existing { key: other.key.expose(), ..existing }, 1));
        let foreign = Authority::new(&wanted, start).unwrap();
        assert!(leaf(30).usable(existing, &foreign.current, at(1)).is_none());
        assert!(!is_usable(&leaf(30), Existing::default(), 1));
    }

    #[test]
    fn a_certificate_ends_with_its_authority() {
        let start = Timestamp::from_second(1_800_000_000).unwrap();
        let wanted = Wanted { name: "signer".to_owned(), validity: HOUR * 3 };
        let authority = Authority::new(&wanted, start).unwrap();
        let issued = leaf(30).issue(&authority.current, start).unwrap();
        assert_eq!(issued.certificate.not_after(), after(start, HOUR * 3));
        assert_eq!(renewal(&issued.certificate), after(start, HOUR * 2));
    }
}
