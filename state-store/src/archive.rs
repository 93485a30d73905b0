//! One generation of a cluster in one file, for storage elsewhere, inspection and import.
//!
//! Two lines of JSON. The first names the cluster, the generation and the digest of the second line. The
//! second is the snapshot as it was committed.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::head::CommitMeta;
use crate::history::Entry;
use crate::name::{ClusterName, ClusterUid, Generation};

/// The newest supported format of an archive, and the written one.
pub const FORMAT: u32 = 1;

/// The value of the kind in the first line of every archive.
pub const KIND: &str = "slipway-state";

/// One generation of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive {
    /// Its cluster, generation and commit.
    pub about: About,
    /// Its state.
    pub snapshot: Bytes,
}

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    kind: String,
    format: u32,
    /// The cluster.
    pub cluster: ClusterName,
    /// The uid, which tells clusters of one name apart.
    pub uid: ClusterUid,
    /// The generation.
    pub generation: Generation,
    /// The operator, time and operation of the commit.
    pub commit: CommitMeta,
    /// The digest of the second line, without its line end.
    pub digest: Digest,
}

impl Archive {
    /// The archive of a generation.
    pub fn new(entry: &Entry, snapshot: Bytes) -> Self {
        let about = About {
            kind: KIND.to_owned(),
            format: FORMAT,
            cluster: entry.cluster.clone(),
            uid: entry.uid.clone(),
            generation: entry.generation,
            commit: entry.commit.clone(),
            digest: Digest::of(&snapshot),
        };
        Self { about, snapshot }
    }

    /// The bytes of the file.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec(&self.about).map_err(|error| invalid(error.to_string()))?;
        bytes.push(b'\n');
        bytes.extend_from_slice(&self.snapshot);
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// Reads a file, and checks that it is complete.
    ///
    /// # Errors
    /// [`Error::NotAnArchive`] when it is not an archive; [`Error::NewerFormat`] when a newer Slipway wrote
    /// it.
    pub fn decode(bytes: &Bytes) -> Result<Self> {
        #[derive(Deserialize)]
        struct Versioned {
            kind: String,
            format: u64,
        }
        let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
        let line = bytes.slice(..end);
        let first: Versioned =
            serde_json::from_slice(&line).map_err(|error| invalid(format!("its first line: {error}")))?;
        if first.kind != KIND {
            return Err(invalid(format!("its kind is `{}`", first.kind)));
        }
        if first.format > u64::from(FORMAT) {
            let key = "the file".to_owned();
            return Err(Error::NewerFormat { key, found: first.format, supported: FORMAT });
        }
        let about: About =
            serde_json::from_slice(&line).map_err(|error| invalid(format!("its first line: {error}")))?;
        let rest = bytes.slice((end + 1).min(bytes.len())..);
        let snapshot = rest.slice(..rest.len().saturating_sub(usize::from(rest.ends_with(b"\n"))));
        if Digest::of(&snapshot) != about.digest {
            return Err(invalid("its second line is not as its digest says".to_owned()));
        }
        Ok(Self { about, snapshot })
    }
}

fn invalid(reason: String) -> Error {
    Error::NotAnArchive { reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive() -> Archive {
        let entry = Entry {
            format: crate::history::FORMAT,
            cluster: ClusterName::new("prod").unwrap(),
            uid: "uid-1".parse().unwrap(),
            generation: Generation(3),
            snapshot: None,
            commit: CommitMeta::default(),
            deleted: false,
        };
        Archive::new(&entry, Bytes::from_static(b"{\"format\":1}"))
    }

    #[test]
    fn written_and_read_back() {
        let bytes = Bytes::from(archive().encode().unwrap());
        assert_eq!(Archive::decode(&bytes).unwrap(), archive());
    }

    #[test]
    fn every_change_of_a_byte_is_noticed() {
        let bytes = archive().encode().unwrap();
        for at in 0..bytes.len() - 1 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            let read = Archive::decode(&Bytes::from(damaged));
            // The digest covers the state, not the commit in the first line.
            assert!(read.is_err() || read.unwrap().snapshot == archive().snapshot, "byte {at}");
        }
        for length in 0..bytes.len() - 1 {
            let cut = Bytes::copy_from_slice(&bytes[..length]);
            assert_eq!(Archive::decode(&cut).unwrap_err().code(), "STATE0042", "{length}");
        }
        let newer = Bytes::from_static(b"{\"kind\":\"slipway-state\",\"format\":2}\n");
        assert_eq!(Archive::decode(&newer).unwrap_err().code(), "STATE0015");
    }
}
