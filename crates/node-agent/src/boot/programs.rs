//! Installs the programs that the image of the machine lacks.
//!
//! What was installed is recorded by its digest after all of it is in place.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use slipway_bootstrap::boot::{DocumentReference, Layout, NodeBootstrap, ProgramFile, ProgramName, Programs};
use slipway_bootstrap::container_runtime;
use slipway_limits::replace::{self, Readers};
use slipway_programs::Contents;
use slipway_spec::model::ContainerRuntime;

use super::mirrors::Mirrors;
use super::{Stop, unit};
use crate::code;
use crate::error::Error;
use crate::facts::{below, init_system, program};

/// Downloads that are not in their place yet.
const DOWNLOADS: &str = "/var/lib/slipway/boot/downloads";
/// One file for each installed program, with the digest of its source.
const RECORDS: &str = "/var/lib/slipway/boot/programs";
/// The configuration of containerd.
const CONFIGURATION: &str = container_runtime::CONFIGURATION_PATH;
/// Folders in which images have CNI plugins.
const PLUGINS: [&str; 3] = ["/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni"];

/// Installs what the document names and the image lacks. Starts a container runtime that was installed.
pub(super) async fn install(
    document: &NodeBootstrap,
    root: &Path,
    pause: &str,
    mirrors: &Mirrors,
) -> Result<(), Stop> {
    let programs = document.programs();
    let wanted = Wanted { programs, provider: document.provider(), kubelet: document.kubelet_version() };
    for file in &programs.files {
        wanted.install(file, root, mirrors).await?;
    }
    let is_ours = programs.files.iter().any(|file| file.name == ProgramName::Containerd);
    if is_ours && below(root, &record_of(ProgramName::Containerd)).exists() {
        start_containerd(document.runtime(), root, &layout(root)?, pause).await?;
    }
    Ok(())
}

/// Installs one of the programs of a machine that has no document yet, if its image lacks the program.
pub(super) async fn install_one(
    reference: &DocumentReference,
    name: ProgramName,
    root: &Path,
    mirrors: &Mirrors,
) -> Result<(), Stop> {
    let programs = reference.programs();
    let wanted = Wanted { programs, provider: reference.provider(), kubelet: reference.kubelet_version() };
    match programs.files.iter().find(|file| file.name == name) {
        Some(file) => wanted.install(file, root, mirrors).await,
        None => Ok(()),
    }
}

/// The programs of a machine.
struct Wanted<'a> {
    programs: &'a Programs,
    /// The provider of the cloud.
    provider: &'a str,
    /// The version of the kubelet.
    kubelet: String,
}

impl Wanted<'_> {
    /// Installs the programs of a file, unless the image has them.
    async fn install(&self, file: &ProgramFile, root: &Path, mirrors: &Mirrors) -> Result<(), Stop> {
        if !is_plain(&file.sha256) {
            let text =
                format!("the digest of {} in the bootstrap document is no SHA-256", file.name.as_str());
            return Err(Stop::Refused(Error::new(code::DOCUMENT, text)));
        }
        if is_installed(root, file)? || self.is_in_image(file.name, root).await {
            return Ok(());
        }
        let layout = layout(root)?;
        let folder = below(root, DOWNLOADS);
        fs::create_dir_all(&folder).map_err(|error| failed(&folder, &error))?;
        let urls = self.programs.urls(file);
        let fetched = slipway_programs::fetch_with(&urls, &file.sha256, &folder, mirrors).await;
        let download = fetched.map_err(|reasons| {
            let reasons = if reasons.is_empty() { "none is named".to_owned() } else { reasons.join("; ") };
            Stop::Waits(format!("waits for a mirror that has {}: {reasons}", file.name.as_str()))
        })?;
        place(root, &layout, (file, self.provider), &download).map_err(|error| failed(&download, &error))?;
        record(root, file)?;
        let _ = fs::remove_file(&download);
        Ok(())
    }

    /// Whether the image has the program. A program that Slipway has installed there, with another digest, is not
    /// the image's.
    async fn is_in_image(&self, name: ProgramName, root: &Path) -> bool {
        if below(root, &record_of(name)).exists() {
            return false;
        }
        let Some(wanted) = name.program(self.provider) else {
            return PLUGINS.iter().any(|folder| below(root, folder).join("loopback").exists());
        };
        let Some(path) = program(&wanted) else { return false };
        if name != ProgramName::Kubelet {
            return true;
        }
        let output = tokio::process::Command::new(path).arg("--version").output().await;
        let said =
            output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        said.split_whitespace().last() == Some(format!("v{}", self.kubelet).as_str())
    }
}

