//! A provider's key service.

use std::fmt;

use zeroize::Zeroizing;

/// Asks for a data key to be wrapped.
#[derive(Clone, PartialEq, Eq)]
pub struct WrapKeyRequest {
    /// The key of the service that wraps, by the service's name for it.
    pub key: String,
    /// The data key.
    pub plain: Zeroizing<Vec<u8>>,
    /// The purpose of the data key: the cluster's name. Unwrapping needs the same.
    pub scope: String,
}

/// Asks for a data key that was wrapped before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnwrapKeyRequest {
    /// The key of the service that has wrapped it.
    pub key: String,
    /// The wrapped key.
    pub wrapped: Vec<u8>,
    /// The purpose of the data key, as when it was wrapped.
    pub scope: String,
}

impl fmt::Debug for WrapKeyRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("WrapKeyRequest")
            .field("key", &self.key)
            .field("scope", &self.scope)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_key_is_not_shown() {
        let request = WrapKeyRequest {
            key: "k".to_owned(),
            plain: Zeroizing::new(b"plain".to_vec()),
            scope: "c".to_owned(),
        };
        let shown = format!("{request:?}");
        assert_eq!(shown, "WrapKeyRequest { key: \"k\", scope: \"c\", .. }");
    }
}
