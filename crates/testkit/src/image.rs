//! Container images that are made from programs without a registry, and a containerd store with all of them.

use std::path::PathBuf;

mod catalog;
mod layout;
mod store;
mod suites;

pub use catalog::{PAUSE, all, older};
pub use layout::write;
pub use store::{STORES, Store};
pub use suites::{AGNHOST, BUSYBOX};

/// An image of one layer.
#[derive(Clone, Debug, Default)]
pub struct Image {
    /// Its name with registry and tag.
    pub name: String,
    /// The path in the image, and the file that is copied there. All files are executable.
    pub files: Vec<(String, PathBuf)>,
    /// The path in the image, and the target of the symbolic link there.
    pub links: Vec<(String, String)>,
    /// Paths of setuid files, which run as root for every user.
    pub as_root: Vec<String>,
    /// The command, unless the container overrides it.
    pub entrypoint: Vec<String>,
    /// Its arguments, unless the container overrides them.
    pub arguments: Vec<String>,
    /// Variables of its environment, as `NAME=value`, besides those that every image has.
    pub variables: Vec<String>,
    /// Its user, as numbers; root when empty.
    pub user: String,
}
