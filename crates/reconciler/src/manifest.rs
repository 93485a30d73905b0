//! The objects that run a controller in a Kubernetes cluster: one file for `kubectl apply`.
//!
//! Nothing else is needed in the cluster. What the controller stores is in the state store, so a pod has nothing to keep.

mod rights;

use std::net::SocketAddr;
use std::path::Path;

use serde_json::{Value as Json, json};
use slipway_state_store::Digest;

use crate::configuration::{Configuration, PlanSettings};
use crate::error::Error;
use crate::objects;

/// The name of all objects.
const NAME: &str = "slipway-controller";
/// The folder of the configuration in a pod. The files that the configuration names with relative paths are in it too.
const FOLDER: &str = "/etc/slipway";
/// The configuration of the controller in that folder.
const FILE: &str = "controller.toml";
/// The user's configuration, as of `--config`, in that folder.
const USER_FILE: &str = "config.toml";
/// The Secret with the files that the configuration names. A person creates it, if there are any.
const FILES: &str = "slipway-controller-files";
/// The Secret with variables, such as credentials of the state store and of providers. A person creates it, if there are any.
const VARIABLES: &str = "slipway-controller-env";
/// The port of the Service for plans, so that their URL needs none.
const PLANS_PORT: u16 = 80;
/// The folder of temporary files, which is a volume of the pod.
const TEMPORARY: &str = "/tmp";
/// The user of the controller in its container.
const USER: u32 = 65532;
/// How long a pod may take to finish the steps that run, in seconds.
const GRACE: u32 = 900;
/// Files of the Secret are read by the group only.
const MODE: u32 = 0o440;

/// The inputs of the manifest.
#[derive(Clone, Copy, Debug)]
pub struct Manifest<'a> {
    /// An image with `slipway` and the executables of the providers in its `PATH`, and `git` if a source is a Git repository.
    pub image: &'a str,
    /// The namespace of the controller.
    pub namespace: &'a str,
    /// The number of replicas.
    pub replicas: u16,
    /// The URL of the state store.
    pub state: &'a str,
    /// The configuration of the controller (TOML).
    pub configuration: &'a str,
    /// The user's configuration (TOML), as of `--config`.
    pub user_configuration: Option<&'a str>,
}

