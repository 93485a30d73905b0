//! An API server with the controller installed, and two replicas of the controller as processes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use anyhow::{Result, bail};
use serde_json::{Value as Json, json};
use slipway_controller::connect;
use slipway_controller::k8s_openapi::api::core::v1::{ConfigMap, Secret};
use slipway_controller::k8s_openapi::api::events::v1::Event;
use slipway_controller::kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use slipway_controller::kube::{Client, Resource};
use slipway_etcd_storage::storage::EtcdStorage;
use slipway_testkit::audit::Audit;
use slipway_testkit::control_plane::{ControlPlane, Options};
use slipway_testkit::process::Process;
use tokio::sync::OnceCell;

use super::until::until;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_slipway-etcd-storage");
pub const NAMESPACE: &str = "kube-apiserver-storage";

/// The API server of the cluster, whose etcd is the core too.
pub struct Lab {
    pub plane: ControlPlane,
    pub audit: Audit,
    controllers: Mutex<Vec<Process>>,
    core: OnceCell<()>,
}

impl Lab {
    /// Installs the controller and starts it. The certificates of the core are missing until [`Self::with_core`].
    pub fn start() -> Result<Self> {
        let audit = Audit::new()?;
        let options = Options { controllers: true, api_arguments: audit.arguments(), ..Options::default() };
        let plane = ControlPlane::start(&options)?;
        let lab = Self { plane, audit, controllers: Mutex::default(), core: OnceCell::new() };
        lab.install()?;
        let token = lab.kubectl(&["create", "token", "etcdproxy-controller-sa", "--namespace", NAMESPACE])?;
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "a",
            "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
            "clusters": [{"name": "a", "cluster": {
                "server": lab.plane.server(), "certificate-authority": lab.plane.certificates().join("ca.crt")}}],
            "users": [{"name": "a", "user": {"token": token.trim()}}],
        });
        fs::write(lab.kubeconfig(), config.to_string())?;
        lab.start_controllers()?;
        Ok(lab)
    }

    /// The manifest that the program writes.
    pub fn manifest(&self) -> Result<Vec<u8>> {
        let url = self.plane.etcd().url;
        let image = "--image=registry.example.com/etcd-storage:1";
        Ok(Command::new(PROGRAM).args(["manifest", image, "--etcd-core-url", &url]).output()?.stdout)
    }

    /// Applies the manifest; returns what kubectl says.
    pub fn install(&self) -> Result<String> {
        let file = self.plane.folder().join("manifest.yaml");
        fs::write(&file, self.manifest()?)?;
        self.kubectl(&["apply", "--filename", &file.display().to_string()])
    }

    pub fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        let output = self.plane.kubectl(arguments)?;
        if !output.status.success() {
            bail!("{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    fn kubeconfig(&self) -> PathBuf {
        self.plane.folder().join("controller.conf")
    }

    fn log(&self, number: usize) -> PathBuf {
        self.plane.folder().join(format!("controller-{number}.log"))
    }

    fn start_controllers(&self) -> Result<()> {
        let mut controllers = self.controllers.lock().unwrap_or_else(PoisonError::into_inner);
        for number in 0..2 {
            controllers.push(self.controller(number)?);
        }
        Ok(())
    }

    fn controller(&self, number: usize) -> Result<Process> {
        let mut command = Command::new(PROGRAM);
        command
            .args([
                "controller",
                "--port=0",
                "--etcd-core-url",
                &self.plane.etcd().url,
                "--etcd-proxy-image=image:1",
            ])
            .args(["--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s"])
            .args(["--leader-elect-retry-period=300ms", "--etcd-proxy-service-account=etcdproxy-sa"])
            .arg(format!("--kubeconfig={}", self.kubeconfig().display()));
        Process::start(&command, &self.log(number))
    }

    /// Kills the controller that leads, and starts another one, which waits.
    pub fn replace_leader(&self) {
        let mut controllers = self.controllers.lock().unwrap_or_else(PoisonError::into_inner);
        let leader =
            (0..2).find(|number| self.controller_log(*number).contains("this process leads")).unwrap();
        // It is killed with its value, and its log is that of the next one.
        drop(controllers.remove(leader));
        fs::write(self.log(leader), "").unwrap();
        controllers.insert(leader, self.controller(leader).unwrap());
    }

    pub fn controller_log(&self, number: usize) -> String {
        fs::read_to_string(self.log(number)).unwrap_or_default()
    }

    /// The metrics of the controller that leads.
    pub fn metrics(&self) -> String {
        let logs = (0..2).map(|number| self.controller_log(number));
        let log = logs.into_iter().find(|log| log.contains("this process leads")).unwrap();
        let (_, address) = log.split_once("address=127.0.0.1:").unwrap();
        let port: String = address.chars().take_while(char::is_ascii_digit).collect();
        let answer =
            slipway_testkit::http::request("GET", port.parse().unwrap(), "/metrics", &[], &[]).unwrap();
        String::from_utf8(answer.body).unwrap()
    }

    /// A client with all rights.
    pub async fn client(&self) -> Client {
        connect(Some(&self.plane.kubeconfig())).await.unwrap()
    }

    /// Creates or changes an object.
    pub async fn apply<K>(&self, api: &Api<K>, object: &Json) -> K
    where
        K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + serde::de::DeserializeOwned,
    {
        let name = object["metadata"]["name"].as_str().unwrap();
        api.patch(name, &PatchParams::apply("a-user"), &Patch::Apply(object)).await.unwrap()
    }

    /// Gives the proxies what they need for the core, once for all tests. An `EtcdStorage` that existed before has told that it
    /// was missing.
    pub async fn with_core(&self) {
        let give = async || {
            self.create("early", &spec_for_none("10h", "1h")).await;
            let message = self.condition("early", "CoreEtcdConfigured", "False", "Missing").await;
            assert!(message.contains("ConfigMap etcd-coreserving-ca does not exist"), "{message}");
            assert_eq!(self.event("early", "CoreEtcdNotConfigured").await, message);
            let wrong = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "etcd-coreserving-ca"}, "data": {"ca.crt": "?"},
            });
            self.apply(&Api::<ConfigMap>::namespaced(self.client().await, NAMESPACE), &wrong).await;
            self.condition("early", "CoreEtcdConfigured", "False", "Invalid").await;
            self.allow_core().await;
            self.condition("early", "CoreEtcdConfigured", "True", "Found").await;
        };
        self.core.get_or_init(give).await;
    }

    async fn allow_core(&self) {
        let client = self.client().await;
        let text = |path: &Path| fs::read_to_string(path).unwrap();
        let core = self.plane.etcd();
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "etcd-coreserving-ca"},
            "data": {"ca.crt": text(&core.ca)},
        });
        self.apply(&Api::<ConfigMap>::namespaced(client.clone(), NAMESPACE), &map).await;
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": {"name": "etcd-coreserving-cert"},
            "stringData": {"tls.crt": text(&core.certificate), "tls.key": text(&core.key)},
        });
        self.apply(&Api::<Secret>::namespaced(client, NAMESPACE), &secret).await;
    }

    /// Creates the namespace of an API server with empty objects of these names, and allows the controller to write them.
    pub async fn tenant(&self, namespace: &str, map: &str, secret: &str) {
        let client = self.client().await;
        self.kubectl(&["create", "namespace", namespace]).unwrap();
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": map}, "data": {"mine": "kept"},
        });
        self.apply(&Api::<ConfigMap>::namespaced(client.clone(), namespace), &object).await;
        let object = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": {"name": secret},
            "data": {"tls.crt": "", "tls.key": ""},
        });
        self.apply(&Api::<Secret>::namespaced(client, namespace), &object).await;
        self.allow(namespace, map, secret);
    }

    /// Allows the controller to write two objects, as the guide says.
    pub fn allow(&self, namespace: &str, map: &str, secret: &str) {
        let resources = [format!("configmaps/{map}"), format!("secrets/{secret}")];
        let [map, secret] = resources.each_ref().map(|one| one.split_once('/').unwrap());
        let rules = json!([
            {"apiGroups": [""], "resources": [map.0], "resourceNames": [map.1], "verbs": ["get", "update", "patch"]},
            {"apiGroups": [""], "resources": [secret.0], "resourceNames": [secret.1], "verbs": ["get", "update", "patch"]},
        ]);
        let list = json!({"apiVersion": "v1", "kind": "List", "items": [
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
             "metadata": {"name": "etcdproxy-manage-certs", "namespace": namespace}, "rules": rules},
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
             "metadata": {"name": "etcdproxy-manage-certs", "namespace": namespace},
             "subjects": [{"kind": "ServiceAccount", "name": "etcdproxy-controller-sa", "namespace": NAMESPACE}],
             "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "etcdproxy-manage-certs"}},
        ]});
        let file = self.plane.folder().join(format!("{namespace}.json"));
        fs::write(&file, list.to_string()).unwrap();
        self.kubectl(&["apply", "--filename", &file.display().to_string()]).unwrap();
    }

    pub async fn storages(&self) -> Api<EtcdStorage> {
        Api::all(self.client().await)
    }

    /// Creates an `EtcdStorage`.
    pub async fn create(&self, name: &str, spec: &Json) -> EtcdStorage {
        let object = json!({
            "apiVersion": "etcd.xmudrii.com/v1alpha1", "kind": "EtcdStorage", "metadata": {"name": name}, "spec": spec,
        });
        let object = serde_json::from_value(object).unwrap();
        self.storages().await.create(&PostParams::default(), &object).await.unwrap()
    }

    /// Waits until a condition has this status and reason, and returns its message.
    pub async fn condition(&self, name: &str, kind: &str, status: &str, reason: &str) -> String {
        let storages = self.storages().await;
        until(&format!("{name} is {kind}={status} because of {reason}"), async || {
            let status_of = storages.get(name).await.unwrap().status?;
            let found = status_of.conditions.into_iter().find(|one| one.type_ == kind)?;
            (found.status == status && found.reason == reason).then_some(found.message)
        })
        .await
    }

    /// Waits until an event of an `EtcdStorage` with this reason has been published, and returns its note.
    pub async fn event(&self, name: &str, reason: &str) -> String {
        let events: Api<Event> = Api::namespaced(self.client().await, "default");
        until(&format!("an event {reason} of {name}"), async || {
            let all = events.list(&ListParams::default()).await.unwrap();
            let is_it = |event: &&Event| {
                event.reason.as_deref() == Some(reason)
                    && event.regarding.as_ref().is_some_and(|object| object.name.as_deref() == Some(name))
            };
            all.items.iter().find(is_it).and_then(|event| event.note.clone())
        })
        .await
    }
}

/// A spec without destinations.
pub fn spec_for_none(signing: &str, leaf: &str) -> Json {
    json!({
        "signingCertificateValidity": signing, "servingCertificateValidity": leaf, "clientCertificateValidity": leaf,
    })
}

/// A spec with one destination of each kind.
pub fn spec_for(namespace: &str, signing: &str, leaf: &str) -> Json {
    json!({
        "caCertConfigMap": [{"name": "etcd-serving-ca", "namespace": namespace}],
        "clientCertSecret": [{"name": "etcd-client-cert", "namespace": namespace}],
        "signingCertificateValidity": signing,
        "servingCertificateValidity": leaf,
        "clientCertificateValidity": leaf,
    })
}
