use std::time::Duration;

use aws_lc_rs::rand::{SecureRandom as _, SystemRandom};
use der::{
    DateTime, Encode,
    asn1::{Any, BitString, GeneralizedTime, Int, UtcTime},
};
use jiff::Timestamp;

use super::{
    asn1::{AlgorithmIdentifier, Extension, Signed, TbsCertificate, Time, Validity, any, encode},
    certificate::Certificate,
    error::{Error, Result, malformed},
    extensions,
    key::{PrivateKey, PublicKey},
    names::AlternativeNames,
    subject::Subject,
};

/// Time by which the start of certificates is moved back, so that clocks may differ a little.
pub const BACKDATE: Duration = Duration::from_secs(300);

/// A usage of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Usage {
    /// Server authentication in TLS.
    Server,
    /// Client authentication in TLS.
    Client,
}

/// The content of a new certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// The subject. The common name is not empty.
    pub subject: Subject,
    /// The DNS names and IP addresses of a server.
    pub names: AlternativeNames,
    /// Its usages, in the order of the certificate; a CA needs none.
    pub usages: Vec<Usage>,
    /// Whether it may sign others.
    pub is_ca: bool,
    /// Its start, in whole seconds.
    pub not_before: Timestamp,
    /// Its end.
    pub not_after: Timestamp,
}

impl Template {
    /// A CA, as kubeadm makes them: it begins [`BACKDATE`] before `now`, ends `validity` after `now`, and has its
    /// common name as its DNS name.
    ///
    /// # Errors
    /// [`Error::Template`] when its end is not a valid time.
    pub fn authority(common_name: &str, now: Timestamp, validity: Duration) -> Result<Self> {
        Ok(Self {
            subject: Subject::new(common_name),
            names: AlternativeNames { dns: vec![common_name.to_owned()], ip: Vec::new() },
            usages: Vec::new(),
            is_ca: true,
            ..Self::leaf(Subject::new(common_name), now, validity)?
        })
    }

    /// A certificate that is not a CA, without names and usages: it begins [`BACKDATE`] before `now` and ends
    /// `validity` after `now`.
    ///
    /// # Errors
    /// [`Error::Template`] when its end is not a valid time.
    pub fn leaf(subject: Subject, now: Timestamp, validity: Duration) -> Result<Self> {
        let out_of_time = |_| Error::Template("its validity reaches beyond the end of time".to_owned());
        Ok(Self {
            subject,
            names: AlternativeNames::default(),
            usages: Vec::new(),
            is_ca: false,
            not_before: now.checked_sub(BACKDATE).map_err(out_of_time)?,
            not_after: now.checked_add(validity).map_err(out_of_time)?,
        })
    }

    /// The same with these names.
    #[must_use]
    pub fn with_names(mut self, names: AlternativeNames) -> Self {
        self.names = names;
        self
    }

    /// The same with these usages.
    #[must_use]
    pub fn with_usages(mut self, usages: impl Into<Vec<Usage>>) -> Self {
        self.usages = usages.into();
        self
    }

    /// A certificate for `key` that it signs itself.
    ///
    /// # Errors
    /// [`Error::Template`] when it would not be usable; [`Error::Crypto`] when signing fails.
    pub fn self_signed(&self, key: &PrivateKey) -> Result<Certificate> {
        let subject = self.subject.to_any().map_err(malformed("subject"))?;
        self.build(key.public_key(), subject, None, key, Vec::new())
    }

    /// A certificate for `key`, signed by an authority.
    ///
    /// # Errors
    /// [`Error::Template`] when it would not be usable, the authority is not a CA, or its key is another one;
    /// [`Error::Crypto`] when signing fails.
    pub fn signed_by(
        &self,
        key: &PublicKey,
        authority: &Certificate,
        authority_key: &PrivateKey,
    ) -> Result<Certificate> {
        self.signed_with(key, authority, authority_key, Vec::new())
    }

