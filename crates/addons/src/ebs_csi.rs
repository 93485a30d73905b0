//! The CSI driver of EBS: volumes of the cloud for pods.

mod controller;
mod node;
mod rights;

use serde_json::{Value, json};
use slipway_cluster_input::ClusterInput;

use crate::Facts;
use crate::install::is_ipv6_only;
use crate::object::{Family, field, variable};
use crate::settings::{Settings, addon, is_enabled};

/// The name of the add-on.
pub(crate) const NAME: &str = "aws-ebs-csi-driver";
const DRIVER: &str = "ebs.csi.aws.com";
const REPOSITORY: &str = "registry.k8s.io/provider-aws/aws-ebs-csi-driver";
const VERSION: &str = "v1.58.0";
const LIVENESS_IMAGE: &str = "registry.k8s.io/sig-storage/livenessprobe:v2.18.0";
const CONTROLLER: &str = "ebs-csi-controller";
const CONTROLLER_ACCOUNT: &str = "ebs-csi-controller-sa";
const NODE: &str = "ebs-csi-node";
const NODE_ACCOUNT: &str = "ebs-csi-node-sa";

/// The driver's settings in one cluster.
struct Driver<'a> {
    cluster: &'a ClusterInput,
    facts: &'a Facts,
    settings: Settings<'a>,
    family: Family,
    image: String,
    /// Whether the cluster has what snapshots need.
    snapshots: bool,
}

pub(crate) fn objects(cluster: &ClusterInput, facts: &Facts) -> Vec<Value> {
    let version = addon(cluster, NAME).and_then(|addon| addon.version.clone());
    let version = version.unwrap_or_else(|| VERSION.to_owned());
    let driver = Driver {
        cluster,
        facts,
        settings: Settings::of(cluster, NAME),
        family: Family::new([
            ("app.kubernetes.io/name", NAME),
            ("app.kubernetes.io/instance", NAME),
            ("app.kubernetes.io/version", &version),
        ]),
        image: format!("{REPOSITORY}:{version}"),
        snapshots: is_enabled(cluster, "snapshot-controller"),
    };
    let mut objects =
        vec![driver.family.service_account(CONTROLLER_ACCOUNT), driver.family.service_account(NODE_ACCOUNT)];
    objects.extend(rights::objects(&driver.family));
    objects.extend(controller::services(&driver.family));
    objects.push(node::daemon_set(&driver));
    objects.push(controller::deployment(&driver));
    let mut object = driver.family.global("storage.k8s.io/v1", "CSIDriver", DRIVER);
    object["spec"] = json!({"attachRequired": true, "podInfoOnMount": false});
    objects.push(object);
    let budget = json!({"maxUnavailable": 1, "selector": {"matchLabels": labels(CONTROLLER)}});
    objects.push(driver.family.budget(CONTROLLER, budget));
    objects
}

/// The labels of the driver's pods.
fn labels(app: &str) -> Value {
    json!({"app": app, "app.kubernetes.io/name": NAME, "app.kubernetes.io/instance": NAME})
}

impl Driver<'_> {
    /// The labels and annotations of pods.
    fn pod_metadata(&self, app: &str) -> Value {
        let mut own = labels(app);
        own["app.kubernetes.io/version"] = self.family.labels()["app.kubernetes.io/version"].clone();
        let mut metadata = json!({"labels": own});
        let annotations = self.settings.pod_annotations();
        if !annotations.is_empty() {
            metadata["annotations"] = annotations.into();
        }
        metadata
    }

    /// The driver itself, which the controller and each node run.
    fn plugin(&self, arguments: Vec<String>, endpoint: &str) -> Value {
        let mut environment = vec![
            variable("CSI_ENDPOINT", endpoint),
            field("CSI_NODE_NAME", "spec.nodeName"),
            variable("AWS_REGION", self.facts.region.as_str()),
        ];
        if is_ipv6_only(self.cluster) {
            environment.push(variable("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "IPv6"));
        }
        json!({
            "name": "ebs-plugin",
            "image": self.image,
            "imagePullPolicy": "IfNotPresent",
            "args": arguments,
            "env": environment,
            "livenessProbe": healthy(10),
        })
    }
}

/// Whether the driver answers.
fn healthy(period: u32) -> Value {
    json!({
        "httpGet": {"path": "/healthz", "port": "healthz"},
        "initialDelaySeconds": 10, "timeoutSeconds": 3, "periodSeconds": period, "failureThreshold": 5,
    })
}

/// The security context of a container that needs no access to the machine.
fn confined() -> Value {
    json!({"readOnlyRootFilesystem": true, "allowPrivilegeEscalation": false})
}

/// Where a container has the socket of the driver.
fn mount(name: &str, path: &str) -> Value {
    json!({"name": name, "mountPath": path})
}
