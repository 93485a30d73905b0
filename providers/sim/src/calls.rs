//! The record of every call, which tests read.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use slipway_limits::file;

use crate::clock::Millis;

/// The name of the record in the cloud's directory.
pub const FILE: &str = "calls.jsonl";

/// One call that the cloud answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallRecord {
    /// When it was answered, simulated.
    pub at: Millis,
    /// The id of the process that asked.
    pub process: u32,
    /// `list` and `read` (one per type), `create`, `update`, `delete`, `tag`, `resume`, `preflight`, `import`, or the
    /// name of an operation.
    pub method: String,
    /// The resource type.
    #[serde(rename = "type", default, skip_serializing_if = "String::is_empty")]
    pub type_name: String,
    /// The name in the address.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The identity of the object, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// The idempotency token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// `ok`, or the class of the error.
    pub outcome: String,
    /// How many objects the answer has.
    pub objects: u64,
}

/// Appends records. A directory that does not exist is not made: a look at an empty cloud leaves no trace.
#[derive(Debug)]
pub(crate) struct Calls {
    /// None where nothing is recorded.
    path: Option<PathBuf>,
    file: Mutex<Option<File>>,
}

impl Calls {
    pub(crate) fn new(directory: &Path) -> Self {
        Self { path: Some(directory.join(FILE)), file: Mutex::new(None) }
    }

    /// For read-only sessions: no call is recorded.
    pub(crate) fn unrecorded() -> Self {
        Self { path: None, file: Mutex::new(None) }
    }

    /// Appends records in one write. A record that cannot be written is lost, which is logged.
    pub(crate) fn append(&self, records: &[CallRecord]) {
        let Some(path) = &self.path else { return };
        let mut bytes = Vec::new();
        for record in records {
            if serde_json::to_writer(&mut bytes, record).is_ok() {
                bytes.push(b'\n');
            }
        }
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if file.is_none() {
            if !path.parent().is_some_and(Path::is_dir) {
                return;
            }
            *file = file::open_plain(path, OpenOptions::new().create(true).append(true)).ok();
        }
        let written = file.as_mut().map(|file| file.write_all(&bytes));
        if !matches!(written, Some(Ok(()))) {
            tracing::warn!(path = %path.display(), "cannot record calls");
        }
    }
}
