use std::collections::BTreeMap;
use std::sync::LazyLock;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use slipway_engine::State;
use slipway_engine::journal::Entry;
use slipway_state_store::{Backend, Digest, Head, Key, MemoryBackend};
use tokio::runtime::{Builder, Runtime};

use super::state::full;
use super::{READ_BACK, Reached, Verdict};
use crate::corpus::{ends, files, workspace};

/// A small store that a program left in the middle of a run.
const STORE: &str = "fixtures/fuzz/store";

/// Its cluster.
const CLUSTER: &str = "line";

/// Stores of all formats.
const STORES: &str = "fixtures/state-formats/stores";

/// The store in memory, with what runs its readers. One object at a time is replaced.
struct Store {
    objects: BTreeMap<Key, Bytes>,
    backend: MemoryBackend,
    runtime: Runtime,
}

static OPENED: LazyLock<Result<Store>> = LazyLock::new(Store::open);

impl Store {
    fn open() -> Result<Self> {
        let folder = workspace().join(STORE);
        let mut objects = BTreeMap::new();
        for (path, bytes) in files(&[STORE], |_| true)? {
            let name =
                path.strip_prefix(&folder).context("a file of the store")?.to_string_lossy().into_owned();
            objects.insert(Key::new(name)?, Bytes::from(bytes));
        }
        let (backend, runtime) = (MemoryBackend::new(), Builder::new_current_thread().build()?);
        runtime.block_on(async {
            for (key, bytes) in &objects {
                backend.create(key, bytes.clone()).await?;
            }
            anyhow::Ok(())
        })?;
        Ok(Self { objects, backend, runtime })
    }

    /// The state of the store in which one object is another.
    fn read(&self, changed: &Key, bytes: Bytes) -> Result<Option<State>, String> {
        let own = self.objects.get(changed).ok_or("no object has this key")?;
        self.runtime.block_on(async {
            self.put(changed, bytes).await?;
            let state = State::read(&self.backend, CLUSTER).await.map_err(|error| full(&error));
            self.put(changed, own.clone()).await?;
            state
        })
    }

    async fn put(&self, key: &Key, bytes: Bytes) -> Result<(), String> {
        let found = self.backend.get(key).await.map_err(|error| error.to_string())?;
        let (_, tag) = found.ok_or("the object is lost")?;
        self.backend.update(key, bytes, &tag).await.map(drop).map_err(|error| error.to_string())
    }
}

fn opened() -> Result<&'static Store, Verdict> {
    OPENED.as_ref().map_err(|error| Verdict::lawful(false, &format!("the store is read: {error:#}")))
}

fn found(target: &str) -> Result<Vec<Vec<u8>>> {
    Ok(files(&[&format!("fixtures/fuzz/{target}")], |_| true)?.into_iter().map(|(_, bytes)| bytes).collect())
}

pub(super) fn heads() -> Result<Vec<Vec<u8>>> {
    let mut all = found("head")?;
    let heads = files(&[STORE, STORES], |path| ends(path, &["/head"]))?;
    all.extend(heads.into_iter().map(|(_, bytes)| bytes));
    Ok(all)
}

/// Each segment with its key in front.
pub(super) fn segments() -> Result<Vec<Vec<u8>>> {
    let mut all = found("journal")?;
    let folder = workspace().join(STORE);
    for (path, bytes) in files(&[STORE], |path| path.to_string_lossy().contains("/journal/"))? {
        let name = path.strip_prefix(&folder).context("a file of the store")?.to_string_lossy().into_owned();
        all.push([name.as_bytes(), b"\n", bytes.as_slice()].concat());
    }
    Ok(all)
}

/// Reads a state with another head.
pub(super) fn head(input: &[u8]) -> Verdict {
    let read = || {
        let key = Key::new(format!("{CLUSTER}/head")).map_err(|error| error.to_string());
        opened().map(|store| key.and_then(|key| store.read(&key, Bytes::copy_from_slice(input))))
    };
    match read() {
        Err(verdict) => verdict,
        Ok(Err(error)) => Verdict::of_json(input, error),
        Ok(Ok(None)) => Verdict::taken("a tombstone"),
        Ok(Ok(Some(state))) => {
            let written = serde_json::to_vec(&state.head);
            let again = written.and_then(|bytes| serde_json::from_slice::<Head>(&bytes));
            Verdict::lawful(again.is_ok_and(|again| again == state.head), READ_BACK)
        }
    }
}

/// Reads a state with another segment of the journal. The first line of the input is the key of the segment. The digest in the
/// header is set right, so that the records are read.
pub(super) fn journal(input: &[u8]) -> Verdict {
    let mut parts = input.splitn(3, |byte| *byte == b'\n');
    let (key, header, body) = (parts.next(), parts.next(), parts.next().unwrap_or_default());
    let key = key.and_then(|key| std::str::from_utf8(key).ok()).and_then(|key| Key::new(key).ok());
    let Some((key, header)) = key.zip(header) else { return Verdict::syntax("no segment") };
    let mut segment = match serde_json::from_slice::<serde_json::Value>(header) {
        Ok(mut header) if header.is_object() => {
            header["digest"] = Digest::of(body).to_string().into();
            header["count"] = body.iter().filter(|byte| **byte == b'\n').count().into();
            header.to_string().into_bytes()
        }
        Ok(_) => header.to_vec(),
        Err(error) => return Verdict::syntax(error),
    };
    segment.push(b'\n');
    segment.extend_from_slice(body);
    let read = opened().map(|store| store.read(&key, Bytes::from(segment)));
    match read {
        Err(verdict) => verdict,
        Ok(Err(error)) => match lines(body).find_map(|line| refusal(line, &error)) {
            Some(verdict) => verdict,
            None => Verdict::content(error),
        },
        Ok(Ok(_)) => Verdict::lawful(lines(body).all(is_written), READ_BACK),
    }
}

fn lines(body: &[u8]) -> impl Iterator<Item = &[u8]> {
    body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}

fn refusal(line: &[u8], error: &str) -> Option<Verdict> {
    Some(Verdict::of_json(line, error)).filter(|verdict| verdict.reached == Reached::Syntax)
}

fn is_written(line: &[u8]) -> bool {
    let Ok(entry) = serde_json::from_slice::<Entry>(line) else { return false };
    let written = serde_json::to_vec(&entry);
    written.and_then(|bytes| serde_json::from_slice::<Entry>(&bytes)).is_ok_and(|again| again == entry)
}
