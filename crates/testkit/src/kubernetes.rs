//! The components of Kubernetes, built from their published Go modules.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::cache;
use crate::go::{self, Programs};

/// The version of Kubernetes that is built, without its `v`.
pub const VERSION: &str = "1.34.4";

/// An older minor version, from which clusters are upgraded to [`VERSION`].
pub const OLDER_VERSION: &str = "1.33.13";

/// The version of etcd that is built.
pub const ETCD_VERSION: &str = "3.6.16";

/// The version of CoreDNS that is built: the one that this version of kubeadm asks for.
pub const COREDNS_VERSION: &str = "1.12.1";

/// The programs of Kubernetes that are built.
const PROGRAMS: [&str; 7] = [
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubelet",
    "kubeadm",
    "kube-proxy",
    "kubectl",
];

/// The programs that run in a cluster, in the order of an upgrade.
const IN_CLUSTERS: [&str; 5] =
    ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubelet"];

/// The package of Kubernetes' sample of an aggregated API server, and its program.
const SAMPLE_APISERVER: (&str, &str) = ("k8s.io/sample-apiserver", "sample-apiserver");

/// The name of the folder of [`install_tested`].
const TESTED: &str = "tested";

/// The plugins of CoreDNS that kubeadm's configuration names, and those that users add for debugging.
const COREDNS_PLUGINS: [&str; 13] = [
    "cache",
    "errors",
    "forward",
    "health",
    "hosts",
    "kubernetes",
    "loadbalance",
    "log",
    "loop",
    "metrics",
    "ready",
    "reload",
    "rewrite",
];

/// Builds Kubernetes if need be, and gives the folder with its programs: those of the control plane, `kubelet`,
/// `kubeadm`, `kube-proxy`, `kubectl`, and `agnhost`, the program that Kubernetes' own tests run in pods.
///
/// # Errors
/// When there is no Go, or they cannot be built.
pub fn install() -> Result<PathBuf> {
    cache::installed("kubernetes", VERSION, |folder| {
        let mut programs = kubernetes_module(VERSION)?;
        programs.packages.extend(PROGRAMS.map(package));
        programs.packages.push(("k8s.io/kubernetes/test/images/agnhost".to_owned(), "agnhost".to_owned()));
        programs.build(folder)
    })
}

/// Builds the older version if need be, and gives the folder with those of its programs that run in a cluster.
///
/// # Errors
/// When there is no Go, or they cannot be built.
pub fn install_older() -> Result<PathBuf> {
    cache::installed("kubernetes", OLDER_VERSION, |folder| {
        let mut programs = kubernetes_module(OLDER_VERSION)?;
        programs.packages.extend(IN_CLUSTERS.map(package));
        programs.build(folder)
    })
}

/// The package of a program of Kubernetes, and the program.
fn package(program: &str) -> (String, String) {
    (format!("k8s.io/kubernetes/cmd/{program}"), program.to_owned())
}

/// Builds what some conformance specs run in pods besides `agnhost` if need be, and gives the folder with `nonewprivs` and
/// `sample-apiserver`. The images of these are there from then on.
///
/// # Errors
/// When there is no Go, or they cannot be built.
pub fn install_tested() -> Result<PathBuf> {
    cache::installed(TESTED, VERSION, |folder| {
        let mut programs = kubernetes_module(VERSION)?;
        for (package, program) in
            [("k8s.io/kubernetes/test/images/nonewprivs", "nonewprivs"), SAMPLE_APISERVER]
        {
            programs.packages.push((package.to_owned(), program.to_owned()));
        }
        programs.build(folder)
    })
}

/// Builds Kubernetes' sample of an aggregated API server if need be, and gives the program.
///
/// # Errors
/// When there is no Go, or it cannot be built.
pub fn install_sample_apiserver() -> Result<PathBuf> {
    let folder = cache::installed("sample-apiserver", VERSION, |folder| {
        let mut programs = kubernetes_module(VERSION)?;
        let (package, program) = SAMPLE_APISERVER;
        programs.packages.push((package.to_owned(), program.to_owned()));
        programs.build(folder)
    })?;
    Ok(folder.join(SAMPLE_APISERVER.1))
}

/// The folder of [`install_tested`], when that has been called here before.
pub(crate) fn tested() -> Result<Option<PathBuf>> {
    let folder = cache::place(TESTED, VERSION)?;
    Ok(folder.is_dir().then_some(folder))
}

/// Builds the program of the container that holds a pod's namespaces if need be, and gives it.
///
/// # Errors
/// When Kubernetes' sources cannot be fetched, or there is no C compiler.
pub fn install_pause() -> Result<PathBuf> {
    let folder = cache::installed("pause", VERSION, |folder| {
        let kubernetes = go::fetch("k8s.io/kubernetes", &format!("v{VERSION}"))?.folder;
        let mut compiler = Command::new("cc");
        compiler.args(["-Os", "-static", "-s", "-DVERSION=v3.10.1", "-o"]).arg(folder.join("pause"));
        cache::run(compiler.arg(kubernetes.join("build/pause/linux/pause.c")))
    })?;
    Ok(folder.join("pause"))
}

