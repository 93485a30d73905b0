//! The folder below which everything is, and how paths of the node become paths of this process.

use std::path::{Component, Path, PathBuf};

use slipway_resource::ProviderError;

use crate::error::invalid;

/// How many symbolic links one path may lead through, as in Linux.
const LINKS: usize = 40;

/// The root of a node: `/` on a running machine, a folder for an image or a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Root(PathBuf);

impl Root {
    pub(crate) fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Whether the node is the machine that this process runs on.
    pub(crate) fn is_machine(&self) -> bool {
        self.0 == Path::new("/")
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The place of a path of the node. Symbolic links on the way are followed below the root, never out of it; the last
    /// part is not followed.
    pub(crate) fn resolve(&self, path: &str) -> Result<PathBuf, ProviderError> {
        check(path)?;
        if self.is_machine() {
            return Ok(PathBuf::from(path));
        }
        let mut rest: Vec<std::ffi::OsString> = parts(Path::new(path));
        let mut place = PathBuf::new();
        let mut links = 0;
        while let Some(part) = rest.pop() {
            if part == ".." {
                place.pop();
                continue;
            }
            place.push(&part);
            let is_last = rest.is_empty();
            let Ok(target) = std::fs::read_link(self.0.join(&place)) else { continue };
            if is_last {
                continue;
            }
            links += 1;
            if links > LINKS {
                return Err(invalid(format!("{path}: too many symbolic links")));
            }
            place.pop();
            if target.is_absolute() {
                place = PathBuf::new();
            }
            rest.extend(parts(&target));
        }
        Ok(self.0.join(place))
    }
}

/// The parts of a path, the first one last.
fn parts(path: &Path) -> Vec<std::ffi::OsString> {
    let named = path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    });
    let mut parts: Vec<_> = named.collect();
    parts.reverse();
    parts
}

/// Whether a path has the one form that paths have here: absolute, without `.`, `..`, double or trailing slashes.
pub(crate) fn check(path: &str) -> Result<(), ProviderError> {
    let is_plain = path.starts_with('/')
        && path.len() > 1
        && path.len() < 4096
        && !path.contains('\0')
        && path.split('/').skip(1).all(|part| !matches!(part, "" | "." | ".."));
    if is_plain {
        return Ok(());
    }
    Err(invalid(format!("`{path}` is not an absolute path without `.`, `..` and double slashes")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_one_form() {
        for good in ["/a", "/etc/kubernetes/pki/ca.crt", "/a..b/.c"] {
            assert!(check(good).is_ok(), "{good}");
        }
        for bad in ["", "/", "a", "/a/", "//a", "/a/./b", "/a/../b", "/a\0b"] {
            assert!(check(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn links_do_not_lead_out_of_the_root() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::new(folder.path());
        std::fs::create_dir_all(folder.path().join("var/run")).unwrap();
        std::os::unix::fs::symlink("/var/run", folder.path().join("run")).unwrap();
        std::os::unix::fs::symlink("../../../../etc", folder.path().join("var/out")).unwrap();
        std::os::unix::fs::symlink("/loop", folder.path().join("loop")).unwrap();
        assert_eq!(root.resolve("/run/a").unwrap(), folder.path().join("var/run/a"));
        assert_eq!(root.resolve("/var/out/passwd").unwrap(), folder.path().join("etc/passwd"));
        assert_eq!(root.resolve("/run").unwrap(), folder.path().join("run"), "the last part is not followed");
        assert!(root.resolve("/loop/a").is_err());
        assert_eq!(Root::new("/").resolve("/a/b").unwrap(), Path::new("/a/b"));
    }
}
