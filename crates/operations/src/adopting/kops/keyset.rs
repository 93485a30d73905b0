//! Key sets of kOps: the documents `pki/private/NAME/keyset.yaml` of its state store.
//!
//! A set has several keys while kOps rotates it. The primary key signs. The cluster trusts the other keys too, until they have a
//! `distrustTimestamp`. Private keys and certificates are PEM texts in base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::IgnoredAny;
use slipway_bootstrap::pki::{Certificate, PrivateKey};
use slipway_resource::SecretText;
use zeroize::Zeroizing;

/// The kind of the document.
const KIND: &str = "Keyset";

/// Why a key set cannot be used. No message has a part of a key.
#[derive(Debug, thiserror::Error)]
pub enum KeysetError {
    /// The text has another form.
    #[error("it is not a document of kind Keyset{}", at(*line))]
    Document {
        /// The line of the problem, counted from 1.
        line: Option<usize>,
    },
    /// The set does not have its primary key.
    #[error("it does not have its primary key {id:?}")]
    NoPrimary {
        /// The id of the primary key; empty in a set that names none.
        id: String,
    },
    /// The cluster does not trust the primary key.
    #[error("its primary key {id} is distrusted")]
    Distrusted {
        /// The id of the key.
        id: String,
    },
    /// A part of the primary key is missing.
    #[error("its primary key {id} has no {what}")]
    Missing {
        /// The id of the key.
        id: String,
        /// The field.
        what: &'static str,
    },
    /// A part of the primary key is not text in base64.
    #[error("the {what} of its primary key {id} is not a text in base64")]
    NoText {
        /// The id of the key.
        id: String,
        /// The field.
        what: &'static str,
    },
    /// A part of the primary key cannot be read.
    #[error("the {what} of its primary key {id} cannot be read")]
    Unreadable {
        /// The id of the key.
        id: String,
        /// The field.
        what: &'static str,
        /// Why.
        #[source]
        source: slipway_bootstrap::pki::Error,
    },
    /// The certificate is not that of the private key.
    #[error("the certificate of its primary key {id} belongs to another key")]
    OtherKey {
        /// The id of the key.
        id: String,
    },
}

fn at(line: Option<usize>) -> String {
    line.map(|line| format!(", see line {line}")).unwrap_or_default()
}

/// The primary key of a set.
#[derive(Debug)]
pub(super) struct Keyset {
    /// The id of the key: the serial number of its certificate.
    pub id: String,
    /// The private key.
    pub private_key_pem: SecretText,
    /// The certificate that the key has signed for itself.
    pub certificate_pem: String,
    /// The ids of the other keys that the cluster trusts.
    pub also_trusted: Vec<String>,
}

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    kind: String,
    spec: Spec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    keys: Option<Vec<Key>>,
    #[serde(default)]
    primary_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Key {
    id: String,
    private_material: Option<Material>,
    public_material: Option<Material>,
    distrust_timestamp: Option<IgnoredAny>,
}

/// A text in base64, which is wiped from memory.
#[derive(Deserialize)]
#[serde(from = "String")]
struct Material(Zeroizing<String>);

impl From<String> for Material {
    fn from(text: String) -> Self {
        Self(Zeroizing::new(text))
    }
}

impl Keyset {
    /// Reads the document of a key set.
    ///
    /// # Errors
    /// When it has another form, or its primary key cannot be used.
    pub(super) fn parse(text: &str) -> Result<Self, KeysetError> {
        // The message of the parser can quote a value, so only the line is told.
        let document: Document = serde_yaml::from_str(text).map_err(|error| KeysetError::Document {
            line: error.location().map(|location| location.line()),
        })?;
        if document.kind != KIND {
            return Err(KeysetError::Document { line: None });
        }
        let (keys, primary_id) = (document.spec.keys.unwrap_or_default(), document.spec.primary_id);
        let primary = match primary_id.as_str() {
            // kOps before 1.22 names none, and signs with the newest key: that with the highest number.
            "" => keys
                .iter()
                .filter(|key| key.private_material.is_some())
                .max_by(|one, other| number(&one.id).cmp(&number(&other.id))),
            id => keys.iter().find(|key| key.id == id),
        };
        let Some(primary) = primary else { return Err(KeysetError::NoPrimary { id: primary_id }) };
        let id = primary.id.clone();
        if primary.distrust_timestamp.is_some() {
            return Err(KeysetError::Distrusted { id });
        }
        let private_key_pem =
            SecretText::new(primary.text("private key", primary.private_material.as_ref())?);
        let certificate_pem = primary.text("certificate", primary.public_material.as_ref())?;
        check(&id, &private_key_pem, &certificate_pem)?;
        let others = keys.iter().filter(|key| key.id != id && key.distrust_timestamp.is_none());
        let also_trusted = others.map(|key| key.id.clone()).collect();
        Ok(Self { id, private_key_pem, certificate_pem, also_trusted })
    }
}

