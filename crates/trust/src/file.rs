//! A file that a spec may name.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use slipway_limits::file::{not_a_file, open_real};
use slipway_limits::{Exceeded, Size};

/// A file that the policy has granted. Only [`crate::Policy`] makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedFile {
    /// Its real place, without symbolic links.
    path: PathBuf,
}

impl TrustedFile {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// The real place of the file, for programs that open it themselves.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the file. A path that has become a pipe or a device since, or has got a link in any part, is not opened.
    ///
    /// # Errors
    /// When it cannot be opened, or is no regular file; see [`Exceeded::of`].
    pub fn open(&self) -> io::Result<File> {
        let file = open_real(&self.path)?;
        let found = file.metadata()?;
        if !found.is_file() {
            return Err(Exceeded::NotAFile { kind: not_a_file(&found).unwrap_or("a device") }.into());
        }
        Ok(file)
    }

    /// The text of the file.
    ///
    /// # Errors
    /// As for [`Self::open`], and when it is not UTF-8 or larger than allowed.
    pub fn read_text(&self, limit: Size) -> io::Result<String> {
        let file = self.open()?;
        let length = file.metadata()?.len();
        let bytes = slipway_limits::file::bounded(file, length, limit)?;
        String::from_utf8(bytes)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
    }
}
