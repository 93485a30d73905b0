//! Files of a bounded size.
//!
//! A path from another person's spec may name a pipe without a writer, an endless device, or a file that does
//! not fit into memory. Here such a path is an error before anything is read.

use std::fs::{self, File, FileType, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

use crate::{Exceeded, Size};

/// The bytes of a file.
///
/// # Errors
/// When it cannot be read, is no regular file, or is larger than allowed; see [`Exceeded::of`].
pub fn read(path: &Path, limit: Size) -> io::Result<Vec<u8>> {
    let (file, length) = open(path)?;
    if length > limit.bytes {
        return Err(Exceeded::TooLarge { limit }.into());
    }
    bounded(file, length, limit)
}

/// The text of a file.
///
/// # Errors
/// As [`read`]; of kind [`io::ErrorKind::InvalidData`] when it is not UTF-8.
pub fn read_text(path: &Path, limit: Size) -> io::Result<String> {
    text(read(path, limit)?)
}

/// The bytes of a file that was named on the command line: beside regular files the pipes that a shell hands over, as
/// `<(command)` and `/dev/stdin` do.
///
/// # Errors
/// As [`read`].
pub fn read_given(path: &Path, limit: Size) -> io::Result<Vec<u8>> {
    if is_handed_over(path) { bounded(File::open(path)?, 0, limit) } else { read(path, limit) }
}

/// The text of a file that was named on the command line. See [`read_given`].
///
/// # Errors
/// As [`read_text`].
pub fn read_given_text(path: &Path, limit: Size) -> io::Result<String> {
    text(read_given(path, limit)?)
}

/// Whether the path names something that this process was given open, and that may be a pipe.
#[must_use]
pub fn is_handed_over(path: &Path) -> bool {
    let open = ["/dev/fd/", "/proc/self/fd/"];
    let text = path.to_str().unwrap_or_default();
    let number = open
        .iter()
        .find_map(|folder| text.strip_prefix(folder))
        .is_some_and(|rest| rest.parse::<u32>().is_ok());
    let named = number || text == "/dev/stdin";
    // A folder or a device stays refused when a shell hands it over.
    named && fs::metadata(path).is_ok_and(|found| found.is_file() || found.file_type().is_fifo())
}

/// All bytes of a reader, of which about `expected` are there.
///
/// # Errors
/// When it cannot be read, or has more than allowed.
pub fn bounded(reader: impl Read, expected: u64, limit: Size) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usize::try_from(expected.min(limit.bytes)).unwrap_or_default());
    reader.take(limit.bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit.bytes {
        return Err(Exceeded::TooLarge { limit }.into());
    }
    Ok(bytes)
}

/// The kind of a path that is not a file, as `a named pipe`; `None` for a path that can be read as a file.
#[must_use]
pub fn not_a_file(found: &Metadata) -> Option<&'static str> {
    let kind: FileType = found.file_type();
    if kind.is_file() || is_null(found) {
        None
    } else if kind.is_dir() {
        Some("a folder")
    } else if kind.is_fifo() {
        Some("a named pipe")
    } else if kind.is_socket() {
        Some("a socket")
    } else {
        Some("a device")
    }
}

/// `/dev/null`, which people name to say that there is nothing.
fn is_null(found: &Metadata) -> bool {
    found.file_type().is_char_device() && found.rdev() == rustix::fs::makedev(1, 3)
}

fn open(path: &Path) -> io::Result<(File, u64)> {
    let check = |found: &Metadata| match not_a_file(found) {
        Some(kind) => Err(io::Error::from(Exceeded::NotAFile { kind })),
        None => Ok(()),
    };
    // Opening a device may have effects, so its type is checked before it is opened.
    check(&fs::metadata(path)?)?;
    // Some files of the kernel look regular, and reading them waits for the next event.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    // The path may name another file by now.
    let found = file.metadata()?;
    check(&found)?;
    Ok((file, found.len()))
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "stream did not contain valid UTF-8"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    const SMALL: Size = Size { what: "a test", bytes: 8 };

    fn refused(path: &Path) -> Exceeded {
        let error = read(path, SMALL).unwrap_err();
        Exceeded::of(&error).unwrap_or_else(|| panic!("{}: {error}", path.display())).clone()
    }

    #[test]
    fn a_file_is_read_up_to_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "12345678").unwrap();
        assert_eq!(read_text(&file, SMALL).unwrap(), "12345678");
        fs::write(&file, "123456789").unwrap();
        assert_eq!(refused(&file), Exceeded::TooLarge { limit: SMALL });
        assert_eq!(read(Path::new("/dev/null"), SMALL).unwrap(), b"");
        // The kernel reports its length as 0.
        assert_eq!(refused(Path::new("/proc/self/maps")), Exceeded::TooLarge { limit: SMALL });
    }

    #[test]
    fn what_is_no_file_is_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let (pipe, socket) = (folder.path().join("pipe"), folder.path().join("socket"));
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let _listener = UnixListener::bind(&socket).unwrap();
        for (path, kind) in [
            (pipe.as_path(), "a named pipe"),
            (socket.as_path(), "a socket"),
            (folder.path(), "a folder"),
            (Path::new("/dev/zero"), "a device"),
        ] {
            assert_eq!(refused(path), Exceeded::NotAFile { kind }, "{}", path.display());
            assert!(read_given(path, SMALL).is_err(), "{}", path.display());
        }
    }

    #[test]
    fn a_pipe_of_the_shell_is_read() {
        use std::io::Write as _;
        use std::os::fd::AsRawFd as _;
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(b"text").unwrap();
        drop(writer);
        let path = format!("/dev/fd/{}", reader.as_raw_fd());
        assert_eq!(read_given_text(Path::new(&path), SMALL).unwrap(), "text");
        assert!(read(Path::new(&path), SMALL).is_err());
        assert!(!is_handed_over(Path::new("/dev/fd/../zero")));
    }
}