fn is_plain(sha256: &str) -> bool {
    sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn failed(path: &Path, error: &io::Error) -> Error {
    Error::file("the program", path, error)
}

/// How this operating system is laid out.
fn layout(root: &Path) -> Result<Layout, Stop> {
    let text = ["/etc/os-release", "/usr/lib/os-release"]
        .iter()
        .find_map(|path| fs::read_to_string(below(root, path)).ok())
        .unwrap_or_default();
    Layout::of(&text).map_err(|system| {
        let text = format!("programs are not installed on this operating system: {system}");
        Stop::Refused(
            Error::new(code::OPERATING_SYSTEM, text).hint("use an image that has containerd and the kubelet"),
        )
    })
}

fn record_of(name: ProgramName) -> String {
    format!("{RECORDS}/{}", format!("{name:?}").to_lowercase())
}

/// Whether this very file was installed before.
fn is_installed(root: &Path, file: &ProgramFile) -> Result<bool, Error> {
    let path = below(root, &record_of(file.name));
    match fs::read_to_string(&path) {
        Ok(digest) => Ok(digest.trim() == file.sha256),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(failed(&path, &error)),
    }
}

fn record(root: &Path, file: &ProgramFile) -> Result<(), Error> {
    let path = below(root, &record_of(file.name));
    let write = || {
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
        replace::write(&path, format!("{}\n", file.sha256).as_bytes(), Readers::AsUsual)
    };
    write().map_err(|error| failed(&path, &error))
}

/// Puts the programs of a file into their places.
fn place(
    root: &Path,
    layout: &Layout,
    (file, provider): (&ProgramFile, &str),
    download: &Path,
) -> io::Result<()> {
    let folder = match file.name {
        ProgramName::CniPlugins => below(root, layout.plugins),
        _ => below(root, layout.programs),
    };
    fs::create_dir_all(&folder)?;
    let name = file.name.program(provider).unwrap_or_default();
    let contents = match file.name {
        ProgramName::Containerd => Contents::Archive { folder: "bin", only: None },
        ProgramName::CniPlugins => Contents::Archive { folder: "", only: None },
        ProgramName::Crictl => Contents::Archive { folder: "", only: Some(&name) },
        ProgramName::Runc | ProgramName::Kubelet | ProgramName::Provider => Contents::Program(&name),
    };
    slipway_programs::unpack(contents, File::open(download)?, &folder).map(drop)
}

/// Writes configuration and unit of an installed containerd, unless the image has its own, and starts it.
async fn start_containerd(
    runtime: &ContainerRuntime,
    root: &Path,
    layout: &Layout,
    pause: &str,
) -> Result<(), Error> {
    let configuration = configuration(runtime, layout, pause)?;
    let unit = container_runtime::unit(layout.programs);
    let place = format!("{}/containerd.service", layout.units);
    let mut changed = false;
    for (path, text) in [(CONFIGURATION, &configuration), (place.as_str(), &unit)] {
        let path = below(root, path);
        if fs::read_to_string(&path).is_ok_and(|there| there == *text) {
            continue;
        }
        let write = || {
            fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
            replace::write(&path, text.as_bytes(), Readers::AsUsual)
        };
        write().map_err(|error| failed(&path, &error))?;
        changed = true;
    }
    if init_system(root) != "systemd" {
        return Ok(());
    }
    if changed {
        unit::systemctl(&["daemon-reload"]).await?;
        unit::systemctl(&["enable", "containerd.service"]).await?;
        return unit::systemctl(&["restart", "containerd.service"]).await;
    }
    unit::systemctl(&["start", "containerd.service"]).await
}

/// The configuration of containerd: the settings for nodes, overridden by those of the spec. containerd 1 and
/// 2 read it.
fn configuration(runtime: &ContainerRuntime, layout: &Layout, pause: &str) -> Result<String, Error> {
    let unusable = |error: &dyn std::fmt::Display| {
        Error::new(code::DOCUMENT, "`runtime.extraConfig` of the bootstrap document is no TOML")
            .cause(error.to_string())
    };
    let sandbox = runtime.sandbox_image.as_deref().unwrap_or(pause);
    let plugins = layout.plugins;
    let mut cri = toml::Table::new();
    cri.insert("sandbox_image".to_owned(), sandbox.into());
    let bin = toml::Table::from_iter([("bin_dir".to_owned(), toml::Value::from(plugins))]);
    cri.insert("cni".to_owned(), bin.into());
    let cri = toml::Table::from_iter([("io.containerd.grpc.v1.cri".to_owned(), cri.into())]);
    let mut all: toml::Table =
        container_runtime::CONFIGURATION.parse().map_err(|error: toml::de::Error| unusable(&error))?;
    merge(&mut all, toml::Table::from_iter([("plugins".to_owned(), cri.into())]));
    if let Some(extra) = &runtime.extra_config {
        merge(&mut all, extra.parse().map_err(|error: toml::de::Error| unusable(&error))?);
    }
    let text = toml::to_string(&all).map_err(|error| unusable(&error))?;
    Ok(format!("# Written by Slipway.\n{text}"))
}

/// Puts one table over another.
fn merge(below: &mut toml::Table, above: toml::Table) {
    for (key, value) in above {
        match (below.get_mut(&key), value) {
            (Some(toml::Value::Table(inner)), toml::Value::Table(value)) => merge(inner, value),
            (_, value) => drop(below.insert(key, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEBIAN: &str = "ID=debian\nVERSION_ID=\"12\"\n";

    #[test]
    fn a_program_is_placed_whole_and_for_everybody() {
        let root = tempfile::tempdir().unwrap();
        let layout = Layout::of(DEBIAN).unwrap();
        let download = root.path().join("download");
        fs::write(&download, "the program").unwrap();
        let file = ProgramFile { name: ProgramName::Runc, path: String::new(), sha256: "a".repeat(64) };
        place(root.path(), &layout, (&file, "aws"), &download).unwrap();
        let folder = below(root.path(), layout.programs);
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(folder.join("runc")).unwrap().permissions().mode() & 0o777, 0o755);
        assert!(!is_installed(root.path(), &file).unwrap());
        record(root.path(), &file).unwrap();
        assert!(is_installed(root.path(), &file).unwrap());
    }

    #[test]
    fn settings_of_the_spec_are_put_over_those_of_nodes() {
        let layout = Layout::of(DEBIAN).unwrap();
        let extra = "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc.options]\nSystemdCgroup = false\n";
        let runtime =
            ContainerRuntime { extra_config: Some(extra.to_owned()), ..ContainerRuntime::default() };
        let text = configuration(&runtime, &layout, "registry/pause:1").unwrap();
        let all: toml::Table = text.parse().unwrap();
        let cri = &all["plugins"]["io.containerd.grpc.v1.cri"];
        assert_eq!(cri["sandbox_image"].as_str(), Some("registry/pause:1"));
        assert_eq!(cri["cni"]["bin_dir"].as_str(), Some("/opt/cni/bin"));
        assert_eq!(cri["containerd"]["runtimes"]["runc"]["options"]["SystemdCgroup"].as_bool(), Some(false));
        let wrong = ContainerRuntime { extra_config: Some("a = ".to_owned()), ..ContainerRuntime::default() };
        assert!(configuration(&wrong, &layout, "").is_err());
    }

    #[test]
    fn an_unknown_operating_system_is_named() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("etc")).unwrap();
        fs::write(root.path().join("etc/os-release"), "ID=alpine\nVERSION_ID=3.22\n").unwrap();
        let Err(Stop::Refused(error)) = layout(root.path()) else { panic!() };
        assert!(error.to_string().contains("alpine 3.22"), "{error}");
    }
}
