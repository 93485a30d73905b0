//! Reads the journal since the last commit. The cost grows with the stored segments, never with the numbers in the head.

use futures_util::StreamExt;
use futures_util::stream;

use super::fence::{self, Epochs};
use super::segment;
use crate::backend::{self, Backend, Key};
use crate::error::{Error, Result};
use crate::head::Head;
use crate::layout;
use crate::name::Epoch;
use crate::state::Record;

/// Number of segments that are fetched at once.
const AT_ONCE: usize = 16;

/// Maximum number of epochs that are listed one by one. Beyond it, one listing of the whole journal is cheaper, although it shows
/// the seals before the last commit too.
const ONE_BY_ONE: u64 = 100;

/// The records since the last commit, in order.
///
/// # Errors
/// When a segment cannot be read, is missing or is damaged; when a seal shows that the head is an old one; when the head names
/// an epoch that the journal does not lead to.
pub(crate) async fn records(backend: &dyn Backend, head: &Head) -> Result<Vec<Record>> {
    let (start, cluster) = (head.journal_from, &head.cluster);
    let mut wanted = Vec::new();
    for (epoch, key) in listed(backend, head).await? {
        let sequence =
            layout::sequence(&key).ok_or_else(|| backend::Error::corrupt(&key, "it is not a segment"))?;
        if epoch > start.epoch || sequence >= start.sequence {
            wanted.push((epoch, sequence, key));
        }
    }
    let fetch = |(epoch, sequence, key): (Epoch, _, Key)| async move {
        let stored = backend.get(&key).await;
        (epoch, sequence, key, stored)
    };
    let mut fetched = stream::iter(wanted).map(fetch).buffered(AT_ONCE);
    let (mut records, mut epochs) = (Vec::new(), Epochs::new(start));
    while let Some((epoch, sequence, key, stored)) = fetched.next().await {
        let corrupt = |reason: &str| backend::Error::corrupt(&key, reason);
        let (bytes, _) = stored?.ok_or_else(|| corrupt("it was listed, and does not exist"))?;
        let segment = segment::decode(&key, epoch, sequence, &bytes)?;
        epochs.follow(epoch, sequence, &segment).map_err(|reason| corrupt(&reason))?;
        let is_later = segment.seal.as_ref().is_some_and(|seal| seal.by > head.epoch);
        if head.is_before_seals() && is_later {
            return Err(Error::replaced(head, &layout::segment(cluster, epoch, sequence)));
        }
        let record = |value| Record { epoch, sequence, value };
        records.extend(segment.records.into_iter().map(record));
    }
    Ok(records)
}

/// The keys of all segments from the epoch on in which the journal begins, with their epochs, in order.
///
/// No listing is of one moment, and holders seal the oldest epoch first. So the newest epoch with segments is found first: the
/// listings after that show the seals of all epochs before it.
async fn listed(backend: &dyn Backend, head: &Head) -> Result<Vec<(Epoch, Key)>> {
    let (first, last) = (head.journal_from.epoch, head.epoch);
    let mut keys = Vec::new();
    if last.0.saturating_sub(first.0) < ONE_BY_ONE {
        for epoch in (first.0..=last.0).rev().map(Epoch) {
            let listed = backend.list(&layout::journal(&head.cluster, epoch)).await?;
            keys.extend(listed.into_iter().rev().map(|key| (epoch, key)));
        }
        keys.reverse();
        return Ok(keys);
    }
    let newest = newest_of_all(backend, head).await?;
    refuse(head, newest)?;
    if let Some(newest) = newest {
        for key in backend.list(&layout::journals(&head.cluster)).await? {
            if let Some(epoch) = layout::epoch(&key).filter(|epoch| (first..=newest).contains(epoch)) {
                keys.push((epoch, key));
            }
        }
    }
    Ok(keys)
}

