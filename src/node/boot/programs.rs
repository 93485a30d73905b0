//! Installs the programs that the image of the machine lacks.
//!
//! What was installed is recorded by its digest after all of it is in place.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use slipway_bootstrap::boot::{Layout, NodeBootstrap, ProgramFile, ProgramName};
use slipway_spec::model::ContainerRuntime;

use super::{Stop, unit};
use crate::error::CommandError;
use crate::files::{self, Readers};
use crate::node::facts::{below, init_system, program};

/// Downloads that are not in their place yet.
const DOWNLOADS: &str = "/var/lib/slipway/boot/downloads";
/// One file for each installed program, with the digest of its source.
const RECORDS: &str = "/var/lib/slipway/boot/programs";
/// The configuration of containerd.
const CONFIGURATION: &str = "/etc/containerd/config.toml";
/// Folders in which images have CNI plugins.
const PLUGINS: [&str; 3] = ["/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni"];
/// The settings of containerd that nodes need.
const OWN: &str = r#"version = 2
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = true
"#;
/// Where the programs of a node are looked for.
pub(super) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/bin";

/// Installs what the document names and the image lacks. Starts a container runtime that was installed.
pub(super) async fn install(document: &NodeBootstrap, root: &Path, pause: &str) -> Result<(), Stop> {
    let programs = document.programs();
    for file in &programs.files {
        if !is_plain(&file.sha256) {
            let text =
                format!("the digest of {} in the bootstrap document is no SHA-256", file.name.as_str());
            return Err(Stop::Refused(CommandError::new("NODE0021", text)));
        }
        if is_installed(root, file)? || is_in_image(document, file.name, root).await {
            continue;
        }
        let layout = layout(root)?;
        let folder = below(root, DOWNLOADS);
        fs::create_dir_all(&folder).map_err(|error| failed(&folder, &error))?;
        let fetched = slipway_programs::fetch(&programs.urls(file), &file.sha256, &folder).await;
        let download = fetched.map_err(|reasons| {
            let reasons = if reasons.is_empty() { "none is named".to_owned() } else { reasons.join("; ") };
            Stop::Waits(format!("waits for a mirror that has {}: {reasons}", file.name.as_str()))
        })?;
        place(root, &layout, (file, document.provider()), &download)
            .map_err(|error| failed(&download, &error))?;
        record(root, file)?;
        let _ = fs::remove_file(&download);
    }
    let is_ours = programs.files.iter().any(|file| file.name == ProgramName::Containerd);
    if is_ours && below(root, &record_of(ProgramName::Containerd)).exists() {
        start_containerd(document.runtime(), root, &layout(root)?, pause).await?;
    }
    Ok(())
}

fn is_plain(sha256: &str) -> bool {
    sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn failed(path: &Path, error: &io::Error) -> CommandError {
    CommandError::file("the program", path, error)
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
            CommandError::new("NODE0020", text).hint("use an image that has containerd and the kubelet"),
        )
    })
}

fn record_of(name: ProgramName) -> String {
    format!("{RECORDS}/{}", format!("{name:?}").to_lowercase())
}

/// Whether this very file was installed before.
fn is_installed(root: &Path, file: &ProgramFile) -> Result<bool, CommandError> {
    let path = below(root, &record_of(file.name));
    match fs::read_to_string(&path) {
        Ok(digest) => Ok(digest.trim() == file.sha256),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(failed(&path, &error)),
    }
}

fn record(root: &Path, file: &ProgramFile) -> Result<(), CommandError> {
    let path = below(root, &record_of(file.name));
    let write = || {
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
        files::write(&path, format!("{}\n", file.sha256).as_bytes(), Readers::AsUsual)
    };
    write().map_err(|error| failed(&path, &error))
}

/// Whether the image has the program. A program that Slipway has installed there, with another digest, is not
/// the image's.
async fn is_in_image(document: &NodeBootstrap, name: ProgramName, root: &Path) -> bool {
    if below(root, &record_of(name)).exists() {
        return false;
    }
    let Some(wanted) = name.program(document.provider()) else {
        return PLUGINS.iter().any(|folder| below(root, folder).join("loopback").exists());
    };
    let Some(path) = program(&wanted) else { return false };
    if name != ProgramName::Kubelet {
        return true;
    }
    let output = tokio::process::Command::new(path).arg("--version").output().await;
    let said = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    said.split_whitespace().last() == Some(format!("v{}", document.kubelet_version()).as_str())
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
    let source = File::open(download)?;
    if !file.name.is_archive() {
        let name = file.name.program(provider).unwrap_or_default();
        return slipway_programs::write(&folder, Path::new(&name), source);
    }
    let mut archive = tar::Archive::new(GzDecoder::new(source));
    for entry in archive.entries()? {
        let entry = entry?;
        let path = entry.path()?.into_owned();
        if let Some(name) = member(file.name, &path).filter(|_| entry.header().entry_type().is_file()) {
            slipway_programs::write(&folder, &name, entry)?;
        }
    }
    Ok(())
}

