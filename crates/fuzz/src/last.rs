//! The last input of a worker, for the process that looks after it.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// Memory that looks like a folder: writing a file on a disk for each input takes longer than most readers.
const MEMORY: &str = "/dev/shm";

/// The bytes of the length before the input.
const LENGTH: usize = 8;

/// The file of the last input. It never gets shorter: cutting it each time would take longer than writing it.
pub(crate) struct Last {
    file: File,
    bytes: Vec<u8>,
}

impl Last {
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).context("the file of the last input")?;
        Ok(Self { file, bytes: Vec::new() })
    }

    pub(crate) fn write(&mut self, input: &[u8]) -> Result<()> {
        self.bytes.clear();
        self.bytes.extend_from_slice(&u64::try_from(input.len())?.to_le_bytes());
        self.bytes.extend_from_slice(input);
        self.file.write_all_at(&self.bytes, 0).context("the file of the last input")
    }
}

/// The input in such a file; empty when there is none.
pub(crate) fn read(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap_or_default();
    let Some((length, rest)) = bytes.split_first_chunk::<LENGTH>() else { return Vec::new() };
    let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or_default();
    rest.get(..length).unwrap_or(rest).to_vec()
}

/// A folder for such files, in memory where the system has that.
pub(crate) fn folder() -> Result<tempfile::TempDir> {
    let memory = PathBuf::from(MEMORY);
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.or_else(|_| tempfile::tempdir()).context("a folder for the last input")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shorter_input_replaces_a_longer_one() {
        let folder = folder().unwrap();
        let path = folder.path().join("last");
        let mut last = Last::create(&path).unwrap();
        for input in [&b"a long input"[..], b"short", b""] {
            last.write(input).unwrap();
            assert_eq!(read(&path), input);
        }
        assert!(read(&folder.path().join("none")).is_empty());
    }
}