/// The newest epoch up to that of the head which has segments. Usually it is one of the last, and the search takes one or two
/// listings.
///
/// # Errors
/// When the store cannot be read.
pub(crate) async fn newest(backend: &dyn Backend, head: &Head) -> Result<Option<Epoch>> {
    let first = head.journal_from.epoch.0.max(head.epoch.0.saturating_sub(ONE_BY_ONE));
    for epoch in (first..=head.epoch.0).rev().map(Epoch) {
        if !backend.list(&layout::journal(&head.cluster, epoch)).await?.is_empty() {
            return Ok(Some(epoch));
        }
    }
    if first == head.journal_from.epoch.0 { Ok(None) } else { newest_of_all(backend, head).await }
}

async fn newest_of_all(backend: &dyn Backend, head: &Head) -> Result<Option<Epoch>> {
    Ok(all(backend, head).await?.last().copied())
}

/// Every epoch with segments, from that on in which the journal of a head begins, the oldest first. Takes one listing.
///
/// # Errors
/// When the store cannot be read.
pub(crate) async fn all(backend: &dyn Backend, head: &Head) -> Result<Vec<Epoch>> {
    let names = backend.list_children(&layout::journals(&head.cluster)).await?;
    let epochs = names.iter().filter_map(|name| layout::number(name)).map(Epoch);
    Ok(epochs.filter(|epoch| (head.journal_from.epoch..=head.epoch).contains(epoch)).collect())
}

/// Refuses a head whose epoch the journal does not lead to. Asks the store only when the epoch is far from the last commit.
///
/// # Errors
/// When the head is damaged, or the store cannot be read.
pub(crate) async fn refuse_unreached(backend: &dyn Backend, head: &Head) -> Result<()> {
    // Without the journal, the distance from the last commit counts.
    match fence::unreached(head, None) {
        Some(_) => refuse(head, newest_of_all(backend, head).await?),
        None => Ok(()),
    }
}