/// The name under which a file of an archive is installed; none for what is no program.
fn member(name: ProgramName, path: &Path) -> Option<PathBuf> {
    let path = path.strip_prefix("./").unwrap_or(path);
    let path = if name == ProgramName::Containerd { path.strip_prefix("bin").ok()? } else { path };
    let file = path.file_name().map(PathBuf::from)?;
    let is_documentation = ["README.md", "LICENSE"].iter().any(|known| file == Path::new(known));
    (path == file && !is_documentation && (name != ProgramName::Crictl || file == Path::new("crictl")))
        .then_some(file)
}

/// Writes configuration and unit of an installed containerd, unless the image has its own, and starts it.
async fn start_containerd(
    runtime: &ContainerRuntime,
    root: &Path,
    layout: &Layout,
    pause: &str,
) -> Result<(), CommandError> {
    let configuration = configuration(runtime, layout, pause)?;
    let unit = containerd_unit(layout);
    let place = format!("{}/containerd.service", layout.units);
    let mut changed = false;
    for (path, text) in [(CONFIGURATION, &configuration), (place.as_str(), &unit)] {
        let path = below(root, path);
        if fs::read_to_string(&path).is_ok_and(|there| there == *text) {
            continue;
        }
        let write = || {
            fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
            files::write(&path, text.as_bytes(), Readers::AsUsual)
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
fn configuration(runtime: &ContainerRuntime, layout: &Layout, pause: &str) -> Result<String, CommandError> {
    let unusable = |error: &dyn std::fmt::Display| {
        CommandError::new("NODE0021", "`runtime.extraConfig` of the bootstrap document is no TOML")
            .cause(error.to_string())
    };
    let sandbox = runtime.sandbox_image.as_deref().unwrap_or(pause);
    let plugins = layout.plugins;
    let mut cri = toml::Table::new();
    cri.insert("sandbox_image".to_owned(), sandbox.into());
    let bin = toml::Table::from_iter([("bin_dir".to_owned(), toml::Value::from(plugins))]);
    cri.insert("cni".to_owned(), bin.into());
    let cri = toml::Table::from_iter([("io.containerd.grpc.v1.cri".to_owned(), cri.into())]);
    let mut all: toml::Table = OWN.parse().map_err(|error: toml::de::Error| unusable(&error))?;
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

fn containerd_unit(layout: &Layout) -> String {
    format!(
        "[Unit]\n\
         Description=containerd: the container runtime\n\
         After=network.target local-fs.target\n\
         \n\
         [Service]\n\
         Type=notify\n\
         Environment=PATH={PATH}\n\
         ExecStartPre=-/sbin/modprobe --all overlay br_netfilter\n\
         ExecStart={}/containerd\n\
         Delegate=yes\n\
         KillMode=process\n\
         Restart=always\n\
         RestartSec=2\n\
         LimitNPROC=infinity\n\
         LimitCORE=infinity\n\
         TasksMax=infinity\n\
         OOMScoreAdjust=-999\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target\n",
        layout.programs
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEBIAN: &str = "ID=debian\nVERSION_ID=\"12\"\n";

    #[test]
    fn archives_give_their_programs_and_nothing_else() {
        let name = |name, path: &str| member(name, Path::new(path)).map(|path| path.display().to_string());
        assert_eq!(name(ProgramName::Containerd, "bin/ctr").as_deref(), Some("ctr"));
        assert_eq!(name(ProgramName::Containerd, "bin/../../etc/passwd"), None);
        assert_eq!(name(ProgramName::Containerd, "etc/passwd"), None);
        assert_eq!(name(ProgramName::CniPlugins, "./bridge").as_deref(), Some("bridge"));
        assert_eq!(name(ProgramName::CniPlugins, "./README.md"), None);
        assert_eq!(name(ProgramName::Crictl, "crictl").as_deref(), Some("crictl"));
        assert_eq!(name(ProgramName::Crictl, "other"), None);
    }

    #[test]
    fn a_program_is_placed_whole_and_for_everybody() {
        let root = tempfile::tempdir().unwrap();
        let layout = Layout::of(DEBIAN).unwrap();
        let mut archive =
            tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
        for (path, text) in [("bin/containerd", "one"), ("bin/ctr", "two"), ("share/doc", "three")] {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o600);
            archive.append_data(&mut header, path, text.as_bytes()).unwrap();
        }
        let download = root.path().join("download");
        fs::write(&download, archive.into_inner().unwrap().finish().unwrap()).unwrap();
        let file = ProgramFile { name: ProgramName::Containerd, path: String::new(), sha256: "a".repeat(64) };
        place(root.path(), &layout, (&file, "aws"), &download).unwrap();
        let folder = below(root.path(), layout.programs);
        let mut names: Vec<_> =
            fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["containerd", "ctr"]);
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(folder.join("ctr")).unwrap().permissions().mode() & 0o777, 0o755);
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
        assert!(error.message().contains("alpine 3.22"), "{}", error.message());
    }
}