impl Key {
    /// The text of a part of the key.
    fn text(&self, what: &'static str, material: Option<&Material>) -> Result<String, KeysetError> {
        let id = || self.id.clone();
        let Material(encoded) = material.ok_or_else(|| KeysetError::Missing { id: id(), what })?;
        let text = STANDARD.decode(encoded.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        text.ok_or_else(|| KeysetError::NoText { id: id(), what })
    }
}

/// Checks that a key and its certificate can be read, and belong together.
fn check(id: &str, private_key: &SecretText, certificate: &str) -> Result<(), KeysetError> {
    let unreadable =
        |what: &'static str| move |source| KeysetError::Unreadable { id: id.to_owned(), what, source };
    let key = PrivateKey::from_pem(private_key.expose()).map_err(unreadable("private key"))?;
    let certificate = Certificate::from_pem(certificate).map_err(unreadable("certificate"))?;
    if certificate.public_key().to_pem() == key.public_key().to_pem() {
        return Ok(());
    }
    Err(KeysetError::OtherKey { id: id.to_owned() })
}

/// A decimal number of any length, in the order of numbers.
fn number(digits: &str) -> (usize, &str) {
    let digits = digits.trim_start_matches('0');
    (digits.len(), digits)
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use jiff::Timestamp;
    use slipway_bootstrap::configuration::EncryptionAlgorithm;
    use slipway_bootstrap::pki::Template;

    use super::*;

    /// A key as a document of kOps has it: the private key and the certificate.
    pub(in crate::adopting) fn pair(name: &str) -> (String, String) {
        let key = PrivateKey::generate(EncryptionAlgorithm::EcdsaP256).unwrap();
        let year = Duration::from_secs(365 * 24 * 3_600);
        let template = Template::authority(name, Timestamp::now(), year).unwrap();
        let certificate = template.self_signed(&key).unwrap().to_pem();
        (key.to_pem().unwrap().expose().to_owned(), certificate)
    }

    /// The document of a set as kOps writes it. Each key has its id, its texts, and whether it is distrusted.
    pub(in crate::adopting) fn document(primary: &str, keys: &[(&str, &(String, String), bool)]) -> String {
        let mut text =
            "apiVersion: kops.k8s.io/v1alpha2\nkind: Keyset\nmetadata:\n  name: kubernetes-ca\nspec:\n  keys:\n"
                .to_owned();
        for (id, (key, certificate), distrusted) in keys {
            let (private, public) = (STANDARD.encode(key), STANDARD.encode(certificate));
            let distrust = if *distrusted { "distrustTimestamp: \"2026-11-21T00:36:12Z\"\n    " } else { "" };
            text.push_str(&format!(
                "  - {distrust}id: \"{id}\"\n    privateMaterial: {private}\n    publicMaterial: {public}\n"
            ));
        }
        if !primary.is_empty() {
            text.push_str(&format!("  primaryId: \"{primary}\"\n"));
        }
        text + "  type: Keypair\n"
    }

    #[test]
    fn the_primary_key_is_read_and_others_that_are_trusted_are_named() {
        let (old, used, new) = (pair("old"), pair("used"), pair("new"));
        let keys = [("7711159253590344238761651849", &old, true), ("99", &used, false), ("100", &new, false)];
        let set = Keyset::parse(&document("99", &keys)).unwrap();
        assert_eq!((set.id.as_str(), set.private_key_pem.expose()), ("99", used.0.as_str()));
        assert_eq!(
            (set.certificate_pem.as_str(), set.also_trusted),
            (used.1.as_str(), vec!["100".to_owned()])
        );
        // Without a primary id, the number decides, not the order of texts.
        let set = Keyset::parse(&document("", &[keys[2], keys[1]])).unwrap();
        assert_eq!((set.id.as_str(), set.certificate_pem.as_str()), ("100", new.1.as_str()));
    }

    #[test]
    fn a_set_that_cannot_be_used_is_refused_without_its_keys() {
        let (one, other) = (pair("one"), pair("other"));
        let mixed = (one.0.clone(), other.1.clone());
        let broken = (one.0.clone(), "no certificate".to_owned());
        let good = document("1", &[("1", &one, false)]);
        for (text, expected) in [
            (document("2", &[("1", &one, false)]), "does not have its primary key \"2\""),
            (document("", &[]), "does not have its primary key \"\""),
            (document("1", &[("1", &one, true)]), "1 is distrusted"),
            (document("1", &[("1", &mixed, false)]), "belongs to another key"),
            (document("1", &[("1", &broken, false)]), "the certificate of its primary key 1 cannot be read"),
            (
                good.replace("privateMaterial: ", "privateMaterial: ?"),
                "private key of its primary key 1 is not a text",
            ),
            (good.replace("publicMaterial", "material"), "1 has no certificate"),
            (good.replace("kind: Keyset", "kind: Secret"), "not a document of kind Keyset"),
            (good.replace("  keys:\n", "  keys: secret words\n  other:\n"), "not a document of kind Keyset"),
        ] {
            let error = Keyset::parse(&text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
            assert!(!error.contains("secret words"), "{error}");
        }
    }
}
