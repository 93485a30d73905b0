//! The types of secrets: their fields and outputs.

mod cross_certificate;
mod encryption_configuration;
mod encryption_key;
mod keypair;
mod token;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use slipway_bootstrap::material::FINGERPRINT;
use slipway_resource::schema::{Durations, Irreplaceable, OwnershipKind};
use slipway_resource::{Address, Attribute, Mode, Path, ResourceType, Type, Value};
use zeroize::Zeroizing;

use crate::content::Fields;
use crate::found::Found;
use crate::provider::RATE_CLASS;
use crate::readers::{self, SEALED_FOR};

/// A private key, with the certificate of an authority on request.
pub const KEYPAIR: &str = "keypair";

/// A bearer token: a text that authenticates its holder.
pub const TOKEN: &str = "token";

/// A key for data.
pub const ENCRYPTION_KEY: &str = "encryption_key";

/// A configuration of an API server with several keys for data.
pub const ENCRYPTION_CONFIGURATION: &str = "encryption_configuration";

/// The certificate of a new authority, signed by the one before it.
pub const CROSS_CERTIFICATE: &str = "cross_certificate";

type Make = fn(&Value) -> Result<(Value, Fields), String>;

/// One type.
pub(crate) struct Kind {
    name: &'static str,
    resource: ResourceType,
    make: Make,
    /// The public fingerprint of a secret, from its public attributes and its fields; `None` for a type whose
    /// secrets can be made again.
    fingerprint: Option<Fingerprint>,
}

type Fingerprint = fn(&Value, &dyn Fn(&str) -> Option<String>) -> Option<String>;

static KINDS: LazyLock<[Kind; 5]> = LazyLock::new(|| {
    [
        cross_certificate::kind(),
        encryption_configuration::kind(),
        encryption_key::kind(),
        keypair::kind(),
        token::kind(),
    ]
});

/// The type of an address.
pub(crate) fn of(address: &Address) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == address.kind())
}

/// All types by name.
pub(crate) fn types() -> BTreeMap<String, ResourceType> {
    KINDS.iter().map(|kind| (kind.name.to_owned(), kind.resource.clone())).collect()
}

impl Kind {
    fn new(name: &'static str, description: &str, attributes: Vec<(&str, Attribute)>, make: Make) -> Self {
        let attributes = attributes.into_iter().map(|(name, attribute)| (name.to_owned(), attribute));
        let resource = ResourceType {
            attributes: attributes.collect(),
            create_before_delete: true,
            durations: Durations { create_ms: 50, update_ms: 50, delete_ms: 50 },
            ..ResourceType::new(description, OwnershipKind::Tags, RATE_CLASS)
        };
        Self { name, resource, make, fingerprint: None }
    }

    /// Such a secret is irreplaceable: no plan replaces it, for this reason. Machines of a cloud may read it.
    fn irreplaceable(mut self, fingerprint: Fingerprint, refusal: &str) -> Self {
        self.resource.attributes.insert(SEALED_FOR.to_owned(), readers::attribute());
        let text = "The public fingerprint, by which copies of it are known: sha256: and hexadecimal digits.";
        let attribute = Attribute::computed(Type::String).describe(text);
        self.resource.attributes.insert(FINGERPRINT.to_owned(), attribute);
        self.resource.stateful = true;
        self.resource.irreplaceable =
            Some(Irreplaceable { fingerprint: FINGERPRINT.to_owned(), refusal: refusal.to_owned() });
        self.fingerprint = Some(fingerprint);
        self
    }

    /// Adds its fingerprint to the public attributes of a secret, and the name of a key for data.
    pub fn with_fingerprint(&self, attributes: &mut Value, field: &dyn Fn(&str) -> Option<String>) {
        if self.name == ENCRYPTION_KEY {
            let name = encryption_key::name_of(field("configuration").as_deref());
            attributes.set(&Path::key(encryption_key::KEY_NAME), name);
        }
        if let Some(fingerprint) = self.fingerprint.and_then(|of| of(attributes, field)) {
            attributes.set(&Path::key(FINGERPRINT), fingerprint.into());
        }
    }

    pub fn resource(&self) -> &ResourceType {
        &self.resource
    }

