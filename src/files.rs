//! Files of users: read where they are there, written whole or not at all.

use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use slipway_limits::Exceeded;

use crate::code;
use crate::error::CommandError;

pub(crate) use slipway_limits::replace::{Readers, check_replaceable, write};

/// The text of a file; `None` when the file does not exist.
pub(crate) fn read(path: &Path) -> io::Result<Option<String>> {
    match slipway_limits::file::read_text(path, slipway_limits::size::KUBECONFIG) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// A kind of file that a command writes with `--out`, and how an older file of this kind is recognised.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    /// The name of this kind of file in a sentence, as `a plan`.
    pub what: &'static str,
    /// The largest size. A larger file is not of this kind.
    pub largest: slipway_limits::Size,
    /// Whether a file is of this kind, in any version.
    pub is_one: fn(&[u8]) -> bool,
}

/// Refuses the path of `--out` if a file exists there that is not an older file of its kind, or cannot be
/// created. Called before the work, which would be in vain.
pub(crate) fn check_out(path: &Path, written: Written) -> Result<(), CommandError> {
    let failed = |error: io::Error| CommandError::file("the file", path, error);
    let old = match fs::metadata(path) {
        Ok(old) => old,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return check_new(path),
        Err(error) => return Err(failed(error)),
    };
    check_is_file(path, &old)?;
    if old.len() > 0 {
        let is_one = match slipway_limits::file::read_given(path, written.largest) {
            Ok(old) => (written.is_one)(&old),
            Err(error) if Exceeded::of(&error).is_some() => false,
            Err(error) => return Err(failed(error)),
        };
        if !is_one {
            let message =
                format!("{} exists and is not {}; it was left as it is", path.display(), written.what);
            return Err(CommandError::new(code::OTHER_OUTPUT, message)
                .hint("name a file that does not exist yet with `--out FILE`"));
        }
    }
    Ok(())
}

/// Writes the file of `--out`: a new file, or in place of an older one of its kind. Any other file is left
/// unchanged.
pub(crate) fn write_out(
    path: &Path,
    bytes: &[u8],
    readers: Readers,
    written: Written,
) -> Result<(), CommandError> {
    check_out(path, written)?;
    write(path, bytes, readers).map_err(|error| CommandError::file("the file", path, error))
}

/// Refuses a folder, a pipe, a device or a socket in the place of a file.
pub(crate) fn check_is_file(path: &Path, found: &fs::Metadata) -> Result<(), CommandError> {
    let kind = found.file_type();
    let what = match () {
        () if kind.is_file() => return Ok(()),
        () if kind.is_dir() => "a folder",
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () => "a device",
    };
    Err(CommandError::new(code::NO_FILE, format!("{} is {what}, not a file", path.display()))
        .hint("name a file with `--out FILE`"))
}

/// Refuses a new file in a folder that does not exist, and a symbolic link that leads to no file: whoever made the link decides
/// where the file would be.
fn check_new(path: &Path) -> Result<(), CommandError> {
    if let Ok(target) = fs::read_link(path) {
        let message =
            format!("{} is a symbolic link to {}, which does not exist", path.display(), target.display());
        return Err(CommandError::new(code::NO_FILE, message)
            .hint("remove the link, or name another file with `--out FILE`"));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.file_name().is_some() && folder.is_dir() {
        return Ok(());
    }
    let message = format!("{} cannot be written: {} is not a folder", path.display(), folder.display());
    Err(CommandError::new(code::NO_FILE, message)
        .hint("make the folder first, or name another file with `--out FILE`"))
}

/// Whether a file begins with a JSON document of a kind.
pub(crate) fn is_json_of(bytes: &[u8], kind: &str) -> bool {
    first_json(bytes).is_some_and(|first| first.get("kind").is_some_and(|found| found == kind))
}

/// The JSON document with which a file begins.
pub(crate) fn first_json(bytes: &[u8]) -> Option<serde_json::Value> {
    serde_json::Deserializer::from_slice(bytes).into_iter().next()?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_file_in_a_folder_that_exists_is_written_with_out() {
        const ANY: Written = Written { what: "any", largest: slipway_limits::size::PLAN, is_one: |_| true };
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        fs::write(place("file"), "old").unwrap();
        std::os::unix::fs::symlink("new", place("link")).unwrap();
        std::os::unix::fs::symlink("none/new", place("astray")).unwrap();
        std::os::unix::fs::symlink("file", place("good-link")).unwrap();
        for good in ["file", "new", "good-link"] {
            check_out(&place(good), ANY).unwrap();
        }
        let pipe = place("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let refused = [
            pipe,
            place(""),
            place("none/new"),
            place("link"),
            place("astray"),
            "/dev/null".into(),
            "/".into(),
            "..".into(),
        ];
        for path in refused {
            let error = write_out(&path, b"text", Readers::AsUsual, ANY).unwrap_err();
            assert!(format!("{error:?}").contains("CLI0094"), "{}: {error:?}", path.display());
        }
        check_out(&place("file/new"), ANY).unwrap_err();
        assert!(!place("new").exists(), "a link was followed");
        assert!(fs::symlink_metadata(place("link")).unwrap().is_symlink(), "a link was replaced");
    }
}