impl Manifest<'_> {
    /// The objects, in the order in which they can be created.
    ///
    /// # Errors
    /// When the configuration cannot be used, or not in a pod.
    pub fn objects(&self) -> Result<Vec<Json>, Error> {
        let read = Configuration::parse(self.configuration, Path::new(FILE), Path::new(FOLDER))?;
        self.check(&read)?;
        let mut objects = vec![
            json!({
                "apiVersion": "v1", "kind": "Namespace",
                "metadata": {"name": self.namespace, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
            }),
            json!({
                "apiVersion": "v1", "kind": "ServiceAccount", "metadata": self.metadata(NAME),
                "automountServiceAccountToken": false,
            }),
        ];
        if read.kubernetes.as_ref().is_some_and(|settings| settings.kubeconfig.is_none()) {
            objects.extend(objects::definitions());
        }
        let rights = rights::of(&read, self.namespace);
        let uses_api = !rights.is_empty();
        objects.extend(rights);
        objects.push(self.files());
        if let Some(webhooks) = read.webhooks {
            objects.push(self.service("webhooks", webhooks.listen.port()));
        }
        if plans_of(&read).is_some() {
            objects.push(self.service("plans", PLANS_PORT));
        }
        objects.push(json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": self.metadata(NAME),
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": labels()}},
        }));
        objects.push(self.deployment(&read, uses_api));
        Ok(objects)
    }

    /// Refuses what would have no effect, or would not work, in a pod.
    fn check(&self, read: &Configuration) -> Result<(), Error> {
        let refused = |place: &str, reason: String, hint| {
            Err(Error::Configuration { place: place.to_owned(), reason, hint: Some(hint) })
        };
        if !self.state.contains("://") || self.state.starts_with("file:") {
            return refused(
                "the state store",
                format!("{} is a folder, which pods do not share and which ends with them", self.state),
                "name a bucket with `--state s3://BUCKET/PREFIX`",
            );
        }
        if let Some((setting, path)) = self.in_home() {
            return refused(
                &setting,
                format!("{path} is in a home folder, and a pod has another one than this machine"),
                "write the whole path in the pod, or a relative one for a file of the Secret slipway-controller-files",
            );
        }
        // Two volumes cannot have one place, and one that hides files of the image breaks it.
        if read.data == Path::new(TEMPORARY) || Path::new(FOLDER).starts_with(&read.data) {
            return refused(
                "data",
                format!("{} has other files in a pod", read.data.display()),
                "use `data = \"/var/lib/slipway/controller\"`, for which the manifest has a volume",
            );
        }
        if read.data.starts_with(FOLDER) {
            return refused(
                "data",
                format!("{} is read-only in a pod", read.data.display()),
                "use `data = \"/var/lib/slipway/controller\"`, for which the manifest has a volume",
            );
        }
        let is_reachable = |address: SocketAddr| !address.ip().is_loopback() && address.port() != 0;
        if !is_reachable(read.listen) {
            return refused(
                "listen",
                format!("the kubelet cannot ask for health at {}", read.listen),
                "use `listen = \"0.0.0.0:9464\"`",
            );
        }
        match (read.webhooks, plans_of(read)) {
            (Some(webhooks), _) if !is_reachable(webhooks.listen) => refused(
                "webhooks",
                format!("a Service cannot reach {}", webhooks.listen),
                "use `listen = \"0.0.0.0:9465\"`",
            ),
            (_, Some(plans)) if !is_reachable(plans.listen) => refused(
                "kubernetes.plans",
                format!("a Service cannot reach {}", plans.listen),
                "use `listen = \"0.0.0.0:9466\"`",
            ),
            _ => Ok(()),
        }
    }

    /// The first setting whose path begins with `~`, and this path.
    fn in_home(&self) -> Option<(String, String)> {
        let settings: toml::Table = toml::from_str(self.configuration).ok()?;
        home_path("", &settings.into())
    }

    fn metadata(&self, name: &str) -> Json {
        json!({"name": name, "namespace": self.namespace, "labels": labels()})
    }

    fn files(&self) -> Json {
        let mut data = json!({FILE: self.configuration});
        if let Some(text) = self.user_configuration {
            data[USER_FILE] = text.into();
        }
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": self.metadata(NAME), "data": data})
    }

    /// The Service for an endpoint of the pods, at a port.
    fn service(&self, endpoint: &str, port: u16) -> Json {
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": self.metadata(&format!("{NAME}-{endpoint}")),
            "spec": {
                "selector": labels(),
                "ports": [{"name": "http", "port": port, "targetPort": endpoint}],
            },
        })
    }

    fn deployment(&self, read: &Configuration, uses_api: bool) -> Json {
        // New pods begin with a configuration that was changed.
        let texts = format!("{}\0{}", self.configuration, self.user_configuration.unwrap_or_default());
        let digest = Digest::of(texts.as_bytes()).to_hex();
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": self.metadata(NAME),
            "spec": {
                "replicas": self.replicas,
                "selector": {"matchLabels": labels()},
                // A pod ends when another one is ready, and tells the others: its clusters have a replica at any time.
                "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
                "template": {
                    "metadata": {"labels": labels(), "annotations": {"slipway.dev/configuration": digest}},
                    "spec": self.pod(read, uses_api),
                },
            },
        })
    }

    fn pod(&self, read: &Configuration, uses_api: bool) -> Json {
        let configuration = json!({"defaultMode": MODE, "sources": [
            {"configMap": {"name": NAME}},
            {"secret": {"name": FILES, "optional": true}},
        ]});
        json!({
            "serviceAccountName": NAME,
            "automountServiceAccountToken": uses_api,
            "terminationGracePeriodSeconds": GRACE,
            "securityContext": {
                "runAsNonRoot": true, "runAsUser": USER, "runAsGroup": USER, "fsGroup": USER,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "topologySpreadConstraints": [{
                "maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": labels()},
            }],
            "containers": [self.container(read)],
            "volumes": [
                {"name": "configuration", "projected": configuration},
                {"name": "data", "emptyDir": {}},
                {"name": "tmp", "emptyDir": {}},
            ],
        })
    }

    fn container(&self, read: &Configuration) -> Json {
        let mut arguments = vec!["controller".to_owned(), "run".to_owned()];
        arguments.push(format!("--file={FOLDER}/{FILE}"));
        arguments.push(format!("--state={}", self.state));
        if self.user_configuration.is_some() {
            arguments.push(format!("--config={FOLDER}/{USER_FILE}"));
        }
        let mut ports = vec![json!({"name": "health", "containerPort": read.listen.port()})];
        if let Some(webhooks) = read.webhooks {
            ports.push(json!({"name": "webhooks", "containerPort": webhooks.listen.port()}));
        }
        if let Some(plans) = plans_of(read) {
            ports.push(json!({"name": "plans", "containerPort": plans.listen.port()}));
        }
        let probe = |path: &str| json!({"httpGet": {"port": "health", "path": path}});
        json!({
            "name": "controller",
            "image": self.image,
            "command": ["slipway"],
            "args": arguments,
            "envFrom": [{"secretRef": {"name": VARIABLES, "optional": true}}],
            "ports": ports,
            "livenessProbe": probe("/healthz"),
            "readinessProbe": probe("/readyz"),
            "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}},
            "securityContext": {
                "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]},
            },
            "volumeMounts": [
                {"name": "configuration", "mountPath": FOLDER, "readOnly": true},
                {"name": "data", "mountPath": read.data.display().to_string()},
                {"name": "tmp", "mountPath": TEMPORARY},
            ],
        })
    }
}

/// How plans are offered as artifacts of Flux.
fn plans_of(read: &Configuration) -> Option<&PlanSettings> {
    read.kubernetes.as_ref().and_then(|settings| settings.plans.as_ref())
}

/// A path that begins with `~` in a setting, or in those below it, with the name of the setting.
fn home_path(name: &str, value: &toml::Value) -> Option<(String, String)> {
    match value {
        toml::Value::String(text) if Path::new(text).starts_with("~") => {
            Some((name.to_owned(), text.clone()))
        }
        toml::Value::Array(values) => values.iter().find_map(|value| home_path(name, value)),
        toml::Value::Table(settings) => settings.iter().find_map(|(name, value)| home_path(name, value)),
        _ => None,
    }
}

fn labels() -> Json {
    json!({"app.kubernetes.io/name": NAME})
}

#[cfg(test)]
mod tests;
