//! Secrets that another tool has made.

use slipway_resource::{Address, ClusterUid, ErrorClass, Identity, ProviderError, SecretText, Token, Value};

use crate::content::Content;
use crate::kind;
use crate::vault::Vault;

/// A key as it was found on a node: made by another tool, or by a state that is lost.
#[derive(Clone, Debug)]
pub struct Found {
    /// The private key; of an encryption key the text of the configuration that has it.
    pub private_key_pem: SecretText,
    /// The certificate of an authority.
    pub certificate_pem: Option<String>,
}

impl Vault {
    /// The public attributes of an offered secret, as desired; `None` when nothing was offered.
    pub(crate) fn offered(
        &self,
        address: &Address,
        desired: &Value,
    ) -> Result<Option<(Value, crate::content::Fields)>, ProviderError> {
        let (Some(found), Some(kind)) = (self.offered.get(address), kind::of(address)) else {
            return Ok(None);
        };
        let (mut attributes, fields) = kind.found(desired, found).map_err(|text| {
            ProviderError::new(ErrorClass::Invalid, format!("{address} {text}")).with_address(address)
        })?;
        let field =
            |name: &str| fields.iter().find(|(field, _)| *field == name).map(|(_, text)| text.to_string());
        kind.with_fingerprint(&mut attributes, &field);
        Ok(Some((attributes, fields)))
    }

    /// The public attributes of an offered secret, with its fingerprint; `None` when nothing was offered.
    ///
    /// # Errors
    /// When it does not match the desired secret.
    pub fn shown(&self, address: &Address, desired: &Value) -> Result<Option<Value>, ProviderError> {
        Ok(self.offered(address, desired)?.map(|(attributes, _)| attributes))
    }

    /// Stores an offered secret under the hold.
    ///
    /// # Errors
    /// `not-found` when nothing was offered; when it cannot be read or stored.
    pub async fn keep(
        &self,
        uid: &ClusterUid,
        address: &Address,
        desired: &Value,
        token: Token,
    ) -> Result<Identity, ProviderError> {
        let missing = || ProviderError::new(ErrorClass::NotFound, format!("{address} was found nowhere"));
        let (attributes, fields) = self.offered(address, desired)?.ok_or_else(missing)?;
        let content = Content::new(address.clone(), token, attributes, fields);
        Ok(self.put(uid, content).await?.0)
    }
}
