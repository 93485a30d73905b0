//! Installs ahead what the tests would install for themselves.

use std::path::PathBuf;
use std::time::Instant;

use slipway_testkit::{
    Azurite, Chromium, FakeGcs, Gitea, Moto, age, cache, cloud_controller, cluster_api, etcd_tests, flannel,
    image, kube_bench, kubernetes, machine, packages, promtool,
};

use crate::output::say;

/// Installs what the tests start into the user's cache folder, and removes from it what only earlier builds used.
///
/// Tests do that themselves when something is missing; done ahead, no test has to wait for it. Azurite comes through npm,
/// moto comes through pip unless `python3` has it, everything else is built with Go. Chromium, promtool and what machines need are
/// system packages (apt, as root). Machines also need a store of images, which only root can fill.
#[derive(clap::Args)]
pub struct Setup {
    /// Only these.
    #[arg(long, value_name = "PART", value_enum)]
    only: Vec<Part>,
    /// The end-to-end suite of Kubernetes too, conformance included. It takes minutes and some gigabytes to build.
    #[arg(long)]
    conformance: bool,
}

/// What is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Part {
    /// Emulators of clouds, a forge, age, and promtool.
    Clouds,
    /// A browser, from the system's packages.
    Browser,
    /// Kubernetes, etcd and kubeadm's end-to-end suite.
    Kubernetes,
    /// Packages and images for machines.
    Machines,
}

type Install = fn() -> anyhow::Result<PathBuf>;

const CLOUDS: [(&str, Install); 6] = [
    ("Azurite", Azurite::install),
    ("fake-gcs-server", FakeGcs::install),
    ("age", age::install),
    ("Gitea", Gitea::install),
    ("moto", Moto::install),
    ("promtool", promtool::install),
];

const BROWSER: [(&str, Install); 1] = [("Chromium", Chromium::install)];

const KUBERNETES: [(&str, Install); 8] = [
    ("etcd", kubernetes::install_etcd),
    ("tests of etcd", etcd_tests::install),
    ("Kubernetes", kubernetes::install),
    ("an older Kubernetes", kubernetes::install_older),
    ("kubeadm's end-to-end suite", kubernetes::e2e_kubeadm),
    ("Ginkgo", kubernetes::install_ginkgo),
    ("the sample of an aggregated API server", kubernetes::install_sample_apiserver),
    ("the kinds of Cluster API", cluster_api::install),
];

const CONFORMANCE: [(&str, Install); 2] = [
    ("the end-to-end suite of Kubernetes", kubernetes::e2e),
    ("what it runs in pods", kubernetes::install_tested),
];

const MACHINES: [(&str, Install); 7] = [
    ("the program of sandboxes", kubernetes::install_pause),
    ("CoreDNS", kubernetes::install_coredns),
    ("the cloud controller manager of AWS", cloud_controller::install),
    ("flannel", flannel::install),
    ("kube-bench", kube_bench::install),
    ("the store of images", || Ok(image::Store::take()?.root())),
    ("images of an older Kubernetes", image::older),
];

impl Setup {
    /// The task for these parts.
    pub fn of(only: Vec<Part>) -> Self {
        Self { only, conformance: false }
    }

    /// Runs the task.
    ///
    /// # Errors
    /// When something cannot be installed.
    pub fn run(&self) -> anyhow::Result<()> {
        let wanted = |part| self.only.is_empty() || self.only.contains(&part);
        let start = Instant::now();
        remove_unused()?;
        if wanted(Part::Clouds) {
            install(&CLOUDS)?;
        }
        if wanted(Part::Browser) {
            install(&BROWSER)?;
        }
        if wanted(Part::Kubernetes) {
            install(&KUBERNETES)?;
        }
        if self.conformance {
            install(&CONFORMANCE)?;
        }
        if wanted(Part::Machines) {
            let start = Instant::now();
            match packages::install()?.join(", ") {
                new if new.is_empty() => say("packages: all are there"),
                new => say(&format!("packages: {new} ({:.1} s)", start.elapsed().as_secs_f64())),
            }
            install(&MACHINES)?;
        }
        say(&format!("all is there ({:.1} s)", start.elapsed().as_secs_f64()));
        Ok(())
    }
}

/// Removes from the cache what earlier builds used: their copies of the program, and their stores of images.
///
/// # Errors
/// When the cache cannot be read, or something cannot be removed.
pub fn remove_unused() -> anyhow::Result<()> {
    for component in [image::STORES, machine::COPIES] {
        for folder in cache::remove_unused(component)? {
            say(&format!("removed {}: no build has used it for an hour", folder.display()));
        }
    }
    Ok(())
}

fn install(parts: &[(&str, Install)]) -> anyhow::Result<()> {
    for (name, install) in parts {
        let start = Instant::now();
        let place = install()?;
        say(&format!("{name}: {} ({:.1} s)", place.display(), start.elapsed().as_secs_f64()));
    }
    Ok(())
}
