//! An object of AWS, and the replies to the calls that read it, as text.
//!
//! The first line has the type and the identity of the object. A reply begins with a line `> CALL STATUS`, followed by lines
//! `name: value` for its headers, an empty line, and its body. CALL is the name of the call in the API; calls without a name
//! have their method and a part of their path, as `GET-hostedzone-rrset` and `HEAD-object`.

use std::collections::BTreeMap;

/// The beginning of a reply.
const REPLY: &[u8] = b"\n> ";

/// The end of the headers of a reply.
const BODY: &[u8] = b"\n\n";

/// An object, and the replies to the calls that read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recording {
    /// The type of the object.
    pub kind: String,
    /// The identity of the object.
    pub identity: String,
    /// The replies to each call, in their order.
    pub replies: BTreeMap<String, Vec<Reply>>,
}

/// A reply to a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reply {
    /// The status of HTTP.
    pub status: u16,
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Recording {
    /// Reads a recording; `None` when an object or the beginning of a reply is not valid.
    pub(crate) fn parse(input: &[u8]) -> Option<Self> {
        let mut parts = split(input, REPLY).into_iter();
        let (kind, identity) = std::str::from_utf8(parts.next()?).ok()?.trim().split_once(' ')?;
        let mut replies: BTreeMap<String, Vec<Reply>> = BTreeMap::new();
        for part in parts {
            let (head, body) = match find(part, BODY) {
                Some(end) => (part.get(..end)?, part.get(end + BODY.len()..)?),
                None => (part, &[][..]),
            };
            let mut lines = std::str::from_utf8(head).ok()?.lines();
            let (call, status) = lines.next()?.split_once(' ')?;
            let headers = lines.filter_map(|line| line.split_once(": "));
            let reply = Reply {
                status: status.trim().parse().ok()?,
                headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
                body: body.to_vec(),
            };
            replies.entry(call.to_owned()).or_default().push(reply);
        }
        Some(Self { kind: kind.to_owned(), identity: identity.to_owned(), replies })
    }
}

/// The place of a mark.
fn find(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    bytes.windows(mark.len()).position(|window| window == mark)
}

/// The parts between marks.
fn split<'a>(mut rest: &'a [u8], mark: &[u8]) -> Vec<&'a [u8]> {
    let mut parts = Vec::new();
    while let Some(at) = find(rest, mark) {
        let (part, tail) = rest.split_at(at);
        parts.push(part);
        rest = tail.get(mark.len()..).unwrap_or_default();
    }
    parts.push(rest);
    parts
}
