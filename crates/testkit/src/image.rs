//! Images of containers, made from programs without a registry, and a store of containerd that has them.

use std::path::PathBuf;

mod catalog;
mod layout;
mod store;
mod suites;

pub use catalog::{PAUSE, all, older};
pub use layout::write;
pub use store::install;
pub use suites::{AGNHOST, BUSYBOX};

/// An image of one layer.
#[derive(Clone, Debug, Default)]
pub struct Image {
    /// Its name with registry and tag.
    pub name: String,
    /// The place in the image, and the file that is copied there. All can be executed.
    pub files: Vec<(String, PathBuf)>,
    /// The place in the image, and what the symbolic link there says.
    pub links: Vec<(String, String)>,
    /// Places of files that run as root, whoever starts them.
    pub as_root: Vec<String>,
    /// What is run, unless the container says otherwise.
    pub entrypoint: Vec<String>,
    /// What it is told, unless the container says otherwise.
    pub arguments: Vec<String>,
    /// Variables of its environment, as `NAME=value`, besides those that every image has.
    pub variables: Vec<String>,
    /// Who runs it, as numbers; root when empty.
    pub user: String,
}
