//! The structures of RFC 5280, RFC 2986, RFC 5958 and RFC 5915 that are read and written here.

use der::{
    Choice, Decode, Encode, Sequence, ValueOrd,
    asn1::{Any, BitString, GeneralizedTime, Int, ObjectIdentifier, OctetString, SetOfVec, UtcTime},
};

#[derive(Clone, Debug, PartialEq, Eq, Sequence)]
pub(super) struct AlgorithmIdentifier {
    pub oid: ObjectIdentifier,
    pub parameters: Option<Any>,
}

#[derive(Clone, Debug, PartialEq, Eq, Sequence)]
pub(super) struct SubjectPublicKeyInfo {
    pub algorithm: AlgorithmIdentifier,
    pub subject_public_key: BitString,
}

#[derive(Clone, Debug, PartialEq, Eq, Sequence, ValueOrd)]
pub(super) struct AttributeTypeAndValue {
    pub oid: ObjectIdentifier,
    pub value: Any,
}

pub(super) type RelativeName = SetOfVec<AttributeTypeAndValue>;

#[derive(Clone, Debug, PartialEq, Eq, Sequence)]
pub(super) struct Extension {
    pub id: ObjectIdentifier,
    #[asn1(default = "Default::default")]
    pub critical: bool,
    pub value: OctetString,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(super) enum Time {
    #[asn1(type = "UTCTime")]
    Utc(UtcTime),
    #[asn1(type = "GeneralizedTime")]
    General(GeneralizedTime),
}

#[derive(Clone, Debug, PartialEq, Eq, Sequence)]
pub(super) struct Validity {
    pub not_before: Time,
    pub not_after: Time,
}

#[derive(Clone, Debug, PartialEq, Eq, Sequence)]
pub(super) struct TbsCertificate {
    #[asn1(context_specific = "0", tag_mode = "EXPLICIT", default = "Default::default")]
    pub version: u8,
    pub serial_number: Int,
    pub signature: AlgorithmIdentifier,
    pub issuer: Any,
    pub validity: Validity,
    pub subject: Any,
    pub public_key: Any,
    #[asn1(context_specific = "1", tag_mode = "IMPLICIT", optional = "true")]
    pub issuer_unique_id: Option<BitString>,
    #[asn1(context_specific = "2", tag_mode = "IMPLICIT", optional = "true")]
    pub subject_unique_id: Option<BitString>,
    #[asn1(context_specific = "3", tag_mode = "EXPLICIT", optional = "true")]
    pub extensions: Option<Vec<Extension>>,
}

/// A certificate or a request: the signed content, and the signature.
#[derive(Clone, Debug, PartialEq, Eq, Sequence)]
pub(super) struct Signed {
    pub content: Any,
    pub algorithm: AlgorithmIdentifier,
    pub signature: BitString,
}

#[derive(Clone, Debug, PartialEq, Eq, Sequence)]
pub(super) struct RequestInfo {
    pub version: u8,
    pub subject: Any,
    pub public_key: Any,
    #[asn1(context_specific = "0", tag_mode = "IMPLICIT")]
    pub attributes: SetOfVec<Attribute>,
}

#[derive(Clone, Debug, PartialEq, Eq, Sequence, ValueOrd)]
pub(super) struct Attribute {
    pub oid: ObjectIdentifier,
    pub values: SetOfVec<Any>,
}

#[derive(Clone, Debug, PartialEq, Eq, Sequence)]
pub(super) struct BasicConstraints {
    #[asn1(default = "Default::default")]
    pub is_ca: bool,
    pub path_length: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Sequence)]
pub(super) struct AuthorityKeyIdentifier {
    #[asn1(context_specific = "0", tag_mode = "IMPLICIT", optional = "true")]
    pub key_identifier: Option<OctetString>,
}

/// The outer part of PKCS #8, as far as it is needed to take the key out.
#[derive(Clone, Debug, PartialEq, Eq, Sequence)]
pub(super) struct PrivateKeyInfo {
    pub version: u8,
    pub algorithm: AlgorithmIdentifier,
    pub private_key: OctetString,
}

/// The DER of a value whose parts are all within what DER can hold.
pub(super) fn encode<T: Encode>(value: &T) -> der::Result<Vec<u8>> {
    value.to_der()
}

/// An element of any type from the DER of a value.
pub(super) fn any<T: Encode>(value: &T) -> der::Result<Any> {
    Any::from_der(&value.to_der()?)
}
