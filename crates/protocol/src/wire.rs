//! Values on the wire: encoded once from the engine's type, and kept as bytes until the value is needed.

mod decode;
mod encode;

use prost::bytes::{Buf, BufMut, Bytes};
use prost::encoding::{self, DecodeContext, WireType};
use prost::{DecodeError, Message};
use slipway_resource::Value;

use crate::convert::Malformed;
use crate::generated as proto;

/// The numbers of the fields of `Value` and of what is in it.
mod field {
    pub(super) const BOOL: u32 = 1;
    pub(super) const INTEGER: u32 = 2;
    pub(super) const FLOAT: u32 = 3;
    pub(super) const STRING: u32 = 4;
    pub(super) const LIST: u32 = 5;
    pub(super) const MAP: u32 = 6;
    pub(super) const UNKNOWN: u32 = 7;
    pub(super) const REFERENCE: u32 = 8;
    pub(super) const TEMPLATE: u32 = 9;
    pub(super) const SECRET: u32 = 10;
    /// The field of a list.
    pub(super) const ITEMS: u32 = 1;
    /// The field of a map.
    pub(super) const ENTRIES: u32 = 1;
    /// A field of an entry.
    pub(super) const KEY: u32 = 1;
    /// A field of an entry.
    pub(super) const VALUE: u32 = 2;
}

/// Maximum number of bytes before the content of a field: its number and its length.
const HEADER: usize = 10;

/// One message `Value` of the contract, as its bytes. The encoding is unique, so equal bytes are equal
/// values.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct WireValue(Vec<u8>);

impl WireValue {
    /// A value without the texts of its secrets.
    #[must_use]
    pub fn new(value: &Value) -> Self {
        Self(encode::value(value, false))
    }

    /// A value with the texts of its secrets, for the calls that need them.
    #[must_use]
    pub fn with_texts(value: &Value) -> Self {
        Self(encode::value(value, true))
    }

    /// The value.
    ///
    /// # Errors
    /// When the bytes are not a value, or a reference in it is invalid.
    pub fn value(&self) -> Result<Value, Malformed> {
        decode::value(&self.0)
    }
}

impl Message for WireValue {
    fn encode_raw(&self, buffer: &mut impl BufMut) {
        buffer.put_slice(&self.0);
    }

    fn encoded_len(&self) -> usize {
        self.0.len()
    }

    /// Keeps a field as it came. It is decoded when the value is needed.
    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buffer: &mut impl Buf,
        context: DecodeContext,
    ) -> Result<(), DecodeError> {
        match wire_type {
            WireType::LengthDelimited => {
                let mut bytes = Bytes::new();
                encoding::bytes::merge(wire_type, &mut bytes, buffer, context)?;
                self.0.reserve_exact(bytes.len() + HEADER);
                encode::header(tag, bytes.len(), &mut self.0);
                self.0.extend_from_slice(&bytes);
            }
            WireType::Varint => {
                let mut number = 0;
                encoding::uint64::merge(wire_type, &mut number, buffer, context)?;
                encoding::uint64::encode(tag, &number, &mut self.0);
            }
            WireType::SixtyFourBit => {
                let mut number = 0;
                encoding::fixed64::merge(wire_type, &mut number, buffer, context)?;
                encoding::fixed64::encode(tag, &number, &mut self.0);
            }
            // No kind of value has this form: it belongs to a later contract.
            _ => encoding::skip_field(wire_type, tag, buffer, context)?,
        }
        Ok(())
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}

impl std::fmt::Debug for WireValue {
    /// The bytes are left out: they may contain secrets.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "WireValue({} bytes)", self.0.len())
    }
}

impl std::fmt::Debug for proto::WrapKeyRequest {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { session, key, scope, plain: _ } = self;
        let mut shown = formatter.debug_struct("WrapKeyRequest");
        shown.field("session", session).field("key", key).field("scope", scope).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for proto::UnwrapKeyResponse {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("UnwrapKeyResponse").field("error", &self.error).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for proto::BootstrapCredentialResponse {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("BootstrapCredentialResponse");
        shown.field("error", &self.error).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for proto::VerifyNodeRequest {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { session, challenge, cluster, credential: _ } = self;
        let mut shown = formatter.debug_struct("VerifyNodeRequest");
        shown.field("session", session).field("challenge", challenge).field("cluster", cluster);
        shown.finish_non_exhaustive()
    }
}

impl std::fmt::Debug for proto::Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Secret").field("source", &self.source).finish_non_exhaustive()
    }
}
