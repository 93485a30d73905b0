//! The etcd data in a folder. No file is opened for writing, and no etcd is started.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use slipway_bootstrap::preflight::{ETCD_LOG_HEAD, EtcdData, EtcdIds};

/// The data of an etcd in a folder, as `--data-dir` names it; none when there is none.
#[must_use]
pub fn read(folder: &Path) -> Option<EtcdData> {
    let member = folder.join("member");
    fs::read_dir(&member).ok()?.next()?.ok()?;
    let mut data = EtcdData { ids: ids(&member.join("wal")), ..EtcdData::default() };
    add_files(&member, &mut data);
    Some(data)
}

/// The ids in any segment of a log: each repeats them.
fn ids(log: &Path) -> Option<EtcdIds> {
    let mut segments: Vec<_> = fs::read_dir(log)
        .ok()?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "wal"))
        .collect();
    segments.sort();
    segments.iter().find_map(|path| {
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
