//! The extensions of certificates, written in the order and form of Go's library, which kubeadm uses.

use der::{
    Decode, Encode,
    asn1::{BitString, ObjectIdentifier, OctetString},
};

use super::{
    asn1::{AuthorityKeyIdentifier, BasicConstraints, Extension},
    names::AlternativeNames,
    oid,
    template::{Template, Usage},
};

/// Key usage bits (RFC 5280, 4.2.1.3), from the left: digitalSignature, keyEncipherment, keyCertSign.
const LEAF_USAGE: (u8, u8) = (0b1010_0000, 5);
const CA_USAGE: (u8, u8) = (0b1010_0100, 2);

fn extension(id: ObjectIdentifier, critical: bool, value: Vec<u8>) -> der::Result<Extension> {
    Ok(Extension { id, critical, value: OctetString::new(value)? })
}

/// The extensions of a certificate. The subject key identifier of a CA is that of its key. A certificate that
/// another key signed has the identifier of that key as authority key identifier.
pub(super) fn for_certificate(
    template: &Template,
    own_identifier: &[u8],
    issuer_identifier: Option<Vec<u8>>,
) -> der::Result<Vec<Extension>> {
    let mut extensions = Vec::new();
    let (bits, unused) = if template.is_ca { CA_USAGE } else { LEAF_USAGE };
    extensions.push(extension(oid::KEY_USAGE, true, BitString::new(unused, vec![bits])?.to_der()?)?);
    if !template.usages.is_empty() {
        let usages: Vec<ObjectIdentifier> = template.usages.iter().map(|usage| usage.oid()).collect();
        extensions.push(extension(oid::EXTENDED_KEY_USAGE, false, usages.to_der()?)?);
    }
    let constraints = BasicConstraints { is_ca: template.is_ca, path_length: None };
    extensions.push(extension(oid::BASIC_CONSTRAINTS, true, constraints.to_der()?)?);
    if template.is_ca {
        let identifier = OctetString::new(own_identifier)?;
        extensions.push(extension(oid::SUBJECT_KEY_IDENTIFIER, false, identifier.to_der()?)?);
    }
    if let Some(identifier) = issuer_identifier {
        let authority = AuthorityKeyIdentifier { key_identifier: Some(OctetString::new(identifier)?) };
        extensions.push(extension(oid::AUTHORITY_KEY_IDENTIFIER, false, authority.to_der()?)?);
    }
    extensions.extend(alternative_names(&template.names)?);
    Ok(extensions)
}

/// The extension of alternative names; none without names.
pub(super) fn alternative_names(names: &AlternativeNames) -> der::Result<Option<Extension>> {
    let names = names.normalised();
    if names.is_empty() {
        return Ok(None);
    }
    extension(oid::SUBJECT_ALTERNATIVE_NAME, false, names.to_der()?).map(Some)
}

/// The parsed extensions of a certificate or a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Parsed {
    pub names: AlternativeNames,
    /// Whether there are names of other kinds.
    pub other_names: bool,
    pub usages: Vec<ObjectIdentifier>,
    pub is_ca: bool,
    pub path_length: Option<u32>,
    /// The first octet of the key usage bits; absent when there are none.
    pub key_usage: Option<u8>,
    pub subject_key_identifier: Option<Vec<u8>>,
    /// Whether a critical extension is not supported. Name constraints are left to TLS.
    pub unknown_critical: bool,
}

pub(super) fn parse(extensions: &[Extension]) -> super::Result<Parsed> {
    let mut parsed = Parsed::default();
    let wrong = super::error::malformed("extension");
    for extension in extensions {
        let value = extension.value.as_bytes();
        match extension.id {
            oid::SUBJECT_ALTERNATIVE_NAME => {
                (parsed.names, parsed.other_names) = AlternativeNames::with_others(value)?;
            }
            oid::EXTENDED_KEY_USAGE => parsed.usages = Vec::from_der(value).map_err(&wrong)?,
            oid::BASIC_CONSTRAINTS => {
                let constraints = BasicConstraints::from_der(value).map_err(&wrong)?;
                parsed.is_ca = constraints.is_ca;
                parsed.path_length = constraints.path_length;
            }
            oid::KEY_USAGE => {
                let bits = BitString::from_der(value).map_err(&wrong)?;
                parsed.key_usage = Some(bits.raw_bytes().first().copied().unwrap_or_default());
            }
            oid::SUBJECT_KEY_IDENTIFIER => {
                let identifier = OctetString::from_der(value).map_err(&wrong)?;
                parsed.subject_key_identifier = Some(identifier.as_bytes().to_vec());
            }
            oid::AUTHORITY_KEY_IDENTIFIER | oid::NAME_CONSTRAINTS => {}
            _ => parsed.unknown_critical |= extension.critical,
        }
    }
    Ok(parsed)
}

impl Usage {
    pub(super) const fn oid(self) -> ObjectIdentifier {
        match self {
            Self::Server => oid::SERVER_AUTHENTICATION,
            Self::Client => oid::CLIENT_AUTHENTICATION,
        }
    }
}
