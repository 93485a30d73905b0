//! A folder of this machine as a source. Its files are used where they are.
#![allow(
    clippy::disallowed_methods,
    reason = "the operator names the folder; nothing outside of it is opened"
)]

use std::path::{Path, PathBuf};

use slipway_limits::{count, file, size};
use slipway_state_store::Digest;

use super::{Listing, is_wanted};
use crate::error::Error;

/// Lists the files of the paths in a folder, with the digests of their contents, and the folder with its links resolved.
/// Links may lead to files in the folder only, as those of mounted volumes do. Hidden files are left out.
pub(super) fn list(folder: &Path, paths: &[String]) -> Result<(Listing, PathBuf), Error> {
    let root = std::fs::canonicalize(folder).map_err(|source| unreadable(folder, source))?;
    let mut walk = Walk { root: &root, paths, listing: Listing::new(), left: size::REVISION.bytes };
    walk.folder(&root, "", 0)?;
    Ok((walk.listing, root))
}

fn unreadable(path: &Path, source: std::io::Error) -> Error {
    Error::File { what: "the source", path: path.to_owned(), source }
}

struct Walk<'a> {
    root: &'a Path,
    paths: &'a [String],
    listing: Listing,
    left: u64,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Path, name: &str, depth: usize) -> Result<(), Error> {
        if depth > count::FOLDER_DEPTH {
            return Err(Error::Content { path: name.to_owned(), reason: "is nested too deeply" });
        }
        for entry in std::fs::read_dir(folder).map_err(|source| unreadable(folder, source))? {
            let entry = entry.map_err(|source| unreadable(folder, source))?;
            let part = entry.file_name();
            let part = part.to_string_lossy();
            if part.starts_with('.') {
                continue;
            }
            let inner = if name.is_empty() { part.into_owned() } else { format!("{name}/{part}") };
            self.entry(&entry.path(), inner, depth)?;
        }
        Ok(())
    }

    fn entry(&mut self, path: &Path, name: String, depth: usize) -> Result<(), Error> {
        let is_around = |wanted: &String| {
            let wanted = wanted.strip_suffix("/*").unwrap_or(wanted);
            wanted.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        let is_wanted = is_wanted(self.paths, &name);
        if !is_wanted && !self.paths.iter().any(is_around) {
            return Ok(());
        }
        let real = std::fs::canonicalize(path).map_err(|source| unreadable(path, source))?;
        if !real.starts_with(self.root) {
            return Err(Error::Content { path: name, reason: "is a link that leads out of it" });
        }
        if real.is_dir() {
            return self.folder(&real, &name, depth + 1);
        }
        if !is_wanted {
            return Ok(());
        }
        let bytes = file::read(&real, size::MANIFEST).map_err(|source| unreadable(path, source))?;
        self.left =
            self.left.checked_sub(bytes.len() as u64).ok_or(Error::TooLarge { limit: size::REVISION })?;
        self.listing.insert(name, Digest::of(&bytes).to_hex());
        match self.listing.len() > count::SOURCE_FILES {
            true => Err(Error::TooMany { limit: count::SOURCE_FILES }),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_stay_in_the_folder() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("specs");
        std::fs::create_dir_all(root.join("..data")).unwrap();
        std::fs::write(root.join("..data/a.yaml"), "a").unwrap();
        std::os::unix::fs::symlink("..data/a.yaml", root.join("a.yaml")).unwrap();
        let everything = [".".to_owned()];
        let (listing, _) = list(&root, &everything).unwrap();
        assert_eq!(listing.keys().collect::<Vec<_>>(), ["a.yaml"]);
        std::fs::write(place.path().join("secret"), "s").unwrap();
        std::os::unix::fs::symlink("../secret", root.join("b.yaml")).unwrap();
        let error = list(&root, &everything).unwrap_err();
        assert_eq!(error.code(), "RECON0007", "{error}");
        assert!(list(&root, &["a.yaml".to_owned()]).is_ok(), "other paths are not looked at");
    }
}
