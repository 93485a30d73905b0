//! Cutting long lists into calls that the provider and the message limit allow.

use std::iter::Peekable;

use prost::Message;
use slipway_resource::{ErrorClass, ProviderError};

use crate::{Life, MESSAGE_LIMIT, PAGE_BYTES};

/// The part of a message for its own fields beside the content.
const MARGIN: usize = 4096;

/// Items with their messages, in batches of at most `batch` items and [`PAGE_BYTES`], unless a single item is
/// larger. Each batch is made when it is needed, so that a sent batch is freed before the next one.
pub(super) struct Batches<'a, I: Iterator> {
    items: Peekable<I>,
    batch: usize,
    life: &'a Life,
}

impl<'a, T, M, I: Iterator<Item = (T, M)>> Batches<'a, I> {
    pub(super) fn new(items: I, batch: u32, life: &'a Life) -> Self {
        let batch = usize::try_from(batch.max(1)).unwrap_or(usize::MAX);
        Self { items: items.peekable(), batch, life }
    }
}

impl<T, M: Message, I: Iterator<Item = (T, M)>> Iterator for Batches<'_, I> {
    type Item = Result<(Vec<T>, Vec<M>), ProviderError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (mut items, mut messages) = (Vec::new(), Vec::new());
        let mut bytes = 0;
        while messages.len() < self.batch
            && let Some((_, message)) = self.items.peek()
        {
            match fitting(message, self.life) {
                Ok(length) => bytes += length,
                Err(error) => return Some(Err(error)),
            }
            if bytes > PAGE_BYTES && !messages.is_empty() {
                break;
            }
            if let Some((item, message)) = self.items.next() {
                items.push(item);
                messages.push(message);
            }
        }
        (!messages.is_empty()).then_some(Ok((items, messages)))
    }
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
        let sizes = |items: Vec<ReadItem>, batch| -> Result<Vec<usize>, ProviderError> {
            let batches = Batches::new(items.into_iter().map(|item| ((), item)), batch, &life);
            batches.map(|batch| batch.map(|(_, messages)| messages.len())).collect()
        };
        assert_eq!(sizes(vec![item(1); 5], 2).unwrap(), [2, 2, 1]);
        assert_eq!(sizes(vec![item(1); 2], 0).unwrap(), [1, 1]);
        assert_eq!(sizes(vec![item(100 << 10); 3], 10).unwrap(), [1, 1, 1]);
        assert_eq!(sizes(Vec::new(), 10).unwrap(), Vec::<usize>::new());
        let error = sizes(vec![item(64 << 20)], 10).unwrap_err();
        assert_eq!(error.class, ErrorClass::Invalid);
    }
}
