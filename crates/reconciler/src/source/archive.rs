//! Unpacks the archive of an artifact, of a registry or of Flux. Links and unusual paths among the wanted files are refused; what is not wanted is skipped.
#![allow(clippy::disallowed_methods, reason = "new files in the data folder of the controller")]

use std::io::Read as _;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use slipway_limits::{count, size};
use slipway_state_store::Digest;
use tar::{Archive, EntryType};

use super::{Listing, is_wanted};
use crate::configuration::is_plain;
use crate::error::Error;

/// Writes the files of the paths into a new folder. Returns them with the digests of their contents.
pub(super) fn unpack(bytes: &[u8], folder: &Path, paths: &[String]) -> Result<Listing, Error> {
    unpack_within(bytes, folder, paths, size::REVISION.bytes)
}

/// The same with another limit for all that is in the archive.
fn unpack_within(bytes: &[u8], folder: &Path, paths: &[String], limit: u64) -> Result<Listing, Error> {
    make(folder)?;
    // Everything that comes out of the archive is bounded, also what is skipped. With one byte more, the end of what is read is
    // never the end of a block, which would look like the end of the archive.
    let unpacked = MultiGzDecoder::new(bytes).take(limit.saturating_add(1));
    let mut archive = Archive::new(unpacked);
    let mut listing = Listing::new();
    for entry in archive.entries().map_err(|_| damaged())? {
        let mut entry = entry.map_err(|_| damaged())?;
        let Ok(path) = String::from_utf8(entry.path_bytes().into_owned()) else {
            return refused("a path of the archive", "is not UTF-8");
        };
        let path = path.trim_start_matches("./").trim_end_matches('/').to_owned();
        let kind = entry.header().entry_type();
        if kind == EntryType::Directory || kind == EntryType::XGlobalHeader || !is_wanted(paths, &path) {
            continue;
        }
        if !matches!(kind, EntryType::Regular | EntryType::Continuous) {
            return refused(&path, "is neither a file nor a folder");
        }
        if !path.split('/').all(is_plain) || path.split('/').count() > count::FOLDER_DEPTH {
            return refused(&path, "has a path that is not one of plain files");
        }
        if entry.size() > size::MANIFEST.bytes {
            return Err(Error::TooLarge { limit: size::MANIFEST });
        }
        let mut content = Vec::new();
        entry.read_to_end(&mut content).map_err(|_| damaged())?;
        if content.len() as u64 != entry.size() {
            return Err(damaged());
        }
        let target = folder.join(&path);
        target.parent().map_or(Ok(()), make)?;
        std::fs::write(&target, &content).map_err(|source| failed(&target, source))?;
        listing.insert(path, Digest::of(&content).to_hex());
        if listing.len() > count::SOURCE_FILES {
            return Err(Error::TooMany { limit: count::SOURCE_FILES });
        }
    }
    Ok(listing)
}

fn refused<T>(path: &str, reason: &'static str) -> Result<T, Error> {
    Err(Error::Content { path: path.to_owned(), reason })
}

fn damaged() -> Error {
    Error::Content { path: "the archive".to_owned(), reason: "is damaged, or too large when it is unpacked" }
}

fn make(folder: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(folder).map_err(|source| failed(folder, source))
}

fn failed(path: &Path, source: std::io::Error) -> Error {
    Error::File { what: "a file of the checkout", path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use tar::{Builder, Header};

    use super::*;

    /// An archive of entries: their types, raw paths and contents.
    fn archive(entries: &[(EntryType, &str, &str)]) -> Vec<u8> {
        let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for (kind, path, text) in entries {
            let mut header = Header::new_gnu();
            // The builder refuses such paths itself.
            header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
            header.set_entry_type(*kind);
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            header.set_cksum();
            builder.append(&header, text.as_bytes()).unwrap();
        }
        builder.into_inner().unwrap().finish().unwrap()
    }

    fn code(entries: &[(EntryType, &str, &str)]) -> &'static str {
        let folder = tempfile::tempdir().unwrap();
        let unpacked = unpack(&archive(entries), &folder.path().join("new"), &["clusters/*".to_owned()]);
        unpacked.map_or_else(|error| error.code(), |_| "ok")
    }

    #[test]
    fn only_plain_files_of_the_paths_are_written() {
        use EntryType::{Directory, Link, Regular, Symlink};
        let folder = tempfile::tempdir().unwrap();
        let new = folder.path().join("new");
        let bytes = archive(&[
            (Directory, "./clusters/", ""),
            (Regular, "./clusters/dev/spec.yaml", "dev"),
            (Symlink, "elsewhere/link", ""),
            (Regular, "README.md", "x"),
        ]);
        let listing = unpack(&bytes, &new, &["clusters/*".to_owned()]).unwrap();
        assert_eq!(listing.keys().collect::<Vec<_>>(), ["clusters/dev/spec.yaml"]);
        assert_eq!(std::fs::read_to_string(new.join("clusters/dev/spec.yaml")).unwrap(), "dev");
        assert!(!new.join("README.md").exists());
        for (kind, path) in [
            (Symlink, "clusters/link"),
            (Link, "clusters/link"),
            (EntryType::Fifo, "clusters/pipe"),
            (Regular, "clusters/../../evil"),
            (Regular, "clusters/.git/config"),
            (Regular, "clusters//x"),
        ] {
            assert_eq!(code(&[(kind, path, "")]), "RECON0007", "{path}");
        }
        assert_eq!(code(&[(Regular, "/clusters/x", "x")]), "ok", "it is not in the paths");
    }

    #[test]
    fn a_damaged_archive_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let whole = archive(&[(EntryType::Regular, "clusters/a", &"x".repeat(100_000))]);
        let large = archive(&[(EntryType::Regular, "elsewhere", &"x".repeat(2 << 20))]);
        let paths = ["clusters/*".to_owned()];
        for (number, bytes) in [&whole[..whole.len() / 2], &b"no archive"[..], &large].into_iter().enumerate()
        {
            let new = folder.path().join(number.to_string());
            let unpacked = unpack_within(bytes, &new, &paths, 1 << 20);
            assert_eq!(unpacked.unwrap_err().code(), "RECON0007", "{number}");
        }
        assert!(unpack(&large, &folder.path().join("whole"), &paths).unwrap().is_empty());
        let two = [(EntryType::Regular, "clusters/a", "x"), (EntryType::Regular, "clusters/b", "x")];
        let cut = unpack_within(&archive(&two), &folder.path().join("cut"), &paths, 1024);
        assert_eq!(cut.unwrap_err().code(), "RECON0007", "the limit is where an entry ends");
    }
}
