//! Ending the journal of an epoch that was taken over.

use super::fence::Sealing;
use super::segment::{self, Seal, Segment};
use crate::backend;
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::head::JournalStart;
use crate::holder::Acquire;
use crate::layout;
use crate::name::{ClusterName, Sequence};
use crate::write::{Outcome, Writer};

/// Seals the epoch that `start` is in. The old holder may still append while this happens: its segments count until the
/// seal takes a sequence first. An epoch that was sealed before stays as it is. Where `acquire` says so, the seal is also written
/// behind a segment that cannot be read ([`Acquire::seals_behind`]).
pub(crate) async fn seal(
    writer: &Writer,
    cluster: &ClusterName,
    start: JournalStart,
    seal: &Seal,
    acquire: &Acquire,
) -> Result<()> {
    let last = last(writer, cluster, start, acquire).await?;
    let mut sealing = Sealing::new(start, last.as_ref().map(|(sequence, segment)| (*sequence, segment)));
    while let Some(place) = sealing.place() {
        let key = layout::segment(cluster, place.epoch, place.sequence);
        let bytes = segment::encode_seal(place, seal.clone())?;
        match writer.put(&key, &bytes, None).await? {
            Outcome::Written(_) => return Ok(()),
            Outcome::Taken { value, .. } => {
                sealing.taken(&segment::decode(&key, place.epoch, place.sequence, &value)?);
            }
        }
    }
    Ok(())
}

/// The last segment of an epoch that is not before `start`.
async fn last(
    writer: &Writer,
    cluster: &ClusterName,
    start: JournalStart,
    acquire: &Acquire,
) -> Result<Option<(Sequence, Segment)>> {
    let keys = writer.list(&layout::journal(cluster, start.epoch)).await?;
    let Some(key) = keys.last() else {
        return Ok(None);
    };
    let sequence =
        layout::sequence(key).ok_or_else(|| backend::Error::corrupt(key, "it is not a segment"))?;
    if sequence < start.sequence {
        return Ok(None);
    }
    let stored = match writer.get(key).await {
        Err(error) if acquire.seals_behind(&error) => return Ok(Some((sequence, unknown(b"")))),
        stored => stored?,
    };
    let Some((bytes, _)) = stored else {
        return Err(backend::Error::NotFound { key: key.to_string() }.into());
    };
    match segment::decode(key, start.epoch, sequence, &bytes) {
        Err(Error::Backend(error)) if acquire.seals_behind(&error) => Ok(Some((sequence, unknown(&bytes)))),
        segment => Ok(Some((sequence, segment?))),
    }
}

/// A segment of which nothing is known but its bytes: no seal as far as can be seen.
fn unknown(bytes: &[u8]) -> Segment {
    Segment { previous: None, seal: None, records: Vec::new(), digest: Digest::of(bytes) }
}
