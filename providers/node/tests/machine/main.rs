//! The provider on a machine with a real kubelet and container runtime, spoken to as behind SSH.

#![cfg(test)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "what fails in a test ends it")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use slipway_protocol::{Deadlines, Tunnel};
use slipway_provider_node::{Config, InitSystem};
use slipway_resource::provider::{Action, Applied, ApplyRequest, DiscoverRequest, EventSink, SessionRequest};
use slipway_resource::{
    ClusterUid, Identity, Observation, Ownership, Provider as _, ProviderError, Session, Token, Value,
};
use slipway_testkit::Network;
use slipway_testkit::machine::{Init, Machine, MachineOptions};

const KUBELET: &str = "apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
staticPodPath: /etc/kubernetes/manifests
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
cgroupDriver: cgroupfs
failSwapOn: false
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard: {memory.available: 100Mi, nodefs.available: 1Gi}
";

/// A session with the agent of a machine.
struct Node<'a> {
    machine: &'a Machine,
    session: Arc<dyn Session>,
    _tunnel: Tunnel,
}

impl<'a> Node<'a> {
    async fn open(machine: &'a Machine, init_system: InitSystem) -> Self {
        let command = machine.command(["slipway", "--stdio"]).unwrap();
        let tunnel = Tunnel::open(command.into(), machine.name(), Deadlines::default()).await.unwrap();
        let config = Config { init_system, ..Config::default() }.to_value();
        let request = SessionRequest { config, region: None, offline: false };
        let session = tunnel.client().open_session(request).await.unwrap();
        Self { machine, session, _tunnel: tunnel }
    }

    async fn apply(&self, address: &str, action: Action) -> Result<Applied, ProviderError> {
        let request = ApplyRequest {
            token: Token::new(format!("{address} {action:?}")),
            ownership: Ownership {
                uid: ClusterUid::new("uid"),
                cluster: "a".to_owned(),
                address: address.parse().unwrap(),
            },
            action,
            timeout_ms: 300_000,
        };
        self.session.apply(request, EventSink::discard()).await
    }

    async fn create(&self, address: &str, json: serde_json::Value) {
        let made = self.apply(address, Action::Create { desired: Value::from_json(&json) }).await;
        if let Err(error) = made {
            let log = self.machine.run(["tail", "-n", "40", "/var/log/slipway/kubelet.log"]).unwrap();
            panic!("{address}: {error}\n{}", String::from_utf8_lossy(&log.stdout));
        }
    }

    async fn update(&self, address: &str, identity: &str, json: serde_json::Value) {
        let (identity, desired) = (Identity::new(identity), Value::from_json(&json));
        self.apply(address, Action::Update { identity, prior: Value::Null, desired }).await.unwrap();
    }

    async fn delete(&self, address: &str, identity: &str) {
        self.apply(address, Action::Delete { identity: Identity::new(identity) }).await.unwrap();
    }

    /// The processes of the pod; pods have namespaces of their own, and the machine sees into them.
    fn pod(&self) -> Vec<String> {
        let found = self.machine.run(["pidof", "agnhost"]).unwrap();
        String::from_utf8_lossy(&found.stdout).split_whitespace().map(str::to_owned).collect()
    }
}

fn manifest(label: &str) -> String {
    format!(
        "apiVersion: v1
kind: Pod
metadata:
  labels:
    version: \"{label}\"
  name: web
  namespace: kube-system
spec:
  containers:
  - command:
    - /agnhost
    - netexec
    - --http-port=8090
    - --udp-port=-1
    image: {}
    imagePullPolicy: IfNotPresent
    name: web
  hostNetwork: true
  terminationGracePeriodSeconds: 2
",
        slipway_testkit::image::AGNHOST
    )
}

