use der::{
    Decode, Encode, Tag,
    asn1::{Any, SetOfVec},
};

use super::{
    asn1::{AttributeTypeAndValue, RelativeName},
    error::{Result, malformed},
    oid,
};

/// The subject of a certificate, as far as Kubernetes uses it: user and groups.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Subject {
    /// The common name: the user.
    pub common_name: String,
    /// The organizations: the groups, in the order of the certificate.
    pub organizations: Vec<String>,
}

impl Subject {
    /// A subject with this common name and no organizations.
    pub fn new(common_name: impl Into<String>) -> Self {
        Self { common_name: common_name.into(), organizations: Vec::new() }
    }

    /// The same subject with these organizations.
    #[must_use]
    pub fn with_organizations<T: Into<String>>(mut self, organizations: impl IntoIterator<Item = T>) -> Self {
        self.organizations = organizations.into_iter().map(Into::into).collect();
        self
    }

    /// Reads the DER of a name, as a server sends it for an authority whose clients it accepts (RFC 8446, 4.2.4).
    ///
    /// # Errors
    /// [`super::Error::Malformed`] when it is not a name.
    pub fn from_der(der: &[u8]) -> Result<Self> {
        Any::from_der(der).map_err(malformed("name")).and_then(|name| Self::from_any(&name))
    }

    /// The name as an element: first all organizations in one set, then the common name.
    pub(super) fn to_any(&self) -> der::Result<Any> {
        let mut names: Vec<RelativeName> = Vec::new();
        if !self.organizations.is_empty() {
            let mut organizations: Vec<AttributeTypeAndValue> = Vec::new();
            for organization in &self.organizations {
                let attribute = attribute(oid::ORGANIZATION, organization)?;
                if !organizations.contains(&attribute) {
                    organizations.push(attribute);
                }
            }
            names.push(SetOfVec::try_from(organizations)?);
        }
        if !self.common_name.is_empty() {
            names.push(SetOfVec::try_from(vec![attribute(oid::COMMON_NAME, &self.common_name)?])?);
        }
        Any::from_der(&names.to_der()?)
    }

    pub(super) fn from_any(name: &Any) -> Result<Self> {
        let mut subject = Self::default();
        let names: Vec<RelativeName> =
            name.to_der().and_then(|der| Vec::from_der(&der)).map_err(malformed("name"))?;
        for attribute in names.iter().flat_map(SetOfVec::iter) {
            let Ok(text) = std::str::from_utf8(attribute.value.value()) else { continue };
            if attribute.oid == oid::COMMON_NAME {
                text.clone_into(&mut subject.common_name);
            } else if attribute.oid == oid::ORGANIZATION {
                subject.organizations.push(text.to_owned());
            }
        }
        Ok(subject)
    }
}

/// A part of a name: a `PrintableString` where its letters allow that, else a `UTF8String`.
fn attribute(oid: der::asn1::ObjectIdentifier, text: &str) -> der::Result<AttributeTypeAndValue> {
    let printable = |byte: u8| byte.is_ascii_alphanumeric() || b" '()+,-./:=?".contains(&byte);
    let tag = if text.bytes().all(printable) { Tag::PrintableString } else { Tag::Utf8String };
    Ok(AttributeTypeAndValue { oid, value: Any::new(tag, text.as_bytes())? })
}
