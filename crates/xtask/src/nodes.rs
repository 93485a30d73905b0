//! Machines that become nodes by commands that are run on them, kubeadm's or the program's.

use std::time::Duration;

use anyhow::Result;
use slipway_testkit::Machine;
use slipway_testkit::kubeadm::Kubeadm;
use slipway_testkit::wait::until_within;

/// How long anything here may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);

/// The output of kubectl for a node's readiness.
pub(crate) const READY: &str = "jsonpath={.status.conditions[?(@.type==\"Ready\")].status}";

/// The token of joining machines.
const TOKEN: &str = "abcdef.0123456789abcdef";

/// The container runtime of machines.
const CRI: &str = "unix:///run/containerd/containerd.sock";

/// The pin of a cluster's authority, as kubeadm's documentation computes it.
const PIN: &str = "openssl x509 -pubkey -noout -in /etc/kubernetes/pki/ca.crt | \
    openssl pkey -pubin -outform der | sha256sum | sed 's/ .*//;s/^/sha256:/'";

/// Asks the container runtime for its version by the CRI, where five zeros are the question that says nothing.
const RUNTIME: &str = r"printf '\0\0\0\0\0' | curl --silent --http2-prior-knowledge --max-time 5 \
    --unix-socket /run/containerd/containerd.sock --header 'content-type: application/grpc' --header 'te: trailers' \
    --data-binary @- http://localhost/runtime.v1.RuntimeService/Version | grep --quiet --text containerd";

/// Waits until a machine's container runtime answers: kubeadm gives up at once on one that has only just started.
pub(crate) fn until_runtime(machine: &Machine) -> Result<()> {
    until_within(PATIENCE, "the container runtime answers", || {
        Ok(machine.run(["sh", "-c", RUNTIME])?.status.success().then_some(()))
    })
}

/// The documents by which a machine begins a cluster that others can [`join`].
pub(crate) fn documents(first: &Machine) -> String {
    Kubeadm::configuration(first).replacen(
        "kind: InitConfiguration\n",
        &format!("kind: InitConfiguration\nbootstrapTokens: [{{token: {TOKEN}}}]\n"),
        1,
    )
}

/// Lets a machine join as a worker, by the command that begins with these words.
pub(crate) fn join(words: &[&str], first: &Machine, worker: &Machine) -> Result<()> {
    let pin = first.check(["sh", "-c", PIN])?;
    let endpoint = format!("{}:6443", first.address());
    let join = ["join", &endpoint, "--token", TOKEN, "--discovery-token-ca-cert-hash", pin.trim()];
    let more = ["--cri-socket", CRI, "--node-name", worker.name()];
    worker.check(words.iter().chain(&join).chain(&more)).map(drop)
}

/// Gives a machine's pods a network of their own.
pub(crate) fn connect_pods(machine: &Machine, number: usize) -> Result<()> {
    let plugins = format!(
        r#"{{"cniVersion":"0.4.0","name":"pods","plugins":[{{"type":"bridge","bridge":"cni0","isDefaultGateway":true,
"ipam":{{"type":"host-local","ranges":[[{{"subnet":"10.244.{number}.0/24"}}]]}}}}]}}"#
    );
    machine.write("/etc/cni/net.d/10-pods.conflist", "644", plugins)
}

/// Waits until a node is ready.
pub(crate) fn until_ready(control_plane: &Machine, name: &str) -> Result<()> {
    let words =
        ["kubectl", "--kubeconfig", "/etc/kubernetes/admin.conf", "get", "node", name, "--output", READY];
    until_within(PATIENCE, &format!("{name} is Ready"), || {
        let output = control_plane.run(words)?;
        Ok((output.status.success() && output.stdout == b"True").then_some(()))
    })
}