fn pod(label: &str, input: &str) -> serde_json::Value {
    json!({
        "path": "/etc/kubernetes/manifests/web.yaml",
        "manifest": manifest(label),
        "volatile_inputs": {"certificate": input},
        "ready_url": "http://127.0.0.1:8090/hostname",
        "ready_timeout_seconds": 120,
    })
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root and namespaces"]
async fn a_static_pod_follows_its_manifest_and_what_it_reads() {
    let network = Network::new().unwrap();
    let slipway = Some(PathBuf::from(env!("CARGO_BIN_EXE_slipway-provider-node")));
    let options = MachineOptions { init: Init::None, slipway, ..MachineOptions::default() };
    let machine = network.machine("node", options).unwrap();
    let node = Node::open(&machine, InitSystem::Auto).await;
    let state = json!({"path": "/var/lib/kubelet"});
    node.create("kubelet_state.kubelet", state).await;
    node.create("directory.manifests", json!({"path": "/etc/kubernetes/manifests", "mode": "0700"})).await;
    let config = json!({"path": "/var/lib/kubelet/config.yaml", "content": KUBELET});
    node.create("file.kubelet-config", config).await;
    let kubelet = json!({
        "name": "kubelet",
        "command": ["kubelet", "--config=/var/lib/kubelet/config.yaml", "--hostname-override=node"],
        "ready_url": "http://127.0.0.1:10248/healthz",
        "ready_timeout_seconds": 120,
    });
    node.create("service.kubelet", kubelet).await;

    let path = "/etc/kubernetes/manifests/web.yaml";
    node.create("static_pod.web", pod("1", "a")).await;
    let first = node.pod();
    assert_eq!(first.len(), 1, "it answers");

    // As soon as the update is through, the old one is gone and a new one answers.
    node.update("static_pod.web", path, pod("2", "a")).await;
    let second = node.pod();
    assert_eq!(second.len(), 1, "{second:?}");
    assert_ne!(first, second);

    // The files that the pod reads have changed, and its manifest has not.
    node.update("static_pod.web", path, pod("2", "b")).await;
    let third = node.pod();
    assert_eq!(third.len(), 1, "{third:?}");
    assert_ne!(second, third);
    node.update("static_pod.web", path, pod("2", "b")).await;
    assert_eq!(node.pod(), third, "nothing has changed");

    // A restarted kubelet does not know the old pod, and starts the new one beside it: the old one answers
    // until the kubelet finds and ends it.
    let kubelet = machine.check(["pidof", "kubelet"]).unwrap();
    machine.check(["kill", "-STOP", kubelet.trim()]).unwrap();
    tokio::join!(node.update("static_pod.web", path, pod("3", "b")), async {
        while !machine.run(["grep", "version: \"3\"", path]).unwrap().status.success() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        machine.check(["kill", "-KILL", kubelet.trim()]).unwrap();
    });
    let fourth = node.pod();
    assert_eq!(fourth.len(), 1, "{third:?}, then {fourth:?}");
    assert_ne!(third, fourth);

    // Where no runtime can be asked, the process of the one before has to end.
    let mut alone = pod("4", "b");
    alone["runtime_endpoint"] = "unix:///run/nobody.sock".into();
    node.update("static_pod.web", path, alone).await;
    let fifth = node.pod();
    assert_eq!(fifth.len(), 1, "{fourth:?}, then {fifth:?}");
    assert_ne!(fourth, fifth);

    node.delete("static_pod.web", path).await;
    assert!(node.pod().is_empty(), "it has ended when the delete is through");

    // A reset while pods run: the kubelet is stopped, and takes nothing down itself.
    node.create("static_pod.again", pod("5", "a")).await;
    let kept = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    node.delete("service.kubelet", "kubelet").await;
    assert_eq!(node.pod().len(), 1, "pods outlive the kubelet");
    node.delete("kubelet_state.kubelet", "/var/lib/kubelet").await;
    assert!(node.pod().is_empty());
    let mounts = machine.check(["cat", "/proc/self/mountinfo"]).unwrap();
    assert!(!mounts.contains(" /var/lib/kubelet/"), "{mounts}");
    let left = machine.run(["test", "-e", "/var/lib/kubelet"]).unwrap();
    assert!(!left.status.success(), "it came with the kubelet");
    assert_eq!(std::fs::read_to_string("/proc/self/mountinfo").unwrap(), kept, "nothing happens outside");

    let request =
        DiscoverRequest { uid: Some(ClusterUid::new("uid")), cluster: "a".to_owned(), types: Vec::new() };
    let observed = node.session.discover(request).await.unwrap().observed;
    assert!(observed.iter().all(|found| matches!(found.observation, Observation::Present(_))));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root and namespaces"]
async fn services_of_an_init_system_are_defined_started_and_forgotten() {
    let network = Network::new().unwrap();
    let slipway = Some(PathBuf::from(env!("CARGO_BIN_EXE_slipway-provider-node")));
    let options = MachineOptions { init: Init::Systemd, slipway, ..MachineOptions::default() };
    let machine = network.machine("node", options).unwrap();
    let node = Node::open(&machine, InitSystem::Auto).await;
    let service = |level: &str| {
        let unit = format!(
            "[Service]\nEnvironment=LEVEL={level}\nExecStart=/bin/sh -c 'echo $LEVEL >>/run/starts; exec sleep 600'\n\
             Restart=always\n[Install]\nWantedBy=multi-user.target\n"
        );
        json!({"name": "example", "unit": unit, "ready_path": "/run/starts"})
    };
    let starts = || machine.check(["cat", "/run/starts"]).unwrap();
    node.create("service.example", service("1")).await;
    node.update("service.example", "example", service("1")).await;
    assert_eq!(starts().lines().count(), 1, "{}", starts());
    assert!(machine.run(["systemctl", "is-active", "example"]).unwrap().status.success());
    assert!(machine.run(["systemctl", "is-enabled", "example"]).unwrap().status.success());
    node.update("service.example", "example", service("2")).await;
    let restarted =
        slipway_testkit::wait::until(
            "the second start",
            || Ok((starts().lines().count() == 2).then_some(())),
        );
    restarted.unwrap();
    node.delete("service.example", "example").await;
    assert!(!machine.run(["systemctl", "is-active", "example"]).unwrap().status.success());
    assert!(!machine.run(["test", "-e", "/etc/systemd/system/example.service"]).unwrap().status.success());
}
