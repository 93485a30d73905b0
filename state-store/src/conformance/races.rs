//! The rules for concurrent callers.

use std::sync::Arc;

use bytes::Bytes;
use tokio::task::JoinSet;

use super::{Failure, Result, Room, expect, expect_same};
use crate::backend::{self, Backend, Error, Key, Tag};

/// The size of a race.
#[derive(Clone, Copy, Debug)]
pub(super) struct Race {
    /// Number of concurrent writers.
    pub writers: u64,
    /// Number of writes of each.
    pub times: u64,
}

/// Maximum number of retries of a writer before the rule fails.
const PATIENCE: u32 = 200;

/// Exactly one of many creates succeeds, and its bytes are stored.
pub(super) async fn create(room: &Room, race: Race) -> Result {
    for round in 0..race.times {
        let key = room.key(&format!("race/{round}"))?;
        let mut writers = JoinSet::new();
        for writer in 0..race.writers {
            let (backend, key) = (room.backend.clone(), key.clone());
            writers.spawn(async move {
                let bytes = Bytes::from(format!("writer {writer}"));
                (bytes.clone(), create_patiently(&*backend, &key, bytes).await)
            });
        }
        let mut winners = Vec::new();
        for (bytes, result) in writers.join_all().await {
            match result {
                Ok(tag) => winners.push((bytes, tag)),
                Err(Error::AlreadyExists { .. }) => {}
                Err(error) => expect("one of many creates wins, the others find it taken", Err(error))?,
            }
        }
        let stored: Vec<_> = room.get(&key).await?.into_iter().collect();
        expect_same("exactly one of many creates wins, and its bytes are stored", winners, stored)?;
    }
    Ok(())
}

/// Some stores refuse concurrent requests (S3 with 409): nothing happened, and the writers retry.
async fn create_patiently(backend: &dyn Backend, key: &Key, bytes: Bytes) -> backend::Result<Tag> {
    let mut times = 0;
    loop {
        match backend.create(key, bytes.clone()).await {
            Err(Error::Transient { .. }) if times < PATIENCE => times += 1,
            result => return result,
        }
    }
}

/// No update of concurrent writers is lost.
pub(super) async fn update(room: &Room, race: Race) -> Result {
    let key = room.key("counter")?;
    room.create(&key, b"0").await?;
    let mut writers = JoinSet::new();
    for _ in 0..race.writers {
        let (backend, key) = (room.backend.clone(), key.clone());
        writers.spawn(async move { increment(&backend, &key, race.times).await });
    }
    for result in writers.join_all().await {
        result?;
    }
    let stored = room.get(&key).await?.map(|(bytes, _)| bytes);
    let wanted = Bytes::from((race.writers * race.times).to_string());
    expect_same("no update of many is lost", stored, Some(wanted))
}

/// Increments the decimal number that is stored under `key`, `times` times, against concurrent writers.
///
/// # Errors
/// When the backend fails with another error than a conflict, or the stored value is not a number.
pub async fn increment(backend: &Arc<dyn Backend>, key: &Key, times: u64) -> Result {
    let rule = "an update either replaces what was read, or finds a conflict";
    let (mut left, mut patience) = (times, PATIENCE);
    while left > 0 {
        let stored = expect(rule, backend.get(key).await)?;
        let number = stored.and_then(|(bytes, tag)| {
            let number: u64 = std::str::from_utf8(&bytes).ok()?.parse().ok()?;
            Some((number, tag))
        });
        let (number, tag) =
            number.ok_or_else(|| Failure::new(rule, "what is stored is not a number".into()))?;
        match backend.update(key, Bytes::from((number + 1).to_string()), &tag).await {
            Ok(_) => left -= 1,
            Err(Error::Conflict { .. }) => {}
            Err(Error::Transient { .. }) if patience > 0 => patience -= 1,
            Err(error) => expect(rule, Err(error))?,
        }
    }
    Ok(())
}
