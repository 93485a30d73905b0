//! An API server, a simulated cloud, and controllers as processes.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value as Json, json};
use slipway_addons::{CloudControllerManifest, cloud_controller_manifest};
use slipway_provider_sim::inspect::{Balancer, Inventory, Tamper};
use slipway_resource::Value;
use slipway_testkit::audit::Audit;
use slipway_testkit::control_plane::{ControlPlane, Options};
use tempfile::TempDir;

const CONTROLLER: &str = env!("CARGO_BIN_EXE_slipway-cloud-controller");

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The namespace of the manifest.
const NAMESPACE: &str = "slipway-cloud-controller";

/// An API server with the manifest of the controller. It has no other controllers: nothing else changes a node.
pub struct Lab {
    plane: ControlPlane,
    audit: Audit,
    kubeconfig: PathBuf,
}

/// A simulated cloud with the cluster `demo`, and what a controller needs to use it.
pub struct Cloud {
    folder: TempDir,
    pub tamper: Tamper,
}

/// A controller as a process. It is killed with its value.
pub struct Controller {
    pub process: Child,
    log: PathBuf,
}

impl Lab {
    pub fn start() -> Result<Self> {
        let audit = Audit::new()?;
        let plane = ControlPlane::start(&Options { api_arguments: audit.arguments(), ..Options::default() })?;
        let kubeconfig = plane.folder().join("cloud-controller.conf");
        let lab = Self { plane, audit, kubeconfig };
        lab.install();
        let account = ["create", "token", "slipway-cloud-controller", "--namespace", NAMESPACE];
        let token = lab.kubectl(&account);
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "a",
            "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
            "clusters": [{"name": "a", "cluster": {
                "server": lab.plane.server(), "certificate-authority": lab.plane.certificates().join("ca.crt")}}],
            "users": [{"name": "a", "user": {"token": token.trim()}}],
        });
        fs::write(&lab.kubeconfig, config.to_string())?;
        Ok(lab)
    }

    /// Applies the manifest of the controller; returns what kubectl says.
    pub fn install(&self) -> String {
        let objects = manifest();
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
        self.apply(&list)
    }

    /// After all tests: the controller used each right in the manifest, and was refused nothing.
    pub fn rights_are_needed_and_enough(&self) {
        let account = format!("system:serviceaccount:{NAMESPACE}:slipway-cloud-controller");
        let rights = self.audit.rights(&account).unwrap();
        assert_eq!(rights.unused(&manifest()), BTreeSet::new(), "rights that nothing needs");
        assert_eq!(rights.refused, BTreeSet::new());
    }

    /// Removes what a test before has left.
    pub fn clean(&self) {
        for name in self.services() {
            let no_finalizers = r#"--patch={"metadata":{"finalizers":null}}"#;
            self.kubectl(&["patch", "service", &name, "--type=merge", no_finalizers]);
            self.kubectl(&["delete", "service", &name, "--ignore-not-found"]);
        }
        self.kubectl(&["delete", "nodes,events,leases", "--all", "--all-namespaces"]);
    }

    /// The certificate and the key of the API server, which are valid for 127.0.0.1.
    pub fn certificate(&self) -> [PathBuf; 2] {
        ["apiserver.crt", "apiserver.key"].map(|name| self.plane.certificates().join(name))
    }

    /// Runs kubectl; returns what it says, and whether it succeeded.
    pub fn try_kubectl(&self, arguments: &[&str]) -> (String, bool) {
        let output = self.plane.kubectl(arguments).unwrap();
        let said = [output.stdout, output.stderr].concat();
        (String::from_utf8(said).unwrap(), output.status.success())
    }

    pub fn kubectl(&self, arguments: &[&str]) -> String {
        let output = self.plane.kubectl(arguments).unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    pub fn apply(&self, object: &Json) -> String {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), object.to_string()).unwrap();
        self.kubectl(&["apply", "--filename", file.path().to_str().unwrap()])
    }

    /// Registers a node as a kubelet with `--cloud-provider=external` does.
    pub fn register(&self, name: &str, annotations: &Json) {
        self.apply(&json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "annotations": annotations, "labels": {"example.com/mine": "yes"}},
            "spec": {"taints": [
                {"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"},
                {"key": "example.com/other", "effect": "NoSchedule"}]},
        }));
    }

    /// Reports as the kubelet of a node whether it is ready.
    pub fn report(&self, name: &str, ready: &str) {
        let status = json!({"status": {"conditions": [
            {"type": "Ready", "status": ready, "reason": "Test", "message": "",
             "lastHeartbeatTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
        let patch = format!("--patch={status}");
        self.kubectl(&["patch", "node", name, "--subresource=status", "--type=merge", &patch]);
    }

    /// A node; `None` if it does not exist.
    pub fn node(&self, name: &str) -> Option<Json> {
        let text = self.kubectl(&["get", "node", name, "--ignore-not-found", "--output=json"]);
        (!text.is_empty()).then(|| serde_json::from_str(&text).unwrap())
    }

    /// A Service of type `LoadBalancer`, with further fields of its metadata and its spec.
    pub fn balance(&self, name: &str, metadata: &Json, spec: &Json) {
        let mut service = json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"type": "LoadBalancer", "selector": {"app": name},
                     "ports": [{"name": "http", "port": 80, "protocol": "TCP"}]},
        });
        for (part, fields) in [("metadata", metadata), ("spec", spec)] {
            for (key, value) in fields.as_object().unwrap() {
                service[part][key] = value.clone();
            }
        }
        self.apply(&service);
    }

    /// A Service; `None` if it does not exist.
    pub fn service(&self, name: &str) -> Option<Json> {
        let text = self.kubectl(&["get", "service", name, "--ignore-not-found", "--output=json"]);
        (!text.is_empty()).then(|| serde_json::from_str(&text).unwrap())
    }

    /// The names of the Services that tests have made.
    fn services(&self) -> Vec<String> {
        let text = self.kubectl(&["get", "services", "--output=jsonpath={.items[*].metadata.name}"]);
        text.split_whitespace().filter(|name| *name != "kubernetes").map(str::to_owned).collect()
    }

    /// How often an event of a node or a Service was published.
    pub fn events(&self, name: &str, reason: &str) -> usize {
        let text = self.kubectl(&["get", "events", "--output=json"]);
        let events: Json = serde_json::from_str(&text).unwrap();
        let is_it = |event: &&Json| event["involvedObject"]["name"] == name && event["reason"] == reason;
        let count = |event: &Json| event["series"]["count"].as_u64().unwrap_or(1);
        let found: u64 = events["items"].as_array().unwrap().iter().filter(is_it).map(count).sum();
        usize::try_from(found).unwrap()
    }

    pub fn lease_holder(&self) -> String {
        let path = "--output=jsonpath={.spec.holderIdentity}";
        let lease = ["get", "lease", "cloud-controller-manager", "--namespace=kube-system"];
        self.kubectl(&[lease.as_slice(), &["--ignore-not-found", path]].concat())
    }

    /// Starts a controller for a cloud.
    pub fn controller(&self, cloud: &Cloud, name: &str, more: &[&str]) -> Controller {
        let log = cloud.folder.path().join(format!("{name}.log"));
        let mut command = Command::new(CONTROLLER);
        command
            .args(["--cloud-provider=sim", "--cluster-name=demo", "--port=0", "--node-monitor-period=500ms"])
            .args(["--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s"])
            .arg("--leader-elect-retry-period=300ms")
            .arg(format!("--kubeconfig={}", self.kubeconfig.display()))
            .arg(format!("--cloud-config={}", cloud.folder.path().join("cloud.yaml").display()))
            .args(more)
            .env("SLIPWAY_PROVIDER_PATH", cloud.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(&log).unwrap());
        Controller { process: command.spawn().unwrap(), log }
    }
}

impl Cloud {
    /// A cloud whose cluster `demo` has the machines `workers-1` and so on.
    pub fn with_workers(count: u32) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("cloud");
        fs::create_dir(&place).unwrap();
        let provider = std::env::current_exe().unwrap();
        let manifest = format!(
            "name = \"sim\"\nversion = \"0.1.0\"\ndescription = \"Under test.\"\nprotocol = [\"v1alpha1\"]\nexecutable = {provider:?}\n"
        );
        fs::write(folder.path().join("provider.toml"), manifest).unwrap();
        let configuration = json!({"region": "north", "config": {"directory": place}});
        fs::write(folder.path().join("cloud.yaml"), configuration.to_string()).unwrap();
        let tamper = Tamper::open(&place);
        let pool = Value::from_json(&json!({
            "cluster": "demo", "name": "workers", "role": "worker", "zones": ["a"], "machine_type": "large",
            "min": 0, "max": 100, "size": 0, "kubernetes_version": "1.35.0",
        }));
        let pool = tamper.add_foreign("sim_machine_pool", &pool, None).unwrap();
        tamper.autoscale(&pool, count).unwrap();
        Self { folder, tamper }
    }

    /// The identity of a machine by the name of its node.
    pub fn machine(&self, node: &str) -> String {
        let cloud = Inventory::open(self.place()).unwrap();
        cloud.machines.iter().find(|machine| machine.name == node).unwrap().id.clone()
    }

    /// The load balancers and routes of the cloud, and its machines.
    pub fn inventory(&self) -> Inventory {
        Inventory::open(self.place()).unwrap()
    }

    /// The load balancer of a Service in the namespace `default`.
    pub fn balancer(&self, service: &str) -> Option<Balancer> {
        let name = format!("default/{service}");
        self.inventory().balancers.into_iter().find(|balancer| balancer.service == name)
    }

    /// The number of calls of a method that the cloud has answered.
    pub fn calls(&self, method: &str) -> usize {
        let calls = slipway_provider_sim::inspect::calls(self.place()).unwrap();
        calls.iter().filter(|call| call.method == method).count()
    }

    /// Lets calls fail from now on.
    pub fn faults(&self, rules: &Json) {
        let (draft, file) = (self.place().join("faults.draft"), self.place().join("faults.json"));
        fs::write(&draft, rules.to_string()).unwrap();
        fs::rename(&draft, &file).unwrap();
    }

    fn place(&self) -> PathBuf {
        self.folder.path().join("cloud")
    }
}

