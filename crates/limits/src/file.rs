//! Files of a bounded size.
//!
//! A path from another person's spec may name a pipe without a writer, an endless device, or a file that does
//! not fit into memory. Here such a path is an error before anything is read.

use std::fs::{self, File, FileType, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsRawFd as _;
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

/// Opens a file in a folder that another person may have filled. Nothing but a regular file is opened: no symbolic link, no
/// pipe, no device. `options` may create the file.
///
/// # Errors
/// When it cannot be opened, or something else has its name; see [`Exceeded::of`].
pub fn open_plain(path: &Path, options: &OpenOptions) -> io::Result<File> {
    match fs::symlink_metadata(path) {
        Ok(found) => check_plain(&found)?,
        // The options say whether it is created.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits()).unwrap_or_default();
    let file = options.clone().custom_flags(flags).open(path)?;
    // The path may name another file by now.
    check_plain(&file.metadata()?)?;
    Ok(file)
}

/// The bytes of a file in a folder that another person may have filled. See [`open_plain`].
///
/// # Errors
/// As [`open_plain`], and when it is larger than allowed.
pub fn read_plain(path: &Path, limit: Size) -> io::Result<Vec<u8>> {
    let file = open_plain(path, OpenOptions::new().read(true))?;
    let length = file.metadata()?.len();
    bounded(file, length, limit)
}

/// Opens a file at its real path, which has no symbolic link: the path that [`fs::canonicalize`] returned, and that was checked
/// since. When another person has put a link into the path meanwhile, nothing is opened.
///
/// # Errors
/// When it cannot be opened, or the path names a symbolic link, or no regular file; see [`Exceeded::of`].
pub fn open_real(real: &Path) -> io::Result<File> {
    // Opening a device may have effects, so its type is checked before it is opened.
    check_plain(&fs::symlink_metadata(real)?)?;
    let file = open_without_links(real)?;
    // The path may name another file by now.
    check_plain(&file.metadata()?)?;
    Ok(file)
}

/// The text of a file at its real path. See [`open_real`].
///
/// # Errors
/// As [`open_real`] and [`read_text`].
pub fn read_real_text(real: &Path, limit: Size) -> io::Result<String> {
    let file = open_real(real)?;
    let length = file.metadata()?.len();
    text(bounded(file, length, limit)?)
}

/// Opens a path whose parts are no symbolic links. The kernel checks them while it walks along the path.
#[cfg(target_os = "linux")]
fn open_without_links(path: &Path) -> io::Result<File> {
    use rustix::fs::{CWD, Mode, ResolveFlags, openat2};
    use rustix::io::Errno;

    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(CWD, path, flags, Mode::empty(), resolve) {
        Ok(file) => Ok(File::from(file)),
        Err(Errno::LOOP) => Err(link()),
        // Kernels before 5.6 do not have the call, and some containers refuse it.
        Err(Errno::NOSYS | Errno::PERM) => open_and_compare(path),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn open_without_links(path: &Path) -> io::Result<File> {
    open_and_compare(path)
}

/// Opens a path, and refuses the file when it is at another place.
fn open_and_compare(path: &Path) -> io::Result<File> {
    let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let open = format!("/proc/self/fd/{}", file.as_raw_fd());
    let place = fs::read_link(open).or_else(|_| fs::canonicalize(path))?;
    if place == path { Ok(file) } else { Err(link()) }
}

fn link() -> io::Error {
    Exceeded::NotAFile { kind: "a symbolic link" }.into()
}

fn check_plain(found: &Metadata) -> io::Result<()> {
    let kind = if found.is_symlink() { Some("a symbolic link") } else { not_a_file(found) };
    kind.map_or(Ok(()), |kind| Err(Exceeded::NotAFile { kind }.into()))
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
    fn a_plain_file_is_no_link_and_no_pipe() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "1234").unwrap();
        assert_eq!(read_plain(&at("file"), SMALL).unwrap(), b"1234");
        assert_eq!(read_plain(&at("none"), SMALL).unwrap_err().kind(), io::ErrorKind::NotFound);
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        std::os::unix::fs::symlink(at("none"), at("dangling")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
            .unwrap();
        for (name, kind) in
            [("link", "a symbolic link"), ("dangling", "a symbolic link"), ("pipe", "a named pipe")]
        {
            for options in [OpenOptions::new().read(true), OpenOptions::new().create(true).append(true)] {
                let error = open_plain(&at(name), options).unwrap_err();
                assert_eq!(Exceeded::of(&error), Some(&Exceeded::NotAFile { kind }), "{name}");
            }
        }
        assert!(!at("none").exists(), "no file is created behind a link");
        open_plain(&at("none"), OpenOptions::new().create(true).append(true)).unwrap();
        fs::write(at("file"), "123456789").unwrap();
        assert!(read_plain(&at("file"), SMALL).is_err());
    }

    #[test]
    fn a_real_path_has_no_link_in_any_part() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        fs::create_dir(root.join("folder")).unwrap();
        fs::write(root.join("folder/file"), "1234").unwrap();
        std::os::unix::fs::symlink(root.join("folder"), root.join("link")).unwrap();
        std::os::unix::fs::symlink(root.join("folder/file"), root.join("folder/link")).unwrap();
        assert_eq!(read_real_text(&root.join("folder/file"), SMALL).unwrap(), "1234");
        assert_eq!(open_and_compare(&root.join("folder/file")).unwrap().metadata().unwrap().len(), 4);
        for path in ["link/file", "folder/link"] {
            let error = open_real(&root.join(path)).unwrap_err();
            assert_eq!(Exceeded::of(&error), Some(&Exceeded::NotAFile { kind: "a symbolic link" }), "{path}");
            assert!(open_and_compare(&root.join(path)).is_err(), "{path}");
        }
        for path in ["folder/none", "link/none", "none/file"] {
            let error = open_real(&root.join(path)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::NotFound, "{path}");
        }
        assert!(open_real(&root.join("folder")).is_err());
    }

    #[test]
    fn a_pipe_of_the_shell_is_read() {
        use std::io::Write as _;
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(b"text").unwrap();
        drop(writer);
        let path = format!("/dev/fd/{}", reader.as_raw_fd());
        assert_eq!(read_given_text(Path::new(&path), SMALL).unwrap(), "text");
        assert!(read(Path::new(&path), SMALL).is_err());
        assert!(!is_handed_over(Path::new("/dev/fd/../zero")));
    }
}