    /// The same with further extensions.
    pub(super) fn signed_with(
        &self,
        key: &PublicKey,
        authority: &Certificate,
        authority_key: &PrivateKey,
        further: Vec<Extension>,
    ) -> Result<Certificate> {
        if !authority.is_ca() {
            let name = &authority.subject().common_name;
            return Err(Error::Template(format!("the certificate of {name:?} is not a CA's")));
        }
        if authority.public_key() != authority_key.public_key() {
            let name = &authority.subject().common_name;
            return Err(Error::Template(format!(
                "the key at hand is not that of the CA {name:?}: bring the key that belongs to the CA's certificate"
            )));
        }
        if !self.is_ca && self.usages.is_empty() {
            return Err(Error::Template("it may be used for nothing".to_owned()));
        }
        let issuer = authority.raw_subject().clone();
        let subject = self.subject.to_any().map_err(malformed("subject"))?;
        // As in Go: a certificate whose subject is also its issuer does not name the issuer's key.
        let identifier = if issuer == subject { None } else { authority.subject_key_identifier() };
        self.build(key, issuer, identifier.map(<[u8]>::to_vec), authority_key, further)
    }

    fn build(
        &self,
        key: &PublicKey,
        issuer: Any,
        issuer_identifier: Option<Vec<u8>>,
        signer: &PrivateKey,
        further: Vec<Extension>,
    ) -> Result<Certificate> {
        if self.subject.common_name.is_empty() {
            return Err(Error::Template("it has no common name".to_owned()));
        }
        if self.not_after <= self.not_before {
            return Err(Error::Template("it would end before it begins".to_owned()));
        }
        let wrong = malformed("certificate");
        let identifier = key.identifier()?;
        let mut extensions =
            extensions::for_certificate(self, &identifier, issuer_identifier).map_err(&wrong)?;
        extensions.extend(further);
        let algorithm = signer.sign(&[])?.0;
        let content = TbsCertificate {
            version: 2,
            serial_number: serial_number()?,
            signature: algorithm,
            issuer,
            validity: Validity { not_before: time(self.not_before)?, not_after: time(self.not_after)? },
            subject: self.subject.to_any().map_err(&wrong)?,
            public_key: any(&key.info()?).map_err(&wrong)?,
            issuer_unique_id: None,
            subject_unique_id: None,
            extensions: Some(extensions),
        };
        Certificate::from_der(&sign(&content, signer)?)
    }
}

/// The DER of a structure with its signature.
pub(super) fn sign<T: Encode>(content: &T, signer: &PrivateKey) -> Result<Vec<u8>> {
    let wrong = malformed("structure to sign");
    let bytes = encode(content).map_err(&wrong)?;
    let (algorithm, signature): (AlgorithmIdentifier, Vec<u8>) = signer.sign(&bytes)?;
    let signed = Signed {
        content: any(content).map_err(&wrong)?,
        algorithm,
        signature: BitString::from_bytes(&signature).map_err(&wrong)?,
    };
    encode(&signed).map_err(&wrong)
}

/// A random number of 63 bits, never zero.
fn serial_number() -> Result<Int> {
    let mut bytes = [0; 8];
    loop {
        SystemRandom::new().fill(&mut bytes).map_err(|_| Error::Crypto("making a serial number"))?;
        let number = u64::from_be_bytes(bytes) >> 1;
        if number > 0 {
            let bytes = number.to_be_bytes();
            // DER: no leading zero octets except one that keeps the number positive.
            let zeros = (number.leading_zeros() / 8) as usize;
            let start = if bytes[zeros] & 0x80 == 0 { zeros } else { zeros - 1 };
            return Int::new(&bytes[start..]).map_err(malformed("serial number"));
        }
    }
}

/// A time in the form of RFC 5280, 4.1.2.5: two digits for the year until 2049, four from then on.
fn time(timestamp: Timestamp) -> Result<Time> {
    let wrong = malformed("time");
    let seconds = u64::try_from(timestamp.as_second())
        .map_err(|_| Error::Template("its time lies before 1970".to_owned()))?;
    let date = DateTime::from_unix_duration(Duration::from_secs(seconds)).map_err(&wrong)?;
    if date.year() < 2050 {
        return Ok(Time::Utc(UtcTime::from_date_time(date).map_err(&wrong)?));
    }
    Ok(Time::General(GeneralizedTime::from_date_time(date)))
}
