//! Ending the journal of an epoch that was taken over.

use super::segment::{self, Place, Seal, Segment};
use crate::backend;
use crate::error::Result;
use crate::head::JournalStart;
use crate::layout;
use crate::name::{ClusterName, Sequence};
use crate::write::{Outcome, Writer};

/// Seals the epoch that `start` is in. The old holder may still append while this happens: its segments count until the
/// seal takes a sequence first. An epoch that was sealed before stays as it is.
///
/// Epochs are sealed in their order, so that what follows an unsealed epoch is always empty.
pub(crate) async fn seal(
    writer: &Writer,
    cluster: &ClusterName,
    start: JournalStart,
    seal: &Seal,
) -> Result<()> {
    let JournalStart { epoch, .. } = start;
    let mut end = last(writer, cluster, start).await?;
    loop {
        let (sequence, previous) = match &end {
            Some((_, segment)) if segment.seal.is_some() => return Ok(()),
            Some((sequence, segment)) => (sequence.next(), Some(segment.digest)),
            None => (start.sequence, start.previous),
        };
        let key = layout::segment(cluster, epoch, sequence);
        let bytes = segment::encode_seal(Place { epoch, sequence, previous }, seal.clone())?;
        match writer.put(&key, &bytes, None).await? {
            Outcome::Written(_) => return Ok(()),
            Outcome::Taken { bytes, .. } => {
                end = Some((sequence, segment::decode(&key, epoch, sequence, &bytes)?));
            }
        }
    }
}

/// The last segment of an epoch that is not before `start`.
async fn last(
    writer: &Writer,
    cluster: &ClusterName,
    start: JournalStart,
) -> Result<Option<(Sequence, Segment)>> {
    let keys = writer.backend.list(&layout::journal(cluster, start.epoch)).await?;
    let Some(key) = keys.last() else {
        return Ok(None);
    };
    let sequence = layout::sequence(key).ok_or_else(|| backend::Error::corrupt(key, "it is no segment"))?;
    if sequence < start.sequence {
        return Ok(None);
    }
    match writer.get(key).await? {
        Some((bytes, _)) => Ok(Some((sequence, segment::decode(key, start.epoch, sequence, &bytes)?))),
        None => Err(backend::Error::NotFound { key: key.to_string() }.into()),
    }
}
