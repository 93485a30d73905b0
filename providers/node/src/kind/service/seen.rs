//! With which files a program was started.
//!
//! A program that reads its settings once goes on with what they said, whatever stands in the files today: somebody may
//! have changed one, had the program started, and changed it back. So it is not enough that the files are as they are
//! wanted.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use slipway_resource::ProviderError;

use crate::attributes::Attributes;
use crate::disk::Disk;
use crate::kind::file_digest;
use crate::previous;
use crate::process::Process;

/// The files of a program when it was started here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Seen {
    /// Its process; none where the init system does not tell.
    process: Option<Process>,
    /// The files that it reads, by path.
    files: BTreeMap<String, Version>,
}

/// A file at some time; nothing of one that was not there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Version {
    sha256: Option<String>,
    /// When it was changed last, in nanoseconds.
    changed: Option<i64>,
}

impl Seen {
    /// The files as they are now, for a program that is started next.
    pub(super) fn now(disk: &Disk, wanted: Attributes<'_>) -> Result<Self, ProviderError> {
        let mut files = BTreeMap::new();
        for path in paths(wanted).into_keys() {
            let version = Version::of(disk, &path)?;
            files.insert(path, version);
        }
        Ok(Self { process: None, files })
    }

    /// The same, of a program that was started with them.
    pub(super) fn by(self, pid: Option<u32>) -> Self {
        Self { process: pid.and_then(Process::of), ..self }
    }

    /// Whether a program that runs has read what is wanted now, as far as that can be told.
    pub(super) fn is_current(
        &self,
        disk: &Disk,
        wanted: Attributes<'_>,
        pid: Option<u32>,
    ) -> Result<bool, ProviderError> {
        let process = pid.and_then(Process::of);
        if process.is_none() && self.files.is_empty() {
            return Ok(true);
        }
        for (path, wanted) in paths(wanted) {
            if self.read_by(process.as_ref(), disk, &path)?.as_deref() != Some(wanted) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The digest of what the process has read of a file; none when there was no file, or nobody knows.
    fn read_by(
        &self,
        process: Option<&Process>,
        disk: &Disk,
        path: &str,
    ) -> Result<Option<String>, ProviderError> {
        let known = self.files.get(path);
        if let (Some(known), Some(_)) = (known, process)
            && self.process.as_ref() == process
        {
            return Ok(known.sha256.clone());
        }
        let now = Version::of(disk, path)?;
        // It was changed for a service that has not been started with it yet: what runs has read what is kept.
        if let (Some(process), Some(kept)) = (process, previous::content(disk, path)?)
            && now.changed.is_none_or(|changed| changed > process.started_before())
        {
            return Ok(Some(file_digest(&kept)));
        }
        let is_the_same = match process {
            // It was started by somebody else, or by itself: it has read what has not changed since.
            Some(process) => now.changed.is_some_and(|changed| changed <= process.started_before()),
            None => known == Some(&now),
        };
        Ok(now.sha256.filter(|_| is_the_same))
    }
}

impl Version {
    fn of(disk: &Disk, path: &str) -> Result<Self, ProviderError> {
        let (Some(status), Some(content)) = (disk.status(path)?, disk.read(path)?) else {
            return Ok(Self::default());
        };
        Ok(Self { sha256: Some(file_digest(&content)), changed: Some(status.changed()) })
    }
}

/// The files among what a service is restarted for, and the digests that they shall have.
pub(super) fn paths(wanted: Attributes<'_>) -> BTreeMap<String, &str> {
    let triggers = wanted.0.get("restart_triggers").and_then(slipway_resource::Value::as_map);
    let all = triggers.into_iter().flatten();
    all.filter(|(name, _)| name.starts_with('/'))
        .filter_map(|(name, digest)| Some((name.clone(), digest.as_str()?)))
        .collect()
}
