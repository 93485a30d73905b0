//! The etcd data in a folder. No file is opened for writing, and no etcd is started.

use std::fs::{self, File};
use std::io::{BufReader, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use slipway_bootstrap::preflight::{ETCD_LOG_HEAD, EtcdData, EtcdIds, EtcdLog};

use crate::etcd_backup;

/// The data of an etcd in a folder, as `--data-dir` names it; none when there is none.
#[must_use]
pub fn read(folder: &Path) -> Option<EtcdData> {
    let member = folder.join("member");
    fs::read_dir(&member).ok()?.next()?.ok()?;
    let mut data = EtcdData { ids: ids(&member.join("wal")), ..EtcdData::default() };
    add_files(&member, &mut data);
    Some(data)
}

/// A member of etcd as the data of a member has it: the value of a key in the bucket `members`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct KnownMember {
    /// Its id.
    pub id: u64,
    /// The URLs at which other members reach it.
    #[serde(rename = "peerURLs", default)]
    pub peer_urls: Vec<String>,
    /// Whether it has no vote yet.
    #[serde(rename = "isLearner", default)]
    pub is_learner: bool,
}

/// The members that the etcd in a folder knows, its own one among them.
///
/// # Errors
/// When its database cannot be read; the text is the reason.
pub fn members(folder: &Path) -> Result<Vec<KnownMember>, String> {
    etcd_backup::members(&folder.join("member").join("snap").join("db"))
}

/// The number of these members that have a vote.
///
/// # Errors
/// The same.
pub fn voters(folder: &Path) -> Result<usize, String> {
    Ok(members(folder)?.iter().filter(|member| !member.is_learner).count())
}

/// How many segments of a log are read: a new one may have no entries yet.
const SEGMENTS: usize = 2;

/// The end of the log in a member's data folder.
pub(crate) fn log(folder: &Path) -> EtcdLog {
    let segments = segments(&folder.join("member").join("wal"));
    let mut log = EtcdLog::default();
    for path in segments.iter().skip(segments.len().saturating_sub(SEGMENTS)) {
        if let Ok(file) = File::open(path) {
            log.add(BufReader::new(file));
        }
    }
    log
}

/// The segments of a log, in their order.
fn segments(log: &Path) -> Vec<PathBuf> {
    let mut segments: Vec<_> = fs::read_dir(log)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "wal"))
        .collect();
    segments.sort();
    segments
}

/// The ids in any segment of a log: each repeats them.
fn ids(log: &Path) -> Option<EtcdIds> {
    segments(log).iter().find_map(|path| {
        let mut head = Vec::new();
        File::open(path).ok()?.take(ETCD_LOG_HEAD as u64).read_to_end(&mut head).ok()?;
        EtcdIds::of_log(&head)
    })
}

fn add_files(folder: &Path, data: &mut EtcdData) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_dir() {
            add_files(&entry.path(), data);
        } else {
            data.size_kib += metadata.blocks() / 2;
            data.written = data.written.max(Some(metadata.mtime()));
        }
    }
}
