//! The encrypted content of one secret resource.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use slipway_resource::{Address, Token, Value};
use zeroize::{Zeroize as _, Zeroizing};

use crate::kind;

/// The form that is written.
const FORMAT: u32 = 1;

/// A secret resource: its public attributes and its secret fields.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Content {
    format: u32,
    /// The resource that it is.
    pub address: Address,
    /// The token of the step that made it.
    pub token: Token,
    /// Its attributes, none of them secret.
    pub attributes: Value,
    /// Its secret fields by name.
    fields: BTreeMap<String, String>,
}

impl Content {
    pub fn new(address: Address, token: Token, attributes: Value, fields: Fields) -> Self {
        let fields = fields.into_iter().map(|(name, text)| (name.to_owned(), text.to_string())).collect();
        Self { format: FORMAT, address, token, attributes, fields }
    }

    /// The same secret with other public attributes.
    pub fn with_attributes(&self, attributes: Value) -> Self {
        let Self { format, address, token, attributes: _, fields } = self;
        let (address, token, fields) = (address.clone(), token.clone(), fields.clone());
        Self { format: *format, address, token, attributes, fields }
    }

    /// The text of a field.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(String::as_str)
    }

    /// Adds the public fingerprint of what nothing can make again to the attributes.
    pub fn tell_fingerprint(&mut self) {
        let Some(kind) = kind::of(&self.address) else { return };
        let mut attributes = std::mem::take(&mut self.attributes);
        kind.with_fingerprint(&mut attributes, &|name| self.field(name).map(str::to_owned));
        self.attributes = attributes;
    }

    pub fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>, String> {
        serde_json::to_vec(self).map(Zeroizing::new).map_err(|error| error.to_string())
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let content: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if content.format > FORMAT {
            return Err(format!("it has the form {}, and this Slipway reads up to {FORMAT}", content.format));
        }
        Ok(content)
    }
}

impl Drop for Content {
    fn drop(&mut self) {
        self.fields.values_mut().for_each(|text| text.zeroize());
    }
}

/// Secret fields by name, as they are made.
pub(crate) type Fields = Vec<(&'static str, Zeroizing<String>)>;
