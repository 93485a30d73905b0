//! Two API servers: one with kube-controller-manager, one with the controller.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde::Deserialize as _;
use serde_json::{Value as Json, json};
use slipway_testkit::ControlPlane;
use slipway_testkit::audit::{Audit, Rights};
use slipway_testkit::control_plane::Options;
use slipway_testkit::process::Process;

const PROGRAM: &str = env!("CARGO_BIN_EXE_slipway-token-controller");
const NAME: &str = "slipway-token-controller";

/// An API server with something that signs.
pub struct Side {
    plane: ControlPlane,
}

pub struct Lab {
    controller: Process,
    witness: Side,
    ours: Side,
    audit: Audit,
}

impl Lab {
    pub fn start() -> Self {
        let audit = Audit::new().unwrap();
        let (witness, ours) = std::thread::scope(|scope| {
            let witness =
                scope.spawn(|| ControlPlane::start(&Options { controllers: true, ..Options::default() }));
            let arguments = audit.arguments();
            let ours = ControlPlane::start(&Options { api_arguments: arguments, ..Options::default() });
            (witness.join().unwrap().unwrap(), ours.unwrap())
        });
        let (witness, ours) = (Side { plane: witness }, Side { plane: ours });
        ours.install();
        let token = ours.kubectl(&["create", "token", NAME, "--namespace=kube-system"]);
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "a",
            "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
            "clusters": [{"name": "a", "cluster": {
                "server": ours.plane.server(), "certificate-authority": ours.plane.certificates().join("ca.crt")}}],
            "users": [{"name": "a", "user": {"token": token.trim()}}],
        });
        let kubeconfig = ours.plane.folder().join("controller.conf");
        fs::write(&kubeconfig, config.to_string()).unwrap();
        let mut command = Command::new(PROGRAM);
        command.args(["controller", "--port=0", "--leader-elect-lease-duration=3s"]);
        command.args(["--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=300ms"]);
        command.arg(format!("--kubeconfig={}", kubeconfig.display()));
        let controller = Process::start(&command, &ours.plane.folder().join("controller.log")).unwrap();
        Self { controller, witness, ours, audit }
    }

    /// The side of kube-controller-manager, and that of the controller.
    pub fn sides(&self) -> [&Side; 2] {
        [&self.witness, &self.ours]
    }

    /// Applies the manifest again; returns what kubectl says.
    pub fn install(&self) -> String {
        self.ours.install()
    }

    /// Fails with the log if the controller does not run any more.
    pub fn controller(&self) -> Result<(), String> {
        self.controller.running().map_err(|error| format!("{error:#}"))
    }

    /// The requests of the controller.
    pub fn rights(&self) -> Rights {
        self.audit.rights(&format!("system:serviceaccount:kube-system:{NAME}")).unwrap()
    }
}

impl Side {
    fn install(&self) -> String {
        let file = self.plane.folder().join("token-controller.yaml");
        fs::write(&file, written()).unwrap();
        self.kubectl(&["apply", "--filename", &file.display().to_string()])
    }

    /// Applies a list of objects.
    pub fn apply(&self, objects: &Json) -> String {
        let file = self.plane.folder().join("objects.json");
        fs::write(&file, json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string()).unwrap();
        self.kubectl(&["apply", "--filename", &file.display().to_string()])
    }

    /// The data of `cluster-info`.
    pub fn cluster_info(&self) -> Json {
        let map =
            self.kubectl(&["get", "configmap", "cluster-info", "--namespace=kube-public", "--output=json"]);
        serde_json::from_str::<Json>(&map).unwrap()["data"].clone()
    }

    /// The names of the Secrets that are tokens by their name.
    pub fn tokens(&self) -> BTreeSet<String> {
        let names = "--output=jsonpath={.items[*].metadata.name}";
        let text = self.kubectl(&["get", "secrets", "--namespace=kube-system", names]);
        text.split_whitespace()
            .filter(|name| name.starts_with("bootstrap-token-"))
            .map(str::to_owned)
            .collect()
    }

    fn kubectl(&self, arguments: &[&str]) -> String {
        let output = self.plane.kubectl(arguments).unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

/// The manifest that the program writes.
fn written() -> Vec<u8> {
    let image = "--image=registry.example.com/token-controller:1";
    Command::new(PROGRAM).args(["manifest", image]).output().unwrap().stdout
}

/// The objects of the manifest.
pub fn manifest() -> Vec<Json> {
    let written = written();
    serde_yaml::Deserializer::from_slice(&written).map(|object| Json::deserialize(object).unwrap()).collect()
}