    /// Creates a secret. Returns its public attributes and its secret fields.
    pub fn make(&self, desired: &Value) -> Result<(Value, Fields), String> {
        (self.make)(&self.normalise(desired, None))
    }

    /// Takes over a secret of another tool. Returns its public attributes and its secret fields.
    pub fn found(&self, desired: &Value, found: &Found) -> Result<(Value, Fields), String> {
        let desired = self.normalise(desired, None);
        match self.name {
            KEYPAIR => keypair::found(&desired, found),
            ENCRYPTION_KEY => encryption_key::found(&desired, found),
            _ => Err("cannot be taken over".to_owned()),
        }
    }

    /// The desired attributes with defaults. Attributes that the creation sets keep their value, or are
    /// unknown.
    pub fn normalise(&self, desired: &Value, observed: Option<&Value>) -> Value {
        // Optional parts are absent unless they are requested.
        let is_bootstrap_token =
            desired.get("form").and_then(Value::as_str).is_none_or(|form| form == "bootstrap");
        let is_authority = desired.get("certificate_authority").is_some_and(|value| !value.is_null());
        let of_authority = ["certificate_pem", "certificate_base64", "pin", "not_after"];
        // Only a key in a configuration that lists keys has a name there.
        let is_named = desired
            .get("at_rest")
            .is_some_and(|settings| settings.get("provider").and_then(Value::as_str) != Some("kms"));
        let value = |(name, attribute): (&String, &Attribute)| {
            let value = match attribute.mode {
                Mode::Computed if !is_authority && of_authority.contains(&name.as_str()) => Value::Null,
                Mode::Computed if !is_named && name == encryption_key::KEY_NAME => Value::Null,
                Mode::Computed => {
                    observed.and_then(|observed| observed.get(name)).cloned().unwrap_or(Value::Unknown)
                }
                // Given values stay. Missing ones come from the creation.
                Mode::OptionalComputed if desired.get(name).is_none_or(Value::is_null) => {
                    let wanted = name != "token_id" || is_bootstrap_token;
                    match observed.and_then(|observed| observed.get(name)) {
                        Some(value) => value.clone(),
                        None if wanted => Value::Unknown,
                        None => Value::Null,
                    }
                }
                _ => match desired.get(name).filter(|value| !value.is_null()) {
                    Some(wanted) => with_defaults(attribute, wanted),
                    None => attribute.default.clone(),
                },
            };
            (name.clone(), value)
        };
        Value::map(self.resource.attributes.iter().map(value))
    }
}

/// A desired value with the defaults of the fields inside it.
fn with_defaults(attribute: &Attribute, wanted: &Value) -> Value {
    let (Type::Object(fields), Some(entries)) = (&attribute.kind, wanted.as_map()) else {
        return wanted.clone();
    };
    let mut entries = entries.clone();
    for (name, field) in fields {
        entries.entry(name.clone()).or_insert_with(|| field.default.clone());
    }
    Value::map(entries)
}

/// The attributes of a secret, with those that its creation set.
fn with_outputs<const N: usize>(desired: &Value, outputs: [(&str, Value); N]) -> Value {
    let mut entries = desired.as_map().cloned().unwrap_or_default();
    entries.retain(|_, value| !matches!(value, Value::Unknown | Value::Secret(_)));
    entries.extend(outputs.map(|(name, value)| (name.to_owned(), value)));
    Value::map(entries)
}

fn random<const N: usize>() -> Result<Zeroizing<[u8; N]>, String> {
    let mut bytes = Zeroizing::new([0; N]);
    aws_lc_rs::rand::fill(&mut *bytes)
        .map_err(|_| "cannot be: the system gives no random numbers".to_owned())?;
    Ok(bytes)
}

/// Random characters of an alphabet of at most 256.
fn random_text(alphabet: &[u8], length: usize) -> Result<Zeroizing<String>, String> {
    let mut text = Zeroizing::new(String::with_capacity(length));
    // Bytes beyond the last whole multiple of the alphabet are skipped, so that every character is equally
    // likely.
    let limit = 256 - 256 % alphabet.len().max(1);
    while text.len() < length {
        for byte in *random::<32>()? {
            let index = usize::from(byte);
            if index < limit && text.len() < length {
                text.push(char::from(alphabet[index % alphabet.len()]));
            }
        }
    }
    Ok(text)
}
