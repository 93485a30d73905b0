use std::collections::BTreeMap;
use std::sync::LazyLock;

use anyhow::Result;
use bytes::Bytes;
use slipway_engine::State;
use slipway_plan::Plan;
use slipway_plan::render::{self, TextOptions};
use slipway_state_store::{Backend, Digest, Key, MemoryBackend};

use super::words;
use crate::corpus::{ends, files};

/// A store that some program left in the middle of a run.
const STORE: &str = "fixtures/state-formats/stores/2";

/// Its cluster.
const CLUSTER: &str = "line";

/// Its objects.
static OBJECTS: LazyLock<BTreeMap<String, Vec<u8>>> = LazyLock::new(|| {
    let folder = crate::corpus::workspace().join(STORE);
    let all = files(&[STORE], |path| !ends(path, &[".slipway"])).unwrap_or_default();
    let name = |path: &std::path::Path| Some(path.strip_prefix(&folder).ok()?.to_string_lossy().into_owned());
    all.into_iter().filter_map(|(path, bytes)| Some((name(&path)?, bytes))).collect()
});

fn objects(part: &str) -> impl Iterator<Item = (&'static String, &'static Vec<u8>)> {
    OBJECTS.iter().filter(move |(key, _)| key.contains(part))
}

fn found(target: &str) -> Result<Vec<Vec<u8>>> {
    Ok(files(&[&format!("fixtures/fuzz/{target}")], |_| true)?.into_iter().map(|(_, bytes)| bytes).collect())
}

pub(super) fn plans() -> Result<Vec<Vec<u8>>> {
    let mut all = found("plan")?;
    let plans = files(&["fixtures/state-formats/stores"], |path| ends(path, &["plan.slipway"]))?;
    all.extend(plans.into_iter().map(|(_, bytes)| bytes));
    Ok(all)
}

pub(super) fn heads() -> Result<Vec<Vec<u8>>> {
    let mut all = found("head")?;
    all.extend(objects("/head").map(|(_, bytes)| bytes.clone()));
    Ok(all)
}

/// Each with its key in front.
pub(super) fn segments() -> Result<Vec<Vec<u8>>> {
    let mut all = found("journal")?;
    all.extend(objects("/journal/").map(|(key, bytes)| [key.as_bytes(), b"\n", bytes.as_slice()].concat()));
    Ok(all)
}

pub(super) fn snapshots() -> Result<Vec<Vec<u8>>> {
    let mut all = found("snapshot")?;
    all.extend(objects("/snapshots/").map(|(_, bytes)| bytes.clone()));
    Ok(all)
}

/// Reads a plan file, and shows it in every form.
pub(super) fn plan(input: &[u8]) -> String {
    match Plan::from_bytes_with(input) {
        Err(error) => error.to_string(),
        Ok((plan, _)) => {
            let text = render::text(&plan, &TextOptions { verbose: true, ..TextOptions::default() });
            let rest = [
                render::markdown(&plan, 60_000),
                render::json(&plan).to_string(),
                render::dot(&plan),
                render::svg(&plan),
            ];
            format!("taken {} {}", text.len().checked_ilog2().unwrap_or_default(), rest.len())
        }
    }
}

pub(super) fn snapshot(input: &[u8]) -> String {
    words(State::snapshot_of(CLUSTER, input))
}

pub(super) fn head(input: &[u8]) -> String {
    read(&format!("{CLUSTER}/head"), input)
}

/// The first line names the segment. Its digest is set right, so that the records behind it are looked at.
pub(super) fn journal(input: &[u8]) -> String {
    let mut parts = input.splitn(3, |byte| *byte == b'\n');
    let (key, header, body) = (parts.next(), parts.next(), parts.next().unwrap_or_default());
    let key = key.map(String::from_utf8_lossy).filter(|key| OBJECTS.contains_key(&**key));
    let Some((key, header)) = key.zip(header) else { return "no segment".to_owned() };
    let mut segment = match serde_json::from_slice::<serde_json::Value>(header) {
        Ok(mut header) if header.is_object() => {
            header["digest"] = Digest::of(body).to_string().into();
            header["count"] = body.iter().filter(|byte| **byte == b'\n').count().into();
            header.to_string().into_bytes()
        }
        _ => header.to_vec(),
    };
    segment.push(b'\n');
    segment.extend_from_slice(body);
    read(&key, &segment)
}

/// Reads the state of a store in which one object is another.
fn read(changed: &str, bytes: &[u8]) -> String {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().build() else { return String::new() };
    runtime.block_on(async {
        let backend = MemoryBackend::new();
        for (key, own) in &*OBJECTS {
            let bytes = if key == changed { bytes } else { own };
            let Ok(key) = Key::new(key) else { continue };
            if let Err(error) = backend.create(&key, Bytes::copy_from_slice(bytes)).await {
                return error.to_string();
            }
        }
        words(State::read(&backend, CLUSTER).await.map_err(full))
    })
}

/// A message with its causes.
fn full(error: impl std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
