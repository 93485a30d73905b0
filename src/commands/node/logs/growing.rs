//! The lines that are added to a log file.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use slipway_limits::size::LOG;

/// A log file that is read as it grows.
#[derive(Debug, Default)]
pub(super) struct Growing {
    path: PathBuf,
    /// How many bytes of the file were read.
    offset: u64,
    /// The beginning of a line whose end is not written yet.
    partial: Vec<u8>,
}

impl Growing {
    /// The complete lines that were added since the last call, to the same file or to another one that took its place. A file
    /// that does not exist has none. Of a file that is larger than a log may be, the first lines are left out.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(super) fn added(&mut self, path: &Path) -> io::Result<Vec<String>> {
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let length = file.metadata()?.len();
        if self.path != path || length < self.offset {
            *self = Self { path: path.to_owned(), ..Self::default() };
        }
        self.offset = self.offset.max(length.saturating_sub(LOG.bytes));
        file.seek(SeekFrom::Start(self.offset))?;
        let read = file.take(LOG.bytes).read_to_end(&mut self.partial)?;
        self.offset = self.offset.saturating_add(read as u64);
        let whole = self.partial.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let rest = self.partial.split_off(whole);
        let lines = std::mem::replace(&mut self.partial, rest);
        Ok(String::from_utf8_lossy(&lines).lines().map(str::to_owned).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn lines_are_given_once_also_of_a_file_that_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("0.log"), folder.path().join("1.log"));
        let mut growing = Growing::default();
        assert!(growing.added(&first).unwrap().is_empty());
        std::fs::write(&first, "one\ntw").unwrap();
        assert_eq!(growing.added(&first).unwrap(), ["one"]);
        File::options().append(true).open(&first).unwrap().write_all(b"o\nthree\n").unwrap();
        assert_eq!(growing.added(&first).unwrap(), ["two", "three"]);
        assert!(growing.added(&first).unwrap().is_empty());
        // The file is rotated.
        std::fs::write(&first, "four\n").unwrap();
        assert_eq!(growing.added(&first).unwrap(), ["four"]);
        // The container is restarted.
        std::fs::write(&second, "five\n").unwrap();
        assert_eq!(growing.added(&second).unwrap(), ["five"]);
    }
}
