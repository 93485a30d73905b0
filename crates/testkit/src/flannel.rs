//! flannel, the network of pods that tests install, and its plugin for the container runtime.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::cache;
use crate::go::{self, Programs};

/// The version of flannel that is built, without its `v`.
pub const VERSION: &str = "0.28.10";

/// The version of the reference plugins that flannel's own plugin is built from: the last that had it.
const PLUGINS_VERSION: &str = "1.0.0-rc1";

/// The name of the image that has the plugin, as this version's documentation has it.
pub const PLUGIN_IMAGE: &str = "ghcr.io/flannel-io/flannel-cni-plugin:v1.9.1-flannel3";

/// The packages that are left out: they need C, or the SDK of a cloud that is not tested here.
const LEFT_OUT: [&str; 2] = ["tencentvpc", "udp"];

/// Builds flannel if need be, and returns the folder with `flanneld`, its helper `install-conf`, the plugin
/// `flannel`, and `kube-flannel.yml`, the objects that its documentation tells users to apply.
///
/// # Errors
/// When there is no Go, or they cannot be built.
pub fn install() -> Result<PathBuf> {
    cache::installed("flannel", &format!("{VERSION}-plugin-{PLUGINS_VERSION}"), |folder| {
        let module = "github.com/flannel-io/flannel".to_owned();
        let sources = folder.join("sources");
        copy(&go::fetch(&module, &format!("v{VERSION}"))?.folder, &sources)?;
        fs::copy(sources.join("Documentation/kube-flannel.yml"), folder.join("kube-flannel.yml"))?;
        for name in LEFT_OUT {
            let backend = sources.join("pkg/backend").join(name);
            fs::remove_dir_all(&backend)?;
            fs::create_dir(&backend)?;
            fs::write(backend.join("nothing.go"), format!("package {name}\n"))?;
        }
        let daemon = Programs {
            modules: vec![(module.clone(), format!("v{VERSION}"))],
            replacements: vec![(module.clone(), sources.display().to_string())],
            packages: vec![
                (format!("{module}/cmd/install_conf"), "install-conf".to_owned()),
                (module, "flanneld".to_owned()),
            ],
            ..Programs::default()
        };
        daemon.build(folder)?;
        let plugins = "github.com/containernetworking/plugins";
        let plugin = Programs {
            modules: vec![(plugins.to_owned(), format!("v{PLUGINS_VERSION}"))],
            packages: vec![(format!("{plugins}/plugins/meta/flannel"), "flannel".to_owned())],
            ..Programs::default()
        };
        plugin.build(folder)?;
        Ok(fs::remove_dir_all(sources)?)
    })
}

/// Copies a read-only folder of Go, so that its copy can be changed.
fn copy(from: &Path, to: &Path) -> Result<()> {
    cache::run(Command::new("cp").args(["-r", "--no-preserve=mode"]).arg(from).arg(to))
}
