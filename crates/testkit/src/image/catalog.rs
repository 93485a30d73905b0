//! The images of clusters, with the names that kubeadm and flannel use.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::{Image, suites};
use crate::{cache, cloud_controller, flannel, kubernetes};

/// The image that holds a pod's namespaces.
pub const PAUSE: &str = "registry.k8s.io/pause:3.10.1";

/// The names of images in the add-ons of clusters on AWS. The images contain the built versions.
const ADDON_FLANNEL: &str = "ghcr.io/flannel-io/flannel:v0.27.4";
const ADDON_FLANNEL_PLUGIN: &str = "ghcr.io/flannel-io/flannel-cni-plugin:v1.8.0-flannel1";
const ADDON_CLOUD_CONTROLLER: &str = "registry.k8s.io/provider-aws/cloud-controller-manager:v1.36.1";

/// The path of busybox in the packages.
pub(super) const BUSYBOX_PROGRAM: &str = "/bin/busybox";

/// The commands of busybox that shells and tests use in other images.
const USUAL: [&str; 12] =
    ["cat", "cp", "hostname", "ip", "ls", "nc", "nslookup", "ping", "rm", "sh", "sleep", "wget"];

/// All images: those of kubeadm, of flannel, and of Kubernetes' own tests.
///
/// # Errors
/// When a program in them cannot be built, or a package is missing.
pub fn all() -> Result<Vec<Image>> {
    let programs = kubernetes::install()?;
    let version = kubernetes::VERSION;
    let mut images = vec![
        Image {
            name: PAUSE.to_owned(),
            files: vec![("/pause".to_owned(), kubernetes::install_pause()?)],
            entrypoint: vec!["/pause".to_owned()],
            user: "65535:65535".to_owned(),
            ..Image::default()
        },
        Image {
            name: format!("registry.k8s.io/coredns/coredns:v{}", kubernetes::COREDNS_VERSION),
            files: vec![("/coredns".to_owned(), kubernetes::install_coredns()?.join("coredns"))],
            entrypoint: vec!["/coredns".to_owned()],
            ..Image::default()
        },
    ];
    // The names are those that kubeadm and Kubernetes' own tests use; both contain the built version.
    for tag in ["3.6.4-0", "3.6.5-0"] {
        images.push(etcd(tag)?);
    }
    images.extend(of_kubernetes(&programs, version)?);
    let flannel = flannel::install()?;
    let mut daemon = with_busybox(packet_filters()?, &USUAL);
    daemon.name = format!("ghcr.io/flannel-io/flannel:v{}", flannel::VERSION);
    for program in ["flanneld", "install-conf"] {
        daemon.files.push((format!("/opt/bin/{program}"), flannel.join(program)));
    }
    daemon.entrypoint = vec!["/opt/bin/flanneld".to_owned()];
    images.push(Image { name: ADDON_FLANNEL.to_owned(), ..daemon.clone() });
    images.push(daemon);
    let mut plugin = with_busybox(Image::default(), &USUAL);
    plugin.name = flannel::PLUGIN_IMAGE.to_owned();
    plugin.files.push(("/flannel".to_owned(), flannel.join("flannel")));
    images.push(Image { name: ADDON_FLANNEL_PLUGIN.to_owned(), ..plugin.clone() });
    images.push(plugin);
    images.push(Image {
        name: ADDON_CLOUD_CONTROLLER.to_owned(),
        files: vec![("/bin/aws-cloud-controller-manager".to_owned(), cloud_controller::install()?)],
        entrypoint: vec!["/bin/aws-cloud-controller-manager".to_owned()],
        ..Image::default()
    });
    images.extend(suites::all(&programs)?);
    Ok(images)
}

/// The images of an older version of Kubernetes, each an archive: the folder with `kube-apiserver.tar` and so on, beside an image of
/// etcd by the name that this version has. The store of machines does not have them: `ctr images import` takes them there.
///
/// # Errors
/// When a program in them cannot be built, or a package is missing.
pub fn older() -> Result<PathBuf> {
    let version = kubernetes::OLDER_VERSION;
    let programs = kubernetes::install_older()?;
    cache::installed("older-images", version, |folder| {
        let images = of_kubernetes(&programs, version)?;
        let etcd = etcd(OLDER_ETCD)?;
        for image in images.into_iter().chain([etcd]) {
            let name = image.name.split([':', '/']).rev().nth(1).unwrap_or_default().to_owned();
            super::layout::write(&[image], &folder.join(format!("{name}.tar")))?;
        }
        Ok(())
    })
}

