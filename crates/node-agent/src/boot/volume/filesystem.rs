//! The content of a device, and the file system that a blank one gets.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::process::Stdio;

/// The type of the file system.
pub(super) const TYPE: &str = "ext4";
/// The label of the file system, by which it is known as one of a member of etcd. A label has at most 16 bytes.
const LABEL: &str = "slipway-etcd";
/// How much of the beginning and of the end of a device is read. File systems, partition tables, volume managers and encrypted
/// devices are known by what they have there.
const PROBED: u64 = 1 << 20;
/// The superblock of ext4 begins here (`struct ext4_super_block` of Linux), and these are the places of fields in it.
const SUPERBLOCK: usize = 1024;
const MAGIC: usize = 0x38;
const UUID: usize = 0x68;
const NAME: usize = 0x78;

/// What a device has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Nothing but zeros at both ends.
    Blank,
    /// The file system of a member of etcd.
    OfEtcd {
        /// Its UUID.
        uuid: String,
    },
    /// Another file system.
    Other {
        /// In words.
        what: String,
    },
    /// Anything else.
    Unknown,
}

/// Reads what a device has.
pub(super) fn content(device: &Path) -> io::Result<Content> {
    let mut file = File::open(device)?;
    let size = file.seek(SeekFrom::End(0))?;
    let mut part = |from: u64| {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(from))?;
        (&mut file).take(PROBED).read_to_end(&mut bytes)?;
        Ok::<_, io::Error>(bytes)
    };
    let (head, tail) = (part(0)?, part(size.saturating_sub(PROBED))?);
    Ok(of(&head, &tail))
}

fn of(head: &[u8], tail: &[u8]) -> Content {
    if let Some((uuid, label)) = ext4(head) {
        return match label.as_str() {
            LABEL => Content::OfEtcd { uuid },
            _ => Content::Other { what: format!("a file system of another tool with the label {label:?}") },
        };
    }
    let is_zero = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
    // A device without a size is none that could be formatted.
    if !head.is_empty() && is_zero(head) && is_zero(tail) { Content::Blank } else { Content::Unknown }
}

/// UUID and label of a file system of the family of ext4.
fn ext4(head: &[u8]) -> Option<(String, String)> {
    let superblock = head.get(SUPERBLOCK..SUPERBLOCK + 1024)?;
    if superblock.get(MAGIC..MAGIC + 2)? != [0x53, 0xEF] {
        return None;
    }
    let digits: String = superblock.get(UUID..UUID + 16)?.iter().map(|byte| format!("{byte:02x}")).collect();
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|range| digits.get(range).unwrap_or_default());
    let label = superblock.get(NAME..NAME + 16)?;
    let label = label.split(|byte| *byte == 0).next().unwrap_or_default();
    Some((parts.join("-"), String::from_utf8_lossy(label).into_owned()))
}

/// Makes the file system of a member of etcd on a device.
pub(super) async fn format(device: &Path) -> Result<(), String> {
    run("mkfs.ext4", &["-q", "-F", "-L", LABEL, &device.display().to_string()]).await
}

/// Runs a program of the machine. The error says how it failed.
pub(in super::super) async fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    let output = tokio::process::Command::new(program).args(arguments).stdin(Stdio::null()).output().await;
    let output = output.map_err(|error| format!("{program} cannot be run: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{program}: {}: {}", output.status, said.trim()))
}
