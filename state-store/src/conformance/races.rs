//! The rules for many callers at once.

use std::sync::Arc;

use bytes::Bytes;
use tokio::task::JoinSet;

use super::{Failure, Result, Room, expect, expect_same};
use crate::backend::{Backend, Error, Key};

/// How many write at once.
const WRITERS: u64 = 8;
/// How often each.
const TIMES: u64 = 12;

/// Exactly one of many creates wins, and what is stored is its bytes.
pub(super) async fn create(room: &Room) -> Result {
    for round in 0..TIMES {
        let key = room.key(&format!("race/{round}"))?;
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            let (backend, key) = (room.backend.clone(), key.clone());
            writers.spawn(async move {
                let bytes = Bytes::from(format!("writer {writer}"));
                (bytes.clone(), backend.create(&key, bytes).await)
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

/// No update of many is lost.
pub(super) async fn update(room: &Room) -> Result {
    let key = room.key("counter")?;
    room.create(&key, b"0").await?;
    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        let (backend, key) = (room.backend.clone(), key.clone());
        writers.spawn(async move { increment(&backend, &key, TIMES).await });
    }
    for result in writers.join_all().await {
        result?;
    }
    let stored = room.get(&key).await?.map(|(bytes, _)| bytes);
    let wanted = Bytes::from((WRITERS * TIMES).to_string());
    expect_same("no update of many is lost", stored, Some(wanted))
}

/// Counts the decimal number that is stored under `key` up by one, `times` times, against whoever else does it.
///
/// # Errors
/// When the backend fails in another way than by a conflict, or what is stored is no number.
pub async fn increment(backend: &Arc<dyn Backend>, key: &Key, times: u64) -> Result {
    let rule = "an update either replaces what was read, or finds a conflict";
    let mut left = times;
    while left > 0 {
        let stored = expect(rule, backend.get(key).await)?;
        let number = stored.and_then(|(bytes, tag)| {
            let number: u64 = std::str::from_utf8(&bytes).ok()?.parse().ok()?;
            Some((number, tag))
        });
        let (number, tag) =
            number.ok_or_else(|| Failure { rule, seen: "what is stored is no number".into() })?;
        match backend.update(key, Bytes::from((number + 1).to_string()), &tag).await {
            Ok(_) => left -= 1,
            Err(Error::Conflict { .. }) => {}
            Err(error) => expect(rule, Err(error))?,
        }
    }
    Ok(())
}
