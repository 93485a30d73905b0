//! The rules for one caller at a time.

use bytes::Bytes;

use super::{Result, Room, expect, expect_same, expect_that};
use crate::backend::{Error, Key, Tag};

pub(super) async fn create(room: &Room) -> Result {
    let key = room.key("create")?;
    expect_same("what was never written is absent", room.get(&key).await?, None)?;
    let tag = room.create(&key, b"first").await?;
    let again = room.backend.create(&key, Bytes::from_static(b"second")).await;
    let is_refused = matches!(again, Err(Error::AlreadyExists { .. }));
    expect_that("a second create is refused with AlreadyExists", is_refused, again)?;
    let same = room.backend.create(&key, Bytes::from_static(b"first")).await;
    let is_refused = matches!(same, Err(Error::AlreadyExists { .. }));
    expect_that("a second create is refused also with the same bytes", is_refused, same)?;
    let stored = Some((Bytes::from_static(b"first"), tag));
    expect_same("reading gives the bytes and the tag of the write", room.get(&key).await?, stored)
}

pub(super) async fn update(room: &Room) -> Result {
    let (key, absent) = (room.key("update")?, room.key("absent")?);
    let first = room.create(&key, b"a").await?;
    let second = swap(room, &key, b"b", &first).await?;
    expect_that("each write has a tag of its own", first != second, &second)?;
    let late = room.backend.update(&key, Bytes::from_static(b"c"), &first).await;
    let is_refused = matches!(late, Err(Error::Conflict { .. }));
    expect_that("an update of an older version is refused with Conflict", is_refused, late)?;

    let third = swap(room, &key, b"a", &second).await?;
    let rule = "bytes that were there before make another version all the same";
    let back = room.backend.update(&key, Bytes::from_static(b"c"), &first).await;
    expect_that(rule, matches!(back, Err(Error::Conflict { .. })), back)?;
    let stored = Some((Bytes::from_static(b"a"), third.clone()));
    expect_same("a refused update changes nothing", room.get(&key).await?, stored)?;

    let nothing = room.backend.update(&absent, Bytes::from_static(b"c"), &third).await;
    let is_refused = matches!(nothing, Err(Error::NotFound { .. }));
    expect_that("an update of what is absent is refused with NotFound", is_refused, nothing)?;
    expect_same("a refused update makes nothing", room.get(&absent).await?, None)
}

async fn swap(room: &Room, key: &Key, bytes: &'static [u8], tag: &Tag) -> Result<Tag> {
    let updated = room.backend.update(key, Bytes::from_static(bytes), tag).await;
    expect("the version that was read can be replaced", updated)
}

pub(super) async fn contents(room: &Room) -> Result {
    let every_byte: Vec<u8> = (0..=255).collect();
    for (name, bytes) in
        [("empty", Vec::new()), ("bytes", every_byte.clone()), ("big", every_byte.repeat(8_192))]
    {
        let (key, bytes) = (room.key(name)?, Bytes::from(bytes));
        let tag = expect("any bytes can be stored", room.backend.create(&key, bytes.clone()).await)?;
        expect_same("any bytes are read as they were written", room.get(&key).await?, Some((bytes, tag)))?;
    }
    Ok(())
}

pub(super) async fn delete(room: &Room) -> Result {
    let key = room.key("delete")?;
    let rule = "deleting what is absent is no failure";
    expect(rule, room.backend.delete(&key).await)?;
    let tag = room.create(&key, b"a").await?;
    expect("an object can be deleted", room.backend.delete(&key).await)?;
    expect_same("what was deleted is absent", room.get(&key).await?, None)?;
    room.create(&key, b"a").await?;
    let late = room.backend.update(&key, Bytes::from_static(b"b"), &tag).await;
    let is_refused = matches!(late, Err(Error::Conflict { .. }));
    expect_that("what was deleted and made again is another version", is_refused, late)
}

/// A listing has exactly the objects of the earlier rules.
pub(super) async fn listed(room: &Room) -> Result {
    let rule = "a listing has what was written, right after it was";
    let listed = expect(rule, room.backend.list(&room.prefix("")?).await)?;
    let wanted = ["create", "delete", "update"].map(|name| room.key(name));
    expect_same(rule, listed, wanted.into_iter().collect::<Result<Vec<Key>>>()?)
}

pub(super) async fn list(room: &Room) -> Result {
    let names = ["list/a/2", "list/a/10", "list/a/1", "list/b", "list/a-/1", "list/c/d/e"];
    for name in names {
        room.create(&room.key(name)?, b"x").await?;
    }
    let listed = expect("a prefix can be listed", room.backend.list(&room.prefix("list")?).await)?;
    let mut wanted = names.map(|name| room.key(name)).into_iter().collect::<Result<Vec<Key>>>()?;
    wanted.sort();
    expect_same("a listing has every key below the prefix, sorted", listed, wanted)?;

    let below = expect("a prefix can be listed", room.backend.list(&room.prefix("list/a")?).await)?;
    let wanted = ["list/a/1", "list/a/10", "list/a/2"].map(|name| room.key(name));
    let wanted = wanted.into_iter().collect::<Result<Vec<Key>>>()?;
    expect_same("a listing is bounded by whole segments", below, wanted)?;

    let nothing = expect("a prefix can be listed", room.backend.list(&room.prefix("list/b")?).await)?;
    expect_same("nothing is below an object", nothing, Vec::new())?;
    let nothing = expect("a prefix can be listed", room.backend.list(&room.prefix("nowhere")?).await)?;
    expect_same("nothing is below what does not exist", nothing, Vec::new())?;

    let children = room.backend.list_children(&room.prefix("list")?).await;
    let children = expect("children can be listed", children)?;
    let wanted = ["a", "a-", "c"].map(str::to_owned).to_vec();
    expect_same("children are what has keys below it, sorted", children, wanted)
}
