//! Answers in pages.

use futures_util::stream::{self, BoxStream, StreamExt};
use prost::Message;
use slipway_protocol::PAGE_BYTES;
use tonic::{Response, Status};

/// A stream of answers.
pub(crate) type Answers<M> = BoxStream<'static, Result<M, Status>>;

/// Cuts items into pages of about one MiB; none for no items.
pub(crate) fn pages<M: Message>(items: Vec<M>) -> Vec<Vec<M>> {
    let mut pages = Vec::new();
    let mut page = Vec::new();
    let mut bytes = 0;
    for item in items {
        bytes += item.encoded_len();
        page.push(item);
        if bytes >= PAGE_BYTES {
            pages.push(std::mem::take(&mut page));
            bytes = 0;
        }
    }
    if !page.is_empty() {
        pages.push(page);
    }
    pages
}

/// A response of these messages.
pub(crate) fn answers<M: Send + 'static>(messages: Vec<M>) -> Response<Answers<M>> {
    Response::new(stream::iter(messages.into_iter().map(Ok)).boxed())
}

#[cfg(test)]
mod tests {
    use slipway_protocol::generated::ReadItem;

    use super::*;

    #[test]
    fn a_page_ends_at_one_mebibyte() {
        let item = ReadItem { address: String::new(), identity: "x".repeat(600 << 10) };
        let sizes: Vec<usize> = pages(vec![item; 5]).iter().map(Vec::len).collect();
        assert_eq!(sizes, [2, 2, 1]);
        assert!(pages(Vec::<ReadItem>::new()).is_empty());
    }
}
