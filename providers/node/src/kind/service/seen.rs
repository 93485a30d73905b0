//! The files with which a program was started.
//!
//! A program that reads its settings once keeps them, whatever the files contain today. A file may have been
//! changed, the program restarted, and the file changed back. So a comparison of the files alone is not
//! enough.

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
    /// The files that the program reads, by path.
    files: BTreeMap<String, Version>,
}

/// The version of a file; empty when the file did not exist.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Version {
    sha256: Option<String>,
    /// When it was last changed, in nanoseconds.
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

    /// Whether a running program has read the desired contents, as far as this is known.
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

    /// The digest of the content that the process has read of a file; `None` when there was no file, or when
    /// it is unknown.
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
        // The file was changed for a service that was not restarted yet: the program has read the previous
        // content.
        if let (Some(process), Some(kept)) = (process, previous::content(disk, path)?)
            && now.changed.is_none_or(|changed| changed > process.started_before())
        {
            return Ok(Some(file_digest(&kept)));
        }
        let is_the_same = match process {
            // Slipway did not start this process: it has read the content if the file has not changed since
            // its start.
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

/// The files among the restart triggers of a service, with their desired digests.
pub(super) fn paths(wanted: Attributes<'_>) -> BTreeMap<String, &str> {
    let triggers = wanted.0.get("restart_triggers").and_then(slipway_resource::Value::as_map);
    let all = triggers.into_iter().flatten();
    all.filter(|(name, _)| name.starts_with('/'))
        .filter_map(|(name, digest)| Some((name.clone(), digest.as_str()?)))
        .collect()
}
