//! A containerd store with all images: filled once, and given to machines by hard links.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use aws_lc_rs::digest::{SHA256, digest};

use super::{Image, catalog, layout};
use crate::cache::InUse;
use crate::process::Process;
use crate::scratch::Scratch;
use crate::wait::until;
use crate::{cache, packages};

/// containerd without its Kubernetes plugin, which needs a network.
const CONFIGURATION: &str = "version = 2\ndisabled_plugins = [\"io.containerd.grpc.v1.cri\"]\n";

/// The component of the cache whose versions are the stores.
pub const STORES: &str = "images";

/// The store of all images. It stays while a value of it lives in any process, also when others build programs for images.
#[derive(Debug)]
pub struct Store(InUse);

impl Store {
    /// Takes the store, after filling it if need be. Removes stores of earlier images that are not in use and were not used
    /// lately.
    ///
    /// Only its databases (`*.db`) are ever changed; blobs and unpacked layers are immutable, and may be shared
    /// between machines.
    ///
    /// # Errors
    /// When this is not root, a package or a program is missing, or the images cannot be imported.
    pub fn take() -> Result<Self> {
        packages::install()?;
        let images = catalog::all()?;
        InUse::take(STORES, &version(&images)?, |folder| fill(&images, folder)).map(Self)
    }

    /// The root folder for containerd.
    #[must_use]
    pub fn root(&self) -> PathBuf {
        self.0.folder().join("containerd")
    }
}

/// Identifies a store by its images, their contents, and the format of the store.
fn version(images: &[Image]) -> Result<String> {
    let mut text = format!("{images:?}{}", include_str!("layout.rs"));
    for (_, source) in images.iter().flat_map(|image| &image.files) {
        let file = fs::metadata(source).with_context(|| source.display().to_string())?;
        text += &format!("{} {} ", file.size(), file.mtime());
    }
    Ok(layout::hex(&digest(&SHA256, text.as_bytes()).as_ref()[..6]))
}

fn fill(images: &[Image], folder: &Path) -> Result<()> {
    if !rustix::process::geteuid().is_root() {
        bail!("only root can unpack images for machines");
    }
    let archive = folder.join("images.tar");
    layout::write(images, &archive)?;
    let scratch = Scratch::new("images")?;
    let (configuration, socket) = (scratch.path().join("config.toml"), scratch.path().join("socket"));
    fs::write(&configuration, CONFIGURATION)?;
    let mut containerd = Command::new("unshare");
    // Layers are mounted while they are unpacked. Other processes must not see these mounts.
    containerd.args(["--mount", "--propagation", "private", "containerd", "--config"]).arg(&configuration);
    containerd.arg("--root").arg(folder.join("containerd")).arg("--state").arg(scratch.path().join("state"));
    containerd.arg("--address").arg(&socket);
    let containerd = Process::start(&containerd, &scratch.path().join("log"))?;
    let ctr = |arguments: &[&str]| {
        let mut ctr = Command::new("ctr");
        ctr.arg("--address").arg(&socket).args(["--namespace", "k8s.io"]).args(arguments);
        ctr
    };
    until("containerd answers", || {
        containerd.running()?;
        Ok(ctr(&["version"]).output()?.status.success().then_some(()))
    })?;
    cache::run(ctr(&["images", "import", "--snapshotter", "overlayfs"]).arg(&archive))?;
    drop(containerd);
    Ok(fs::remove_file(archive)?)
}