impl Controller {
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    pub fn signal(&self, name: &str) {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }

    /// Waits for its end, and returns the exit code; `None` if a signal ended it.
    pub fn ended(&mut self) -> Option<i32> {
        let log = self.log.clone();
        let ended = || self.process.try_wait().unwrap();
        eventually(&format!("the controller ends ({})", log.display()), ended).code()
    }

    /// The response at a path.
    pub fn get(&self, path: &str) -> String {
        let log = self.log();
        let line = log.lines().find_map(|line| line.split_once("address=127.0.0.1:")).unwrap();
        let port: String = line.1.chars().take_while(char::is_ascii_digit).collect();
        let answer = slipway_testkit::http::request("GET", port.parse().unwrap(), path, &[], &[]).unwrap();
        assert_eq!(answer.status, 200, "{path}");
        String::from_utf8(answer.body).unwrap()
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        if std::thread::panicking() {
            println!("{}", self.log());
        }
    }
}

/// The manifest of a controller with a configuration.
pub fn manifest() -> Vec<Json> {
    cloud_controller_manifest(CloudControllerManifest {
        provider: "sim",
        image: "registry.example.com/slipway-cloud-controller:1",
        cluster_name: "demo",
        configuration: Some("region: north\n"),
        namespace: NAMESPACE,
        cluster_cidr: Some("10.244.0.0/22"),
        allocate_node_cidrs: true,
    })
}

/// Waits until there is something.
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The taints of a node, by key.
pub fn taints(node: &Json) -> Vec<&str> {
    let taints = node["spec"]["taints"].as_array().map(Vec::as_slice).unwrap_or_default();
    taints.iter().map(|taint| taint["key"].as_str().unwrap()).collect()
}