/// Builds etcd if need be, and gives the folder with `etcd`, `etcdctl` and `etcdutl`.
///
/// # Errors
/// When there is no Go, or they cannot be built.
pub fn install_etcd() -> Result<PathBuf> {
    cache::installed("etcd", ETCD_VERSION, |folder| {
        let mut programs = Programs::default();
        for (part, program) in [("server", "etcd"), ("etcdctl", "etcdctl"), ("etcdutl", "etcdutl")] {
            let module = format!("go.etcd.io/etcd/{part}/v3");
            programs.modules.push((module.clone(), format!("v{ETCD_VERSION}")));
            programs.packages.push((module, program.to_owned()));
        }
        programs.build(folder)
    })
}

/// Builds CoreDNS if need be, with the plugins that a cluster's DNS uses, and returns the folder with
/// `coredns`.
///
/// The other plugins need the SDKs of many clouds, which take longer to build than all the rest.
///
/// # Errors
/// When there is no Go, or it cannot be built.
pub fn install_coredns() -> Result<PathBuf> {
    cache::installed("coredns", COREDNS_VERSION, |folder| {
        let module = "github.com/coredns/coredns";
        let mut main = format!("package main\n\nimport (\n\t\"{module}/coremain\"\n");
        for plugin in COREDNS_PLUGINS {
            main += &format!("\t_ \"{module}/plugin/{plugin}\"\n");
        }
        main += ")\n\nfunc main() { coremain.Run() }\n";
        Programs {
            modules: vec![(module.to_owned(), format!("v{COREDNS_VERSION}"))],
            packages: vec![("./coredns".to_owned(), "coredns".to_owned())],
            files: vec![("coredns/main.go".to_owned(), main)],
            ..Programs::default()
        }
        .build(folder)
    })
}

/// Builds kubeadm's own end-to-end suite if need be, and gives the program; [`suite::run`](crate::suite::run) runs it.
///
/// # Errors
/// When there is no Go, or it cannot be built.
pub fn e2e_kubeadm() -> Result<PathBuf> {
    suite("e2e-kubeadm", "k8s.io/kubernetes/test/e2e_kubeadm")
}

/// Builds the end-to-end suite of Kubernetes if need be, conformance included, and gives the program. That takes two
/// minutes of two processors, and a gigabyte of Go's cache.
///
/// # Errors
/// When there is no Go, or it cannot be built.
pub fn e2e() -> Result<PathBuf> {
    suite("e2e", "k8s.io/kubernetes/test/e2e")
}

/// Builds Ginkgo if need be, and gives the program: it runs the specs of a suite in several processes.
///
/// # Errors
/// When there is no Go, or it cannot be built.
pub fn install_ginkgo() -> Result<PathBuf> {
    let folder = cache::installed("ginkgo", &format!("of-kubernetes-{VERSION}"), |folder| {
        // The versions of suite and program must be equal: the one that Kubernetes requires.
        let mut programs = kubernetes_module(VERSION)?;
        programs.packages.push(("github.com/onsi/ginkgo/v2/ginkgo".to_owned(), "ginkgo".to_owned()));
        programs.build(folder)
    })?;
    Ok(folder.join("ginkgo"))
}

fn suite(name: &str, package: &str) -> Result<PathBuf> {
    // Ginkgo recognises the program of a suite by this suffix.
    let program = format!("{name}.test");
    let version = format!("{VERSION}-test");
    let folder = cache::installed(name, &version, |folder| {
        kubernetes_module(VERSION)?.build_tests(package, &folder.join(&program))
    })?;
    Ok(folder.join(program))
}

/// A module that requires Kubernetes.
///
/// Its own `go.mod` requires the modules of its `staging` folder as version 0.0.0, which is not published.
/// Their published minor and patch versions are those of Kubernetes.
fn kubernetes_module(version: &str) -> Result<Programs> {
    let published = format!("v0.{}", version.trim_start_matches("1."));
    let file = fs::read_to_string(go::fetch("k8s.io/kubernetes", &format!("v{version}"))?.file)?;
    let mut replacements: Vec<_> = file
        .lines()
        .filter_map(|line| line.trim().strip_suffix(" v0.0.0"))
        .map(|module| (module.to_owned(), format!("{module} {published}")))
        .collect();
    replacements.sort();
    let minor = version.split('.').nth(1).unwrap_or_default();
    let stamps = [
        ("gitVersion", format!("v{version}")),
        ("gitMajor", "1".to_owned()),
        ("gitMinor", minor.to_owned()),
        ("gitCommit", "0".repeat(40)),
        ("gitTreeState", "clean".to_owned()),
    ];
    let stamp = |(name, value): &(&str, String)| format!("-X k8s.io/component-base/version.{name}={value}");
    Ok(Programs {
        modules: vec![("k8s.io/kubernetes".to_owned(), format!("v{version}"))],
        replacements,
        linker_flags: stamps.iter().map(stamp).collect::<Vec<_>>().join(" "),
        ..Programs::default()
    })
}
