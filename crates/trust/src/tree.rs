//! The folders in which the files of a spec may be.

use std::path::{Component, Path, PathBuf};

/// The spec's own folders: files are named in them, by whatever way, and nowhere else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// As they are named, absolute, and as they really are.
    roots: Vec<(PathBuf, PathBuf)>,
    /// Whether files everywhere count as the spec's: a recorded spec was accepted when it was applied.
    everywhere: bool,
}

impl Tree {
    /// A tree of one folder; one that does not exist has no files.
    #[must_use]
    pub fn of(folder: &Path) -> Self {
        let mut tree = Self::default();
        tree.add(folder);
        tree
    }

    /// The same tree with one more folder.
    #[must_use]
    pub fn with(mut self, folder: &Path) -> Self {
        self.add(folder);
        self
    }

    /// All files: of a spec that the caller's own state has.
    pub(crate) fn everywhere() -> Self {
        Self { roots: Vec::new(), everywhere: true }
    }

    pub(crate) fn add(&mut self, folder: &Path) {
        let named = normal(folder);
        let real = std::fs::canonicalize(folder).unwrap_or_else(|_| named.clone());
        if !self.roots.iter().any(|(other, _)| *other == named) {
            self.roots.push((named, real));
        }
    }

    /// Adds a folder that counts only where its real place is this one.
    pub(crate) fn add_real(&mut self, folder: &Path, real: PathBuf) {
        self.roots.push((normal(folder), real));
    }

    /// Whether a path, by its letters, is in the tree. Nothing is looked at.
    pub(crate) fn names(&self, path: &Path) -> bool {
        let path = normal(path);
        self.everywhere
            || self.roots.iter().any(|(named, real)| path.starts_with(named) || path.starts_with(real))
    }

    /// Whether a real path is in the tree.
    pub(crate) fn holds(&self, real: &Path) -> bool {
        self.everywhere || self.roots.iter().any(|(_, root)| real.starts_with(root))
    }

    /// Whether a root of the tree is in a folder.
    pub(crate) fn is_below(&self, folder: &Path) -> bool {
        self.roots.iter().any(|(_, root)| root.starts_with(folder))
    }

    /// The folders, for people.
    pub(crate) fn shown(&self) -> String {
        let shown: Vec<String> = self.roots.iter().map(|(named, _)| named.display().to_string()).collect();
        if shown.is_empty() { "none".to_owned() } else { shown.join(", ") }
    }
}

/// An absolute path without `.` and `..`, by its letters.
pub(crate) fn normal(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut normal = PathBuf::new();
    for component in absolute.components() {
        match component {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_climbs_out_is_outside() {
        let folder = tempfile::tempdir().unwrap();
        let tree = Tree::of(folder.path());
        assert!(tree.names(&folder.path().join("a/../b.yaml")));
        assert!(!tree.names(&folder.path().join("../b.yaml")));
        assert!(!tree.names(Path::new("/etc/passwd")));
        let beside = PathBuf::from(format!("{}-more/x", folder.path().display()));
        assert!(!tree.names(&beside), "a folder is not a prefix of letters");
        assert!(Tree::everywhere().names(Path::new("/etc/passwd")));
    }
}