fn refuse(head: &Head, newest: Option<Epoch>) -> Result<()> {
    match fence::unreached(head, newest) {
        Some(reason) => Err(backend::Error::corrupt(layout::head(&head.cluster), reason).into()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use slipway_limits::count;

    use super::*;
    use crate::clock::SystemClock;
    use crate::head::JournalStart;
    use crate::head::protocol::tests::{claim, new_head};
    use crate::holder::{Acquire, HeadStands, Holder, head_stands};
    use crate::journal::segment::{Place, Seal};
    use crate::name::Sequence;
    use crate::process::Identity;
    use crate::{MemoryBackend, read, verify};

    /// A head without a holder, as of this epoch, and the commit before it in epoch 1.
    fn head(epoch: u64) -> Head {
        let head = new_head(&claim("ada"));
        Head { epoch: Epoch(epoch), holder: None, journal_from: JournalStart::of(Epoch(1)), ..head }
    }

    fn epochs(records: &[Record]) -> Vec<u64> {
        records.iter().map(|record| record.epoch.0).collect()
    }

    /// The seal of an epoch by the next one. The epoch has a record in front of it if it is asked for.
    async fn end(backend: &dyn Backend, head: &Head, epoch: Epoch, record: Option<&str>) {
        let mut place = Place { epoch, sequence: Sequence(0), previous: None };
        if let Some(record) = record {
            let bytes = segment::encode(place, [record.as_bytes()]).unwrap();
            let key = layout::segment(&head.cluster, epoch, place.sequence);
            place.previous = Some(segment::decode(&key, epoch, place.sequence, &bytes).unwrap().digest);
            place.sequence = place.sequence.next();
            backend.create(&key, bytes).await.unwrap();
        }
        let seal = Seal { by: epoch.next(), who: "ada@laptop".into() };
        let bytes = segment::encode_seal(place, seal).unwrap();
        let key = layout::segment(&head.cluster, epoch, place.sequence);
        backend.create(&key, bytes).await.unwrap();
    }

    async fn acquire(backend: &Arc<dyn Backend>, head: &Head) -> Result<Holder> {
        let acquire = Acquire::new(Identity::current("bob", "apply"));
        Holder::acquire(backend.clone(), &head.cluster, acquire, Arc::new(SystemClock)).await
    }

    #[tokio::test]
    async fn any_number_of_takeovers_without_a_commit_is_read_and_taken_over() {
        let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
        let last = count::EPOCHS + 10;
        let head = head(last);
        backend.create(&layout::head(&head.cluster), head.encode().unwrap()).await.unwrap();
        for epoch in 1..last {
            let record = [1, 2, last - 1].contains(&epoch).then(|| epoch.to_string());
            end(&*backend, &head, Epoch(epoch), record.as_deref()).await;
        }
        assert_eq!(head_stands(&*backend, &head.cluster).await.unwrap(), HeadStands::Whole);
        let seen = read(&*backend, &head.cluster).await.unwrap().unwrap();
        assert_eq!(epochs(&seen.records), [1, 2, last - 1]);

        let mut held = acquire(&backend, &head).await.unwrap();
        assert_eq!(held.epoch(), Epoch(last + 1));
        let sealed = backend.list(&layout::journal(&head.cluster, Epoch(last))).await.unwrap();
        assert_eq!(sealed.len(), 1, "the epoch before is sealed");
        held.append(vec![b"4".to_vec()]).await.unwrap();
        held.commit(b"state".to_vec(), crate::CommitMeta::default()).await.unwrap();
        held.release(None).await.unwrap();
        assert!(read(&*backend, &head.cluster).await.unwrap().unwrap().records.is_empty());
    }

    #[tokio::test]
    async fn an_epoch_that_the_journal_does_not_lead_to_is_damage_and_changes_nothing() {
        for epoch in [count::EPOCHS + 4, 1 << 39] {
            let memory = Arc::new(MemoryBackend::new());
            let backend: Arc<dyn Backend> = memory.clone();
            let head = head(epoch);
            let key = layout::head(&head.cluster);
            backend.create(&key, head.encode().unwrap()).await.unwrap();
            end(&*backend, &head, Epoch(1), Some("1")).await;
            end(&*backend, &head, Epoch(2), None).await;
            let before = memory.dump();
            assert_eq!(read(&*backend, &head.cluster).await.unwrap_err().code(), "STATE0007");
            assert_eq!(acquire(&backend, &head).await.unwrap_err().code(), "STATE0007");
            assert_eq!(head_stands(&*backend, &head.cluster).await.unwrap(), HeadStands::Damaged);
            let report = verify::verify(&*backend, &head.cluster).await.unwrap();
            let finding = report.findings.iter().find(|finding| finding.key == key.to_string());
            assert_eq!(finding.map(|finding| finding.mend), Some(verify::Mend::Rebuild), "{report:?}");
            assert_eq!(memory.dump(), before);
        }
    }

    #[tokio::test]
    async fn a_missing_seal_is_made_again_over_damage() {
        let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
        let head = head(5);
        backend.create(&layout::head(&head.cluster), head.encode().unwrap()).await.unwrap();
        for epoch in [1, 3, 4] {
            end(&*backend, &head, Epoch(epoch), None).await;
        }
        let over = Acquire::new(Identity::current("bob", "state rebuild")).over_damage();
        let held =
            Holder::acquire(backend.clone(), &head.cluster, over, Arc::new(SystemClock)).await.unwrap();
        for epoch in 1..=5 {
            let sealed = backend.list(&layout::journal(&head.cluster, Epoch(epoch))).await.unwrap();
            assert_eq!(sealed.len(), 1, "a holder of epoch {epoch} that wakes up finds its place taken");
        }
        held.release(None).await.unwrap();
    }

    #[tokio::test]
    async fn a_missing_seal_is_noticed_however_many_epochs_there_are() {
        for last in [5, ONE_BY_ONE + 5] {
            let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
            let head = head(last);
            backend.create(&layout::head(&head.cluster), head.encode().unwrap()).await.unwrap();
            for epoch in (1..last).filter(|epoch| *epoch != 3) {
                end(&*backend, &head, Epoch(epoch), None).await;
            }
            let error = read(&*backend, &head.cluster).await.unwrap_err().to_string();
            assert!(error.contains("epoch 4 has segments, and epoch 3 before it has no seal"), "{error}");
            end(&*backend, &head, Epoch(3), Some("3")).await;
            assert_eq!(read(&*backend, &head.cluster).await.unwrap().unwrap().records.len(), 1);
        }
    }
}
