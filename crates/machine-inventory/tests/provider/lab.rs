//! An API server with the kinds of Cluster API and of the provider, and a client with all permissions.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use http::{Method, Request};
use serde_json::{Value as Json, json};
use slipway_controller::kube::{self, Client};
use slipway_machine_inventory::manifest::{Manifest, NAMESPACE, objects};
use slipway_testkit::audit::Audit;
use slipway_testkit::cluster_api;
use slipway_testkit::control_plane::{ControlPlane, Options};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(30);

pub const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io/v1beta1";
pub const CORE: &str = "cluster.x-k8s.io/v1beta2";
pub const CONTROL_PLANE: &str = "controlplane.cluster.x-k8s.io/v1beta2";

/// An API server without controllers: nothing but the provider and the tests changes an object.
pub struct Lab {
    plane: ControlPlane,
    audit: Audit,
    runtime: Runtime,
    client: Client,
    pub folder: TempDir,
}

impl Lab {
    pub fn start() -> Result<Self> {
        let definitions = cluster_api::install()?;
        let audit = Audit::new()?;
        let plane = ControlPlane::start(&Options { api_arguments: audit.arguments(), ..Options::default() })?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let client = runtime.block_on(slipway_controller::connect(Some(&plane.kubeconfig())))?;
        let lab = Self { plane, audit, runtime, client, folder: tempfile::tempdir()? };
        // They are too large for the annotation of a client-side apply.
        let apply = ["apply", "--server-side", "--filename", definitions.to_str().unwrap_or_default()];
        let output = lab.plane.kubectl(&apply)?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        lab.install();
        let account = ["create", "token", NAMESPACE, "--namespace", NAMESPACE];
        let token = lab.kubectl(&account);
        fs::write(lab.kubeconfig(), lab.kubeconfig_of(&lab.plane.server(), token.trim()).to_string())?;
        Ok(lab)
    }

    /// Applies the manifest of the provider; returns what kubectl says.
    pub fn install(&self) -> String {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": manifest()});
        let file = self.folder.path().join("manifest.json");
        fs::write(&file, list.to_string()).unwrap();
        self.kubectl(&["apply", "--server-side", "--filename", file.to_str().unwrap()])
    }

    /// After all tests: the provider used each right in the manifest, and was refused nothing.
    pub fn rights_are_needed_and_enough(&self) {
        let account = format!("system:serviceaccount:{NAMESPACE}:{NAMESPACE}");
        let rights = self.audit.rights(&account).unwrap();
        let mut unused = rights.unused(&manifest());
        // The API server asks for it when a Secret gets its owner, and only with an admission plugin that is off here.
        unused.remove("update elementalregistrations/finalizers");
        // Only an event that is repeated while its process runs is patched.
        unused.remove("patch events");
        assert_eq!(unused, BTreeSet::new(), "rights that nothing needs");
        assert_eq!(rights.refused, BTreeSet::new());
    }

    /// The kubeconfig of the provider's service account.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("manager.conf")
    }

    /// The folder with the certificates of the API server, which is valid for 127.0.0.1.
    pub fn certificates(&self) -> PathBuf {
        self.plane.certificates()
    }

    /// A kubeconfig for an address of the API server, with a token.
    fn kubeconfig_of(&self, server: &str, token: &str) -> Json {
        use base64::Engine as _;
        let authority = fs::read(self.certificates().join("ca.crt")).unwrap();
        let authority = base64::engine::general_purpose::STANDARD.encode(authority);
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "a",
            "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
            "clusters": [{"name": "a", "cluster": {"server": server, "certificate-authority-data": authority}}],
            "users": [{"name": "a", "user": {"token": token}}],
        })
    }

    /// The port of the API server.
    pub fn port(&self) -> u16 {
        self.plane.server().rsplit(':').next().unwrap().parse().unwrap()
    }

    /// A kubeconfig with all permissions for an address of the API server: each cluster of a test is this one.
    pub fn workload_kubeconfig(&self, server: &str) -> String {
        self.apply_json(&json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": "workload"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", "name": "workload", "namespace": "default"}]}));
        self.apply_json(&json!({"apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": "workload", "namespace": "default"}}));
        let token = self.kubectl(&["create", "token", "workload", "--namespace", "default"]);
        self.kubeconfig_of(server, token.trim()).to_string()
    }

    pub fn apply_json(&self, object: &Json) {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), object.to_string()).unwrap();
        self.kubectl(&["apply", "--filename", file.path().to_str().unwrap()]);
    }

    /// Runs kubectl, which must succeed.
    pub fn kubectl(&self, arguments: &[&str]) -> String {
        let output = self.try_kubectl(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    pub fn try_kubectl(&self, arguments: &[&str]) -> Output {
        self.plane.kubectl(arguments).unwrap()
    }

    /// Applies a file; returns what the API server says against it.
    pub fn refusal(&self, object: &Json) -> String {
        let file = self.folder.path().join("refused.json");
        fs::write(&file, object.to_string()).unwrap();
        let output = self.try_kubectl(&["create", "--filename", file.to_str().unwrap()]);
        assert!(!output.status.success(), "{object}");
        String::from_utf8(output.stderr).unwrap()
    }

    /// A request to the API; `Err` with the code of a refusal.
    pub fn request(&self, method: Method, path: &str, body: Option<&Json>) -> Result<Json, u16> {
        let kind = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        let bytes = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        let request = Request::builder()
            .method(method.clone())
            .uri(path)
            .header("Content-Type", kind)
            .body(bytes)
            .unwrap();
        match self.runtime.block_on(self.client.request::<Json>(request)) {
            Ok(answer) => Ok(answer),
            Err(kube::Error::Api(status)) => {
                if !matches!(status.code, 404 | 409) {
                    println!("{method} {path}: {}", status.message);
                }
                Err(status.code)
            }
            Err(error) => panic!("{method} {path}: {error}"),
        }
    }

    /// Creates a namespace of a test.
    pub fn namespace(&self, name: &str) -> String {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        self.request(Method::POST, "/api/v1/namespaces", Some(&object)).unwrap();
        name.to_owned()
    }
}

/// The objects of the manifest.
fn manifest() -> Vec<Json> {
    objects(Manifest { image: "registry.example.com/inventory:1", api_url: None, cert_manager: false })
        .unwrap()
}

/// The path of an object, or of all objects of a kind.
pub fn path(api: &str, namespace: &str, plural: &str, name: &str) -> String {
    let base = if api == "v1" { "/api/v1".to_owned() } else { format!("/apis/{api}") };
    let path = Path::new(&base).join("namespaces").join(namespace).join(plural).join(name);
    path.to_str().unwrap().trim_end_matches('/').to_owned()
}

/// Waits until there is something.
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A condition of an object: its status and its reason, as `True/Ready`.
pub fn condition(object: &Json, kind: &str) -> String {
    let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let found = conditions.iter().find(|condition| condition["type"] == kind);
    let text = |field: &str| found.and_then(|condition| condition[field].as_str()).unwrap_or("-").to_owned();
    format!("{}/{}", text("status"), text("reason"))
}

/// The message of a condition.
pub fn message(object: &Json, kind: &str) -> String {
    let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let found = conditions.iter().find(|condition| condition["type"] == kind);
    found.and_then(|condition| condition["message"].as_str()).unwrap_or_default().to_owned()
}
