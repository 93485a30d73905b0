//! kubeadm, and the folders that it works in.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use slipway_bootstrap::configuration::{Configuration, Detected, EncryptionAlgorithm};
use tempfile::TempDir;

/// The real kubeadm.
pub fn kubeadm() -> PathBuf {
    slipway_testkit::kubernetes::install().unwrap().join("kubeadm")
}

/// The output of a run of kubeadm, on both streams; it must have succeeded.
pub fn run(arguments: &[&str]) -> String {
    let output = try_run(arguments);
    let text = text(&output);
    assert!(output.status.success(), "kubeadm {}: {text}", arguments.join(" "));
    text
}

/// A run of kubeadm that may fail.
pub fn try_run(arguments: &[&str]) -> Output {
    Command::new(kubeadm()).args(arguments).output().unwrap()
}

pub fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A folder with a configuration and a place for certificates and kubeconfigs.
pub struct Place {
    folder: TempDir,
    pub configuration: Configuration,
}

impl Place {
    /// A cluster like those of kubeadm's documentation, with keys of this algorithm.
    pub fn new(algorithm: EncryptionAlgorithm) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let detected = Detected { hostname: "cp-0".to_owned(), ..Detected::default() };
        let mut configuration = Configuration::new(&detected);
        configuration.cluster.encryption_algorithm = algorithm;
        configuration.cluster.certificates_dir = folder.path().join("pki").display().to_string();
        configuration.node.advertise_address = "10.0.0.11".parse().unwrap();
        fs::create_dir_all(folder.path().join("pki/etcd")).unwrap();
        Self { folder, configuration }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }
}

pub fn display(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A place's configuration as kubeadm's documents, with `more` at the end of the `ClusterConfiguration`.
pub fn config(place: &Place, more: &str) -> String {
    let cluster = &place.configuration.cluster;
    format!(
        "apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\nlocalAPIEndpoint: {{advertiseAddress: \"{}\"}}\n\
         nodeRegistration: {{name: {}, criSocket: \"unix:///run/x.sock\"}}\n---\napiVersion: kubeadm.k8s.io/v1beta4\n\
         kind: ClusterConfiguration\nkubernetesVersion: v1.34.4\ncertificatesDir: {}\nencryptionAlgorithm: {}\n{more}",
        place.configuration.node.advertise_address,
        place.configuration.node.name,
        cluster.certificates_dir,
        cluster.encryption_algorithm,
    )
}
