//! The format of one journal object: a header line, then one line of JSON per record.

use bytes::{BufMut, Bytes, BytesMut};
use serde::{Deserialize, Serialize};

use crate::backend::{self, Key};
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::head::check_format;
use crate::name::{Epoch, Sequence};

/// The newest supported format of a segment, and the written one. Since format 2, the end of a step may name
/// the node of the machine that the step started. Since format 3, a step may cordon or uncordon a node.
pub const FORMAT: u32 = 3;

/// The first line of a segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Header {
    format: u32,
    epoch: Epoch,
    sequence: Sequence,
    /// Random: two writers never write the same bytes.
    nonce: String,
    count: usize,
    /// The digest of all bytes after this line.
    digest: Digest,
    /// The digest of the segment before this in the same epoch.
    previous: Option<Digest>,
    /// Ends the epoch; such a segment has no records.
    seal: Option<Seal>,
}

/// Ends an epoch's journal.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Seal {
    /// The epoch that follows.
    pub(crate) by: Epoch,
    /// The holder of that epoch.
    pub(crate) who: String,
}

/// The place of a segment, and its predecessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub(crate) epoch: Epoch,
    pub(crate) sequence: Sequence,
    pub(crate) previous: Option<Digest>,
}

/// A segment that was read and checked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Segment {
    pub(crate) previous: Option<Digest>,
    pub(crate) seal: Option<Seal>,
    pub(crate) records: Vec<Bytes>,
    /// The digest of the whole segment.
    pub(crate) digest: Digest,
}

/// Writes a segment of records.
pub(crate) fn encode<'a>(place: Place, records: impl IntoIterator<Item = &'a [u8]>) -> Result<Bytes> {
    let (mut body, mut count) = (BytesMut::new(), 0);
    for record in records {
        body.put_slice(record);
        body.put_u8(b'\n');
        count += 1;
    }
    assemble(place, count, &body, None)
}

/// Writes the segment that ends an epoch.
pub(crate) fn encode_seal(place: Place, seal: Seal) -> Result<Bytes> {
    assemble(place, 0, &[], Some(seal))
}

fn assemble(place: Place, count: usize, body: &[u8], seal: Option<Seal>) -> Result<Bytes> {
    let Place { epoch, sequence, previous } = place;
    let nonce = crate::random::hex()?;
    let digest = Digest::of(body);
    let header = Header { format: FORMAT, epoch, sequence, nonce, count, digest, previous, seal };
    let mut bytes = serde_json::to_vec(&header)
        .map_err(|error| backend::Error::corrupt(format_args!("segment {sequence}"), error))?;
    bytes.reserve_exact(body.len() + 1);
    bytes.push(b'\n');
    bytes.extend_from_slice(body);
    Ok(Bytes::from(bytes))
}

/// Reads a segment, and checks that it is complete and belongs to this place.
pub(crate) fn decode(key: &Key, epoch: Epoch, sequence: Sequence, bytes: &Bytes) -> Result<Segment> {
    let corrupt = |reason: &str| Error::from(backend::Error::corrupt(key, reason));
    let end = bytes.iter().position(|byte| *byte == b'\n').ok_or_else(|| corrupt("it has no header"))?;
    let line = bytes.slice(..end);
    check_format(key, &line, FORMAT)?;
    let header: Header =
        serde_json::from_slice(&line).map_err(|error| backend::Error::corrupt(key, error))?;
    let body = bytes.slice(end + 1..);
    if (header.epoch, header.sequence) != (epoch, sequence) {
        return Err(corrupt(&format!("it is segment {} of epoch {}", header.sequence, header.epoch)));
    }
    if Digest::of(&body) != header.digest {
        return Err(corrupt("its digest does not match"));
    }
    let mut records = Vec::with_capacity(header.count.min(body.len()));
    let mut rest = body;
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        records.push(rest.split_to(end));
        rest = rest.slice(1..);
    }
    if !rest.is_empty() || records.len() != header.count || (header.seal.is_some() && header.count != 0) {
        return Err(corrupt("its records do not match its header"));
    }
    Ok(Segment { previous: header.previous, seal: header.seal, records, digest: Digest::of(bytes) })
}

/// Refuses records that are not one JSON value on one line.
pub(crate) fn check(records: &[Vec<u8>]) -> Result<()> {
    let fits = |record: &Vec<u8>| {
        !record.contains(&b'\n') && serde_json::from_slice::<serde::de::IgnoredAny>(record).is_ok()
    };
    match records.iter().position(|record| !fits(record)) {
        Some(index) => Err(Error::InvalidRecord { index }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PLACE: Place = Place { epoch: Epoch(3), sequence: Sequence(4), previous: None };

    fn key() -> Key {
        Key::new("prod/journal/000000000003/000000000004").unwrap()
    }

    fn read(bytes: &Bytes) -> Result<Segment> {
        decode(&key(), Epoch(3), Sequence(4), bytes)
    }

    #[test]
    fn equal_records_never_make_equal_segments() {
        assert_ne!(encode(PLACE, [&b"1"[..]]).unwrap(), encode(PLACE, [&b"1"[..]]).unwrap());
    }

    #[test]
    fn a_segment_elsewhere_or_of_a_newer_format_is_refused() {
        let bytes = encode(PLACE, [&b"1"[..]]).unwrap();
        assert_eq!(decode(&key(), Epoch(3), Sequence(5), &bytes).unwrap_err().code(), "STATE0007");
        assert_eq!(decode(&key(), Epoch(2), Sequence(4), &bytes).unwrap_err().code(), "STATE0007");
        let newer = Bytes::from(format!("{{\"format\":{}}}\n", FORMAT + 1));
        assert_eq!(read(&newer).unwrap_err().code(), "STATE0015");
    }

    #[test]
    fn records_are_single_json_lines() {
        assert!(check(&[b"{\"a\":[1]}".to_vec(), b"null".to_vec()]).is_ok());
        for bad in [&b""[..], b"{", b"1 2", b"{\"a\":\n1}", b"\xff"] {
            let error = check(&[b"1".to_vec(), bad.to_vec()]).unwrap_err();
            assert!(matches!(error, Error::InvalidRecord { index: 1 }), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_was_written(values in prop::collection::vec(any::<String>(), 0..20)) {
            let records: Vec<Vec<u8>> = values.iter().map(|value| serde_json::to_vec(value).unwrap()).collect();
            let bytes = encode(PLACE, records.iter().map(Vec::as_slice)).unwrap();
            prop_assert_eq!(read(&bytes).unwrap().records, records);
        }

        #[test]
        fn damage_is_noticed(at in any::<prop::sample::Index>(), flip in 1_u8..) {
            let bytes = encode(PLACE, [&b"{\"begin\":1}"[..], b"{\"end\":1}"]).unwrap();
            let mut damaged = bytes.to_vec();
            let at = at.index(damaged.len());
            damaged[at] ^= flip;
            // A changed nonce or link does not show in the segment itself: its digest differs from the one in
            // the next segment.
            if let Ok(segment) = read(&Bytes::from(damaged)) {
                prop_assert_ne!(segment.digest, Digest::of(&bytes));
                prop_assert_eq!(segment.records, read(&bytes).unwrap().records);
            }
            prop_assert!(read(&bytes.slice(..at)).is_err());
        }
    }
}
