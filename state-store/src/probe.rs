//! Proves on the actual backend that conditional writes work.
//!
//! A bucket that accepts a conditional write and ignores the condition works until two operators write at
//! once. Before the first write to a bucket, the [`probe`] therefore tests the guarantees that the state
//! store needs. The marker `_slipway/store` records the success, so that later runs need only one read.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::backend::{Backend, Error, Key, Prefix, Result};
use crate::conformance;

/// The prefix of the store's own objects; no cluster's name begins with `_`.
const OWN: &str = "_slipway";
const MARKER: &str = "_slipway/store";

/// The written format of the marker, and the newest supported one.
const FORMAT: u32 = 1;

/// The result of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeReport {
    /// The rules that hold, in the order of their tests.
    pub rules: Vec<&'static str>,
    /// The duration of the probe.
    pub elapsed: Duration,
}

/// A store that was created or found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Initialised {
    /// Whether it was created now.
    pub is_new: bool,
    /// The marker.
    pub marker: Marker,
    /// The result of the probe.
    pub report: ProbeReport,
}

/// The marker of a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// The format of this object.
    pub format: u32,
    /// The time of creation, by the wall clock of its creator.
    pub created: Timestamp,
    /// The version of Slipway that created and probed it.
    pub made_by: String,
}

/// Creates or checks a store: always runs the probe, and writes the marker when there is none.
///
/// # Errors
/// [`Error::Unfit`] names the rule that the backend breaks; other errors mean that it cannot be reached or
/// written.
pub async fn initialise(backend: &Arc<dyn Backend>) -> Result<Initialised> {
    let found = read_marker(&**backend).await?;
    let report = probe(backend).await?;
    let (is_new, marker) = match found {
        Some(marker) => (false, marker),
        None => write_marker(&**backend).await?,
    };
    Ok(Initialised { is_new, marker, report })
}

/// Tests the guarantees that the state store needs: creates, updates, and the refusal of stale ones. It uses
/// a separate prefix and removes it again.
///
/// # Errors
/// [`Error::Unfit`] names the rule that the backend breaks; other errors mean that it cannot be reached or
/// written.
pub async fn probe(backend: &Arc<dyn Backend>) -> Result<ProbeReport> {
    let begun = Instant::now();
    let random = crate::random::hex().map_err(|_| Error::Random)?;
    let prefix = Prefix::new(&format!("{OWN}/probe-{random}"))?;
    let rules = conformance::prove(backend, &prefix).await?;
    Ok(ProbeReport { rules, elapsed: begun.elapsed() })
}

/// Reads the marker. Where there is none, probes and writes it.
pub(crate) async fn ensure(backend: &Arc<dyn Backend>) -> Result<Marker> {
    if let Some(marker) = read_marker(&**backend).await? {
        return Ok(marker);
    }
    let report = probe(backend).await?;
    tracing::info!(elapsed = ?report.elapsed, "the store honours conditional writes");
    Ok(write_marker(&**backend).await?.1)
}

/// Whether a key belongs to the store itself, and is written before the store is probed.
pub(crate) fn is_own(key: &Key) -> bool {
    key.as_str().strip_prefix(OWN).is_some_and(|rest| rest.starts_with('/'))
}

/// The marker of the store; `None` when there is none.
///
/// # Errors
/// When it cannot be read, is damaged, or was written by a newer Slipway.
pub async fn read_marker(backend: &dyn Backend) -> Result<Option<Marker>> {
    let key = Key::trusted(MARKER.into());
    match backend.get(&key).await? {
        Some((bytes, _)) => decode(&key, &bytes).map(Some),
        None => Ok(None),
    }
}

async fn write_marker(backend: &dyn Backend) -> Result<(bool, Marker)> {
    let key = Key::trusted(MARKER.into());
    let marker =
        Marker { format: FORMAT, created: Timestamp::now(), made_by: env!("CARGO_PKG_VERSION").to_owned() };
    let bytes = serde_json::to_vec(&marker).map_err(|error| Error::corrupt(&key, error))?;
    match backend.create(&key, Bytes::from(bytes)).await {
        Ok(_) => Ok((true, marker)),
        // Another process wrote the marker first, or this write succeeded and its answer was lost.
        Err(error @ (Error::AlreadyExists { .. } | Error::OutcomeUnknown { .. })) => {
            read_marker(backend).await?.map(|found| (found == marker, found)).ok_or(error)
        }
        Err(error) => Err(error),
    }
}

#[derive(Deserialize)]
struct Format {
    format: u64,
}

fn decode(key: &Key, bytes: &[u8]) -> Result<Marker> {
    let Format { format } = serde_json::from_slice(bytes).map_err(|error| Error::corrupt(key, error))?;
    if format > u64::from(FORMAT) {
        return Err(Error::NewerFormat { key: key.to_string(), found: format, supported: FORMAT });
    }
    serde_json::from_slice(bytes).map_err(|error| Error::corrupt(key, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_marker_is_refused_as_such() {
        let key = Key::trusted(MARKER.into());
        let newer = br#"{"format":2,"something":"else"}"#;
        assert_eq!(decode(&key, newer).unwrap_err().code(), "STATE0015");
        assert_eq!(decode(&key, b"[]").unwrap_err().code(), "STATE0007");
        let current = br#"{"format":1,"created":"2026-01-01T00:00:00Z","made_by":"0.1.0"}"#;
        assert_eq!(decode(&key, current).unwrap().made_by, "0.1.0");
    }

    #[test]
    fn no_cluster_is_taken_for_the_stores_own() {
        assert!(is_own(&Key::trusted(MARKER.into())));
        assert!(!is_own(&Key::trusted("_slipways/head".into())));
        assert!(crate::ClusterName::new(OWN).is_err());
    }
}
