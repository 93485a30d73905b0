//! Cutting long lists into calls that the provider and the message limit allow.

use prost::Message;
use slipway_resource::{ErrorClass, ProviderError};

use crate::{Life, MESSAGE_LIMIT};

/// How large the content of one call gets at most, in bytes, unless a single item is larger.
const CALL_BYTES: usize = 8 << 20;

/// What is left of a message for its own fields beside the content.
const MARGIN: usize = 4096;

/// Cuts items into batches of at most `batch` items and about eight MiB.
pub(super) fn batches<M: Message>(
    items: Vec<M>,
    batch: u32,
    life: &Life,
) -> Result<Vec<Vec<M>>, ProviderError> {
    let batch = usize::try_from(batch.max(1)).unwrap_or(usize::MAX);
    let mut batches = Vec::with_capacity(items.len().div_ceil(batch));
    let mut current = Vec::with_capacity(batch.min(items.len()));
    let mut bytes = 0;
    for item in items {
        let length = fitting(&item, life)?;
        if current.len() == batch || (bytes + length > CALL_BYTES && !current.is_empty()) {
            batches.push(std::mem::take(&mut current));
            bytes = 0;
        }
        bytes += length;
        current.push(item);
    }
    if !current.is_empty() {
        batches.push(current);
    }
    Ok(batches)
}

/// The length of a message, if it can be sent at all.
pub(super) fn fitting(message: &impl Message, life: &Life) -> Result<usize, ProviderError> {
    let length = message.encoded_len();
    if length > MESSAGE_LIMIT - MARGIN {
        return Err(ProviderError::new(
            ErrorClass::Invalid,
            format!(
                "provider {}: a request has {length} bytes; a message may have {MESSAGE_LIMIT}",
                life.name()
            ),
        )
        .with_hint("a single object is that large; move its data elsewhere and refer to it"));
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generated::ReadItem;

    #[test]
    fn a_batch_has_neither_too_many_items_nor_too_many_bytes() {
        let life = Life::unattended("x");
        let item = |length: usize| ReadItem { address: String::new(), identity: "x".repeat(length) };
        let sizes = |items: Vec<ReadItem>, batch| -> Vec<usize> {
            let batches = batches(items, batch, &life).unwrap();
            batches.iter().map(Vec::len).collect()
        };
        assert_eq!(sizes(vec![item(1); 5], 2), [2, 2, 1]);
        assert_eq!(sizes(vec![item(1); 2], 0), [1, 1]);
        assert_eq!(sizes(vec![item(5 << 20); 3], 10), [1, 1, 1]);
        assert_eq!(sizes(Vec::new(), 10), Vec::<usize>::new());
        let error = batches(vec![item(64 << 20)], 10, &life).unwrap_err();
        assert_eq!(error.class, ErrorClass::Invalid);
    }
}
