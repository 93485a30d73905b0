use der::{
    Decode, Encode,
    asn1::{Any, SetOfVec},
};

use super::{
    asn1::{Attribute, Extension, RequestInfo, Signed, any},
    error::{Error, Result, malformed},
    extensions,
    key::{PrivateKey, PublicKey},
    names::AlternativeNames,
    oid, pem, signature,
    subject::Subject,
    template,
};

/// A request for a certificate (PKCS #10, RFC 2986) whose signature was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    der: Vec<u8>,
    subject: Subject,
    names: AlternativeNames,
    other_names: bool,
    public_key: PublicKey,
}

impl Request {
    /// A request for a certificate of `key` with this subject and these names.
    ///
    /// # Errors
    /// [`Error::Crypto`] when signing fails.
    pub fn new(subject: &Subject, names: &AlternativeNames, key: &PrivateKey) -> Result<Self> {
        let wrong = malformed("request");
        let mut attributes = SetOfVec::new();
        if let Some(extension) = extensions::alternative_names(names).map_err(&wrong)? {
            let values = SetOfVec::try_from(vec![any(&vec![extension]).map_err(&wrong)?]).map_err(&wrong)?;
            attributes.insert(Attribute { oid: oid::EXTENSION_REQUEST, values }).map_err(&wrong)?;
        }
        let info = RequestInfo {
            version: 0,
            subject: subject.to_any().map_err(&wrong)?,
            public_key: any(&key.public_key().info()?).map_err(&wrong)?,
            attributes,
        };
        Self::from_der(&template::sign(&info, key)?)
    }

    /// Reads a request's DER and checks its signature.
    ///
    /// # Errors
    /// [`Error::Malformed`] when it is not a request; [`Error::BadSignature`] when the requester does not
    /// have the key.
    pub fn from_der(der: &[u8]) -> Result<Self> {
        let wrong = malformed("request");
        let outer = Signed::from_der(der).map_err(&wrong)?;
        let content = outer.content.to_der().map_err(&wrong)?;
        let info = RequestInfo::from_der(&content).map_err(&wrong)?;
        let public_key = PublicKey::from_der(&info.public_key.to_der().map_err(&wrong)?)?;
        let subject = Subject::from_any(&info.subject)?;
        let name = format!("the request of {:?}", subject.common_name);
        signature::verify(&public_key, &outer.algorithm, &content, &outer.signature, &name)?;
        let (names, other_names) = names(&info)?;
        Ok(Self { der: der.to_vec(), subject, names, other_names, public_key })
    }

    /// Reads the first request of a PEM text and checks its signature.
    ///
    /// # Errors
    /// As [`Request::from_der`], and [`Error::Malformed`] when there is none.
    pub fn from_pem(text: &str) -> Result<Self> {
        let labels = ["CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST"];
        let block = pem::decode(text).into_iter().find(|block| labels.contains(&block.label.as_str()));
        let reason = "it has no PEM block of CERTIFICATE REQUEST".to_owned();
        Self::from_der(&block.ok_or(Error::Malformed { what: "request", reason })?.bytes)
    }

    /// The request in PEM.
    #[must_use]
    pub fn to_pem(&self) -> String {
        pem::encode("CERTIFICATE REQUEST", &self.der)
    }

    /// Its DER.
    #[must_use]
    pub fn as_der(&self) -> &[u8] {
        &self.der
    }

    /// The subject of the requester.
    #[must_use]
    pub const fn subject(&self) -> &Subject {
        &self.subject
    }

    /// The requested names and addresses.
    #[must_use]
    pub const fn names(&self) -> &AlternativeNames {
        &self.names
    }

    /// Whether names of other kinds are requested: of mail, URIs, directories.
    #[must_use]
    pub const fn has_other_names(&self) -> bool {
        self.other_names
    }

    /// The key to certify.
    #[must_use]
    pub const fn public_key(&self) -> &PublicKey {
        &self.public_key
    }
}

fn names(info: &RequestInfo) -> Result<(AlternativeNames, bool)> {
    let wrong = malformed("request");
    for attribute in info.attributes.iter().filter(|attribute| attribute.oid == oid::EXTENSION_REQUEST) {
        if let Some(value) = attribute.values.iter().next() {
            let asked: Vec<Extension> =
                Any::to_der(value).and_then(|der| Vec::from_der(&der)).map_err(&wrong)?;
            let parsed = extensions::parse(&asked)?;
            return Ok((parsed.names, parsed.other_names));
        }
    }
    Ok((AlternativeNames::default(), false))
}
