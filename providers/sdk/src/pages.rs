//! Answers in pages.

use futures_util::stream::{self, BoxStream, StreamExt};
use prost::Message;
use slipway_protocol::PAGE_BYTES;
use tonic::{Response, Status};

/// A stream of answers.
pub(crate) type Answers<M> = BoxStream<'static, Result<M, Status>>;

/// The messages of an answer, each made when the one before is on its way, so that a long answer needs the
/// memory of one page.
pub(crate) type Messages<M> = Box<dyn Iterator<Item = M> + Send>;

/// Items in pages of about [`PAGE_BYTES`]; none for no items.
pub(crate) struct Pages<I>(I);

/// Cuts items into pages.
pub(crate) fn pages<I: IntoIterator<Item: Message>>(items: I) -> Pages<I::IntoIter> {
    Pages(items.into_iter())
}

impl<I: Iterator<Item: Message>> Iterator for Pages<I> {
    type Item = Vec<I::Item>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut page = Vec::new();
        let mut bytes = 0;
        while bytes < PAGE_BYTES
            && let Some(item) = self.0.next()
        {
            bytes += item.encoded_len();
            page.push(item);
        }
        (!page.is_empty()).then_some(page)
    }
}

/// A response of these messages.
pub(crate) fn answers<M: Send + 'static>(messages: Messages<M>) -> Response<Answers<M>> {
    Response::new(stream::iter(messages.map(Ok)).boxed())
}

#[cfg(test)]
mod tests {
    use slipway_protocol::generated::ReadItem;

    use super::*;

    #[test]
    fn a_page_ends_when_it_is_full() {
        let item = ReadItem { address: String::new(), identity: "x".repeat(75 << 10) };
        let sizes: Vec<usize> = pages(vec![item; 5]).map(|page| page.len()).collect();
        assert_eq!(sizes, [2, 2, 1]);
        assert!(pages(Vec::<ReadItem>::new()).next().is_none());
    }
}
