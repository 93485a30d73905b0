//! Object identifiers, with the document that assigns each.

use der::asn1::ObjectIdentifier;

const fn oid(text: &str) -> ObjectIdentifier {
    ObjectIdentifier::new_unwrap(text)
}

// RFC 3279, RFC 4055: RSA.
pub(super) const RSA_ENCRYPTION: ObjectIdentifier = oid("1.2.840.113549.1.1.1");
pub(super) const SHA256_WITH_RSA: ObjectIdentifier = oid("1.2.840.113549.1.1.11");
pub(super) const SHA384_WITH_RSA: ObjectIdentifier = oid("1.2.840.113549.1.1.12");
pub(super) const SHA512_WITH_RSA: ObjectIdentifier = oid("1.2.840.113549.1.1.13");

// RFC 5480, RFC 5758: elliptic curves.
pub(super) const EC_PUBLIC_KEY: ObjectIdentifier = oid("1.2.840.10045.2.1");
pub(super) const P256: ObjectIdentifier = oid("1.2.840.10045.3.1.7");
pub(super) const P384: ObjectIdentifier = oid("1.3.132.0.34");
pub(super) const P521: ObjectIdentifier = oid("1.3.132.0.35");
pub(super) const ECDSA_WITH_SHA256: ObjectIdentifier = oid("1.2.840.10045.4.3.2");
pub(super) const ECDSA_WITH_SHA384: ObjectIdentifier = oid("1.2.840.10045.4.3.3");
pub(super) const ECDSA_WITH_SHA512: ObjectIdentifier = oid("1.2.840.10045.4.3.4");

// RFC 8410: Edwards curves.
pub(super) const ED25519: ObjectIdentifier = oid("1.3.101.112");

// RFC 5280, X.520: names.
pub(super) const COMMON_NAME: ObjectIdentifier = oid("2.5.4.3");
pub(super) const ORGANIZATION: ObjectIdentifier = oid("2.5.4.10");

// RFC 5280: extensions.
pub(super) const SUBJECT_KEY_IDENTIFIER: ObjectIdentifier = oid("2.5.29.14");
pub(super) const KEY_USAGE: ObjectIdentifier = oid("2.5.29.15");
pub(super) const SUBJECT_ALTERNATIVE_NAME: ObjectIdentifier = oid("2.5.29.17");
pub(super) const BASIC_CONSTRAINTS: ObjectIdentifier = oid("2.5.29.19");
pub(super) const NAME_CONSTRAINTS: ObjectIdentifier = oid("2.5.29.30");
pub(super) const AUTHORITY_KEY_IDENTIFIER: ObjectIdentifier = oid("2.5.29.35");
pub(super) const EXTENDED_KEY_USAGE: ObjectIdentifier = oid("2.5.29.37");
pub(super) const SERVER_AUTHENTICATION: ObjectIdentifier = oid("1.3.6.1.5.5.7.3.1");
pub(super) const CLIENT_AUTHENTICATION: ObjectIdentifier = oid("1.3.6.1.5.5.7.3.2");

// RFC 2985: the attribute of a request that holds extensions.
pub(super) const EXTENSION_REQUEST: ObjectIdentifier = oid("1.2.840.113549.1.9.14");