/// The tag of etcd's image that kubeadm uses for the older version.
const OLDER_ETCD: &str = "3.5.24-0";

/// The image of etcd with a tag; it contains the built version.
fn etcd(tag: &str) -> Result<Image> {
    let folder = kubernetes::install_etcd()?;
    Ok(Image {
        name: format!("registry.k8s.io/etcd:{tag}"),
        files: ["etcd", "etcdctl", "etcdutl"]
            .map(|name| (format!("/usr/local/bin/{name}"), folder.join(name)))
            .into(),
        // The disk survives the end of a machine, so etcd need not wait for it.
        variables: vec!["ETCD_UNSAFE_NO_FSYNC=true".to_owned()],
        ..Image::default()
    })
}

/// The images of one version of Kubernetes.
fn of_kubernetes(programs: &Path, version: &str) -> Result<Vec<Image>> {
    let image = |name: &str| Image {
        name: format!("registry.k8s.io/{name}:v{version}"),
        files: vec![(format!("/usr/local/bin/{name}"), programs.join(name))],
        ..Image::default()
    };
    let mut images: Vec<Image> =
        ["kube-apiserver", "kube-controller-manager", "kube-scheduler"].map(image).into();
    let mut proxy = packet_filters()?;
    let Image { name, files, .. } = image("kube-proxy");
    proxy.name = name;
    proxy.files.extend(files);
    images.push(proxy);
    Ok(images)
}

pub(super) fn with_busybox(mut image: Image, commands: &[&str]) -> Image {
    image.files.push((BUSYBOX_PROGRAM.to_owned(), BUSYBOX_PROGRAM.into()));
    image.links.extend(commands.iter().map(|name| (format!("/bin/{name}"), BUSYBOX_PROGRAM.to_owned())));
    image
}

/// The programs that configure the kernel's packet filter, with all files that they load.
fn packet_filters() -> Result<Image> {
    let mut image = Image::default();
    for family in ["iptables", "ip6tables"] {
        for suffix in ["", "-save", "-restore"] {
            image.links.push((format!("/usr/sbin/{family}{suffix}"), "xtables-nft-multi".to_owned()));
        }
    }
    let mut files: Vec<PathBuf> = ["xtables-nft-multi", "nft", "conntrack"]
        .iter()
        .map(|name| Path::new("/usr/sbin").join(name))
        .collect();
    for folder in fs::read_dir("/usr/lib")?.flatten() {
        // Matches and targets are loaded when a rule names them.
        let extensions = fs::read_dir(folder.path().join("xtables")).into_iter().flatten().flatten();
        files.extend(extensions.map(|entry| entry.path()));
    }
    add_linked(&mut image, files)?;
    Ok(image)
}

/// Adds programs and libraries at the paths that they have on this host, with their linked libraries.
pub(super) fn add_linked(image: &mut Image, files: impl IntoIterator<Item = PathBuf>) -> Result<()> {
    let mut files: Vec<PathBuf> = files.into_iter().collect();
    files.sort();
    // Extensions too: one of iptables needs a library that no program uses.
    let linked = said(Command::new("ldd").args(&files))?;
    let words =
        linked.lines().filter(|line| line.starts_with(char::is_whitespace)).flat_map(str::split_whitespace);
    let mut libraries: Vec<PathBuf> = words.filter(|word| word.starts_with('/')).map(PathBuf::from).collect();
    libraries.sort();
    libraries.dedup();
    for file in files.into_iter().chain(libraries) {
        let place = file.display().to_string();
        if !image.files.iter().any(|(known, _)| *known == place) {
            image.files.push((place, fs::canonicalize(&file)?));
        }
    }
    Ok(())
}

pub(super) fn said(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("{name} cannot be started"))?;
    Ok(String::from_utf8(output.stdout)?)
}
