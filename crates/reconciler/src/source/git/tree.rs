//! The files of a commit, as `git ls-tree -r -z --long` lists them.

use slipway_limits::{count, size};

use crate::configuration::is_plain;
use crate::error::Error;

/// A file of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct File {
    /// Its path, with `/`.
    pub path: String,
    /// Its object.
    pub object: String,
    /// Its size in bytes.
    pub size: u64,
}

/// The wanted files of a listing. Links and submodules among them are refused, and whatever a file system could read in
/// another way than git.
pub(super) fn files(listing: &str, is_wanted: impl Fn(&str) -> bool) -> Result<Vec<File>, Error> {
    let mut files = Vec::new();
    let mut left = size::REVISION.bytes;
    for line in listing.split_terminator('\0') {
        let refused = |path: &str, reason| Err(Error::Content { path: path.to_owned(), reason });
        let Some((about, path)) = line.split_once('\t') else {
            return refused("an entry", "is not one that git lists");
        };
        if !is_wanted(path) {
            continue;
        }
        let words: Vec<&str> = about.split_whitespace().collect();
        let [mode, kind, object, size] = words.as_slice() else {
            return refused(path, "is not listed as git does it");
        };
        match (*mode, *kind) {
            ("100644" | "100755", "blob") => {}
            ("120000", _) => return refused(path, "is a symbolic link"),
            ("160000", _) => return refused(path, "is a submodule"),
            _ => return refused(path, "is neither a file nor a folder"),
        }
        if !path.split('/').all(is_plain) || path.split('/').count() > count::FOLDER_DEPTH {
            return refused(path, "has a path that is not one of plain files");
        }
        let Ok(length) = size.parse::<u64>() else { return refused(path, "has no size") };
        if length > size::MANIFEST.bytes {
            return Err(Error::TooLarge { limit: size::MANIFEST });
        }
        left = left.checked_sub(length).ok_or(Error::TooLarge { limit: size::REVISION })?;
        files.push(File { path: path.to_owned(), object: (*object).to_owned(), size: length });
        if files.len() > count::SOURCE_FILES {
            return Err(Error::TooMany { limit: count::SOURCE_FILES });
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOB: &str = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";

    fn code(listing: &str) -> &'static str {
        files(listing, |_| true).map_or_else(|error| error.code(), |_| "ok")
    }

    #[test]
    fn only_plain_files_are_taken() {
        let file = |mode: &str, path: &str| format!("{mode} blob {BLOB}       5\t{path}\0");
        let listing = file("100644", "clusters/a b.yaml") + &file("100755", "run.sh");
        let found = files(&listing, |_| true).unwrap();
        assert_eq!(found[0], File { path: "clusters/a b.yaml".into(), object: BLOB.into(), size: 5 });
        assert_eq!(files(&listing, |path| path == "run.sh").unwrap().len(), 1);
        assert_eq!(code(&file("120000", "link")), "RECON0007");
        assert_eq!(code(&format!("160000 commit {BLOB}       -\tmodule\0")), "RECON0007");
        for path in ["../a", "a/../../b", "a/.GIT/config", "/etc/passwd", "a//b", "a\\b"] {
            assert_eq!(code(&file("100644", path)), "RECON0007", "{path}");
        }
        assert_eq!(code(&format!("100644 blob {BLOB} 99999999999\tlarge\0")), "RECON0007");
        assert_eq!(code("nothing\0"), "RECON0007");
        assert!(
            files(&file("120000", "elsewhere/link"), |path| path.starts_with("clusters")).unwrap().is_empty()
        );
    }
}
