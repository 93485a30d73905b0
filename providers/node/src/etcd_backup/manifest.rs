//! The facts about a snapshot that are known without reading it.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

/// The version of the form.
const FORMAT: u32 = 1;

/// The facts about a snapshot. The manifest is written last and encrypted: a snapshot with a manifest is
/// complete, and was read back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// The version of this form; a reader refuses a greater one.
    pub(crate) format: u32,
    /// The cluster.
    pub(crate) cluster: String,
    /// The member of etcd that sent it.
    pub(crate) member: String,
    /// The id of its etcd cluster, in hexadecimal digits.
    pub(crate) etcd_cluster_id: String,
    /// The version of etcd.
    pub(crate) etcd_version: String,
    /// When it was taken.
    pub(crate) taken: Timestamp,
    /// The greatest revision in it.
    pub(crate) revision: i64,
    /// The size of the database in bytes.
    pub(crate) size: u64,
    /// The SHA-256 of the database, as etcd wrote it behind it.
    pub(crate) sha256: String,
    /// When it was read back from the store, opened, and found to be what etcd sent.
    pub(crate) verified: Timestamp,
    /// Its parts, in order.
    pub(crate) parts: Vec<Part>,
}

/// One object of a snapshot: a part of the file, packed and sealed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Part {
    /// How many bytes of the file are in it.
    pub(crate) size: u64,
    /// How many bytes it has as it is stored.
    pub(crate) stored: u64,
}

impl Manifest {
    pub(crate) const FORMAT: u32 = FORMAT;

    /// The bytes that it takes in the store, without the manifest.
    pub(crate) fn stored(&self) -> u64 {
        self.parts.iter().map(|part| part.stored).sum()
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Head {
            format: u32,
        }
        let Head { format } = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if format > FORMAT {
            return Err(format!("it has format {format}, and this version of Slipway reads up to {FORMAT}"));
        }
        serde_json::from_slice(bytes).map_err(|error| error.to_string())
    }
}

/// The name of a snapshot: when it was taken, and its revision. Names sort by time.
pub(crate) fn name(taken: Timestamp, revision: i64) -> String {
    let time = taken.to_zoned(TimeZone::UTC).strftime("%Y%m%dT%H%M%SZ").to_string();
    format!("{time}-{revision}")
}

/// When a snapshot of this name was taken, to the second; none for a name of something else.
pub(crate) fn taken_of(name: &str) -> Option<Timestamp> {
    let (time, revision) = name.split_once('-')?;
    revision.parse::<i64>().ok()?;
    let time = jiff::civil::DateTime::strptime("%Y%m%dT%H%M%SZ", time).ok()?;
    time.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_time_and_sort_by_it() {
        let taken: Timestamp = "2026-11-26T07:43:22.5Z".parse().unwrap();
        assert_eq!(name(taken, 1234), "20261126T074322Z-1234");
        assert_eq!(taken_of("20261126T074322Z-1234"), Some("2026-11-26T07:43:22Z".parse().unwrap()));
        for other in ["notes", "20261126T074322Z", "20261126T074322Z-x", "20269926T074322Z-1"] {
            assert_eq!(taken_of(other), None, "{other}");
        }
    }

    #[test]
    fn a_later_form_is_refused_by_its_number() {
        let refused = Manifest::read(br#"{"format": 2, "parts": "somewhere"}"#).unwrap_err();
        assert!(refused.contains("format 2"), "{refused}");
    }
}
