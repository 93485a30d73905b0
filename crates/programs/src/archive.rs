//! The programs in a fetched file: the file itself, or those in an archive.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::GzDecoder;

use crate::place;

/// Files of archives that are no programs.
const DOCUMENTATION: [&str; 2] = ["README.md", "LICENSE"];

/// What a fetched file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents<'a> {
    /// One program, which gets this name.
    Program(&'a str),
    /// A tar archive, packed with gzip. Its programs are directly in one of its folders.
    Archive {
        /// The folder in the archive; empty for its root.
        folder: &'a str,
        /// The only program to take; all of them if `None`.
        only: Option<&'a str>,
    },
}

/// Puts the programs of a fetched file into a folder, each one whole and with the mode 0755. Returns their names.
///
/// # Errors
/// When the source cannot be read, or the folder cannot be written to.
pub fn unpack(contents: Contents<'_>, source: impl Read, folder: &Path) -> io::Result<BTreeSet<String>> {
    let (inside, only) = match contents {
        Contents::Program(name) => {
            place::write(folder, Path::new(name), source)?;
            return Ok(BTreeSet::from([name.to_owned()]));
        }
        Contents::Archive { folder, only } => (folder, only),
    };
    let mut archive = tar::Archive::new(GzDecoder::new(source));
    let mut names = BTreeSet::new();
    for entry in archive.entries()? {
        let entry = entry?;
        let path = entry.path()?.into_owned();
        let name = member(inside, only, &path).filter(|_| entry.header().entry_type().is_file());
        if let Some(name) = name {
            place::write(folder, Path::new(&name), entry)?;
            names.insert(name);
        }
    }
    Ok(names)
}

/// The name under which a file of an archive is installed; `None` for what is no program.
fn member(folder: &str, only: Option<&str>, path: &Path) -> Option<String> {
    let path = path.strip_prefix("./").unwrap_or(path);
    let path = if folder.is_empty() { path } else { path.strip_prefix(folder).ok()? };
    let name = path.file_name()?.to_str()?;
    let is_program = path == Path::new(name)
        && !DOCUMENTATION.contains(&name)
        && !name.starts_with('.')
        && only.is_none_or(|only| only == name);
    is_program.then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn archives_give_their_programs_and_nothing_else() {
        let of = |folder, only, path: &str| member(folder, only, Path::new(path));
        assert_eq!(of("bin", None, "bin/ctr").as_deref(), Some("ctr"));
        assert_eq!(of("bin", None, "bin/../../etc/passwd"), None);
        assert_eq!(of("bin", None, "etc/passwd"), None);
        assert_eq!(of("", None, "./bridge").as_deref(), Some("bridge"));
        assert_eq!(of("", None, "./README.md"), None);
        assert_eq!(of("", None, ".slipway-cni"), None);
        assert_eq!(of("", Some("crictl"), "crictl").as_deref(), Some("crictl"));
        assert_eq!(of("", Some("crictl"), "other"), None);
    }

    #[test]
    fn programs_are_placed_whole_and_for_everybody() {
        let folder = tempfile::tempdir().unwrap();
        let encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let mut archive = tar::Builder::new(encoder);
        for (path, text) in [("bin/containerd", "one"), ("bin/ctr", "two"), ("share/doc", "three")] {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o600);
            archive.append_data(&mut header, path, text.as_bytes()).unwrap();
        }
        let packed = archive.into_inner().unwrap().finish().unwrap();
        let contents = Contents::Archive { folder: "bin", only: None };
        let names = unpack(contents, packed.as_slice(), folder.path()).unwrap();
        assert_eq!(names.iter().collect::<Vec<_>>(), ["containerd", "ctr"]);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        let mode = fs::metadata(folder.path().join("ctr")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
        let names = unpack(Contents::Program("runc"), &b"four"[..], folder.path()).unwrap();
        assert!(names.contains("runc"));
        assert_eq!(fs::read(folder.path().join("runc")).unwrap(), b"four");
    }
}
