use der::{Decode, Encode, asn1::Any};
use jiff::Timestamp;
use slipway_resource::hexadecimal;

use super::{
    asn1::{Signed, TbsCertificate, Time},
    error::{Error, Result, malformed},
    extensions::{self, Parsed},
    key::PublicKey,
    names::AlternativeNames,
    oid, pem, signature,
    subject::Subject,
    template::Usage,
};

/// The bit of key usage that lets a key sign certificates.
const MAY_SIGN: u8 = 0b0000_0100;

/// A parsed X.509 certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    der: Vec<u8>,
    outer: Signed,
    content: TbsCertificate,
    subject: Subject,
    issuer: Subject,
    public_key: PublicKey,
    parsed: Parsed,
    not_before: Timestamp,
    not_after: Timestamp,
}

impl Certificate {
    /// Reads a certificate's DER.
    ///
    /// # Errors
    /// [`Error::Malformed`] when it is not a certificate.
    pub fn from_der(der: &[u8]) -> Result<Self> {
        let wrong = malformed("certificate");
        let outer = Signed::from_der(der).map_err(&wrong)?;
        let content =
            outer.content.to_der().and_then(|der| TbsCertificate::from_der(&der)).map_err(&wrong)?;
        // RFC 5280, 4.1.1.2: the signed part names the algorithm too.
        if outer.algorithm != content.signature {
            let reason = "it names two algorithms of its signature".to_owned();
            return Err(Error::Malformed { what: "certificate", reason });
        }
        let public_key = PublicKey::from_der(&content.public_key.to_der().map_err(&wrong)?)?;
        Ok(Self {
            der: der.to_vec(),
            subject: Subject::from_any(&content.subject)?,
            issuer: Subject::from_any(&content.issuer)?,
            public_key,
            parsed: extensions::parse(content.extensions.as_deref().unwrap_or_default())?,
            not_before: timestamp(content.validity.not_before)?,
            not_after: timestamp(content.validity.not_after)?,
            outer,
            content,
        })
    }

    /// Reads the first certificate of a PEM text.
    ///
    /// # Errors
    /// [`Error::Malformed`] when there is none.
    pub fn from_pem(text: &str) -> Result<Self> {
        let mut chain = Self::chain_from_pem(text)?;
        Ok(chain.swap_remove(0))
    }

    /// Reads every certificate of a PEM text, at least one: first the certificate itself, then its signers.
    ///
    /// # Errors
    /// [`Error::Malformed`] when there is none, or one is damaged.
    pub fn chain_from_pem(text: &str) -> Result<Vec<Self>> {
        let blocks = pem::decode(text).into_iter().filter(|block| block.label == "CERTIFICATE");
        let chain = blocks.map(|block| Self::from_der(&block.bytes)).collect::<Result<Vec<_>>>()?;
        if chain.is_empty() {
            let reason = "it has no PEM block of CERTIFICATE".to_owned();
            return Err(Error::Malformed { what: "certificate", reason });
        }
        Ok(chain)
    }

    /// The certificate in PEM.
    #[must_use]
    pub fn to_pem(&self) -> String {
        pem::encode("CERTIFICATE", &self.der)
    }

    /// Its DER.
    #[must_use]
    pub fn as_der(&self) -> &[u8] {
        &self.der
    }

    /// The subject.
    #[must_use]
    pub const fn subject(&self) -> &Subject {
        &self.subject
    }

    /// The issuer.
    #[must_use]
    pub const fn issuer(&self) -> &Subject {
        &self.issuer
    }

    /// The DNS names and IP addresses of its owner.
    #[must_use]
    pub const fn names(&self) -> &AlternativeNames {
        &self.parsed.names
    }

    /// Whether it may sign others.
    #[must_use]
    pub fn is_ca(&self) -> bool {
        self.parsed.is_ca && self.parsed.key_usage.is_none_or(|bits| bits & MAY_SIGN != 0)
    }

    /// Maximum number of further CAs between it and a leaf certificate; `None` for any number.
    pub(super) const fn path_length(&self) -> Option<u32> {
        self.parsed.path_length
    }

    /// Whether it has a critical extension that is not supported here.
    pub(super) const fn has_unknown_critical(&self) -> bool {
        self.parsed.unknown_critical
    }

    /// Its usages, as far as Kubernetes checks them.
    #[must_use]
    pub fn usages(&self) -> Vec<Usage> {
        let known = |oid: &der::asn1::ObjectIdentifier| match *oid {
            oid::SERVER_AUTHENTICATION => Some(Usage::Server),
            oid::CLIENT_AUTHENTICATION => Some(Usage::Client),
            _ => None,
        };
        self.parsed.usages.iter().filter_map(known).collect()
    }

    /// When it begins.
    #[must_use]
    pub const fn not_before(&self) -> Timestamp {
        self.not_before
    }

    /// When it ends.
    #[must_use]
    pub const fn not_after(&self) -> Timestamp {
        self.not_after
    }

    /// Its serial number in hexadecimal digits.
    #[must_use]
    pub fn serial(&self) -> String {
        hexadecimal(self.content.serial_number.as_bytes())
    }

    /// The certified key.
    #[must_use]
    pub const fn public_key(&self) -> &PublicKey {
        &self.public_key
    }

    /// Whether subject and issuer are equal and its own key signed it.
    #[must_use]
    pub fn is_self_signed(&self) -> bool {
        self.content.subject == self.content.issuer && self.check_signature(&self.public_key).is_ok()
    }

    pub(super) const fn raw_subject(&self) -> &Any {
        &self.content.subject
    }

    pub(super) const fn raw_issuer(&self) -> &Any {
        &self.content.issuer
    }

    pub(super) fn subject_key_identifier(&self) -> Option<&[u8]> {
        self.parsed.subject_key_identifier.as_deref()
    }

    /// Checks that this key made its signature.
    pub(super) fn check_signature(&self, key: &PublicKey) -> Result<()> {
        let content = self.outer.content.to_der().map_err(malformed("certificate"))?;
        let name = format!("the certificate of {:?}", self.subject.common_name);
        signature::verify(key, &self.outer.algorithm, &content, &self.outer.signature, &name)
    }
}

fn timestamp(time: Time) -> Result<Timestamp> {
    let since = match time {
        Time::Utc(time) => time.to_unix_duration(),
        Time::General(time) => time.to_unix_duration(),
    };
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    Timestamp::from_second(seconds)
        .map_err(|error| Error::Malformed { what: "certificate", reason: error.to_string() })
}
