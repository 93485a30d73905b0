//! Clusters of kubeadm, for comparisons and adoption.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Output;

use anyhow::{Context as _, Result, bail};

use crate::kubernetes;
use crate::machine::Machine;

/// The key by which kubeadm seals the certificates that control planes fetch. It guards nothing here.
const CERTIFICATE_KEY: &str = "0000000000000000000000000000000000000000000000000000000000000001";

/// The addresses of pods.
const PODS: &str = "10.244.0.0/16";

/// The configuration of kubelets in tests: this version of containerd cannot report the driver of its control
/// groups, and a nearly full disk must not matter.
pub const KUBELET_CONFIGURATION: &str = "apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: cgroupfs
failSwapOn: false
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard: {memory.available: 100Mi, nodefs.available: 1Gi}
";

/// The configuration of kube-proxies in tests: the host sets the number of connections that the kernel
/// tracks.
pub const PROXY_CONFIGURATION: &str = "apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
conntrack: {maxPerCore: 0}
";

/// A cluster that kubeadm made on machines.
#[derive(Debug)]
pub struct Kubeadm<'a> {
    first: &'a Machine,
    join: Vec<String>,
}

impl<'a> Kubeadm<'a> {
    /// The documents that [`Kubeadm::init`] gives to kubeadm, for a machine that becomes the first control plane.
    #[must_use]
    pub fn configuration(first: &Machine) -> String {
        let address = first.address();
        format!(
            "apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
timeouts: {{kubeletHealthCheck: 1m0s}}
localAPIEndpoint: {{advertiseAddress: {address}, bindPort: 6443}}
certificateKey: \"{CERTIFICATE_KEY}\"
nodeRegistration: {{name: {name}, criSocket: \"unix:///run/containerd/containerd.sock\", imagePullPolicy: IfNotPresent}}
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: v{version}
controlPlaneEndpoint: {address}:6443
networking: {{podSubnet: {PODS}, serviceSubnet: 10.96.0.0/12}}
---
{KUBELET_CONFIGURATION}---
{PROXY_CONFIGURATION}",
            name = first.name(),
            version = kubernetes::VERSION,
        )
    }

    /// Makes a cluster of one control plane, with kubeadm's defaults but for what machines of tests cannot have.
    ///
    /// # Errors
    /// When kubeadm fails, with what it said.
    pub fn init(first: &'a Machine) -> Result<Self> {
        Self::init_with(first, &Self::configuration(first))
    }

    /// Makes a cluster of one control plane from these documents.
    ///
    /// # Errors
    /// When kubeadm fails, with what it said.
    pub fn init_with(first: &'a Machine, documents: &str) -> Result<Self> {
        first.write("/root/kubeadm.yaml", "600", documents)?;
        let init = ["kubeadm", "init", "--upload-certs", "--config", "/root/kubeadm.yaml"];
        first.check(init).with_context(|| kubelet_log(first))?;
        let join = first.check(["kubeadm", "token", "create", "--print-join-command"])?;
        let join = join.split_whitespace().map(str::to_owned).collect();
        let cluster = Self { first, join };
        fs::write(cluster.kubeconfig(), first.read("/etc/kubernetes/admin.conf")?)?;
        Ok(cluster)
    }

    /// Lets a machine join as a worker.
    ///
    /// # Errors
    /// When kubeadm fails, with what it said.
    pub fn join(&self, machine: &Machine) -> Result<()> {
        self.join_with(machine, &[])
    }

    /// Lets a machine join as a control plane.
    ///
    /// # Errors
    /// When kubeadm fails, with what it said.
    pub fn join_control_plane(&self, machine: &Machine) -> Result<()> {
        let address = machine.address();
        let more = [
            "--control-plane",
            "--certificate-key",
            CERTIFICATE_KEY,
            "--apiserver-advertise-address",
            &address,
        ];
        self.join_with(machine, &more)
    }

    fn join_with(&self, machine: &Machine, more: &[&str]) -> Result<()> {
        let ours = ["--node-name", machine.name(), "--cri-socket", "unix:///run/containerd/containerd.sock"];
        let words = self.join.iter().map(String::as_str).chain(ours).chain(more.iter().copied());
        machine.check(words).with_context(|| kubelet_log(machine))?;
        Ok(())
    }

    /// The command by which a machine joins, as kubeadm prints it.
    #[must_use]
    pub fn join_command(&self) -> &[String] {
        &self.join
    }

    /// The administrator's kubeconfig, on the host.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.first.network().folder().join("admin.conf")
    }

    /// Runs kubectl as the administrator, from the network.
    ///
    /// # Errors
    /// When it cannot be started; that it failed is for the caller to see.
    pub fn kubectl(&self, arguments: &[&str]) -> Result<Output> {
        let mut words: Vec<OsString> = vec![kubernetes::install()?.join("kubectl").into()];
        words.extend(["--kubeconfig".into(), self.kubeconfig().into_os_string()]);
        words.extend(arguments.iter().map(OsString::from));
        self.first.network().run(words)
    }

    /// Waits until all nodes are ready.
    ///
    /// # Errors
    /// When one is not, in two minutes.
    pub fn wait_until_ready(&self) -> Result<()> {
        let output = self.kubectl(&["wait", "--for=condition=Ready", "node", "--all", "--timeout=120s"])?;
        if !output.status.success() {
            let nodes = self.kubectl(&["describe", "nodes"])?;
            bail!("{}{}", String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&nodes.stdout));
        }
        Ok(())
    }
}

/// The last that a machine's kubelet said, for messages.
fn kubelet_log(machine: &Machine) -> String {
    machine.check(["journalctl", "-u", "kubelet", "-n", "20"]).unwrap_or_default()
}
