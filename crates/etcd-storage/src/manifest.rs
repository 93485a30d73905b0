//! Everything that installs the controller in a cluster: one file for `kubectl apply`. Names are those of etcdproxy-controller.

use serde_json::{Value as Json, json};

use crate::controller::NAME;
use crate::storage;

const CONTROLLER_ACCOUNT: &str = "etcdproxy-controller-sa";
const PROXY_ACCOUNT: &str = "etcdproxy-sa";
const DEPLOYMENT: &str = "etcdproxy-controller-deployment";
const RBAC: &str = "rbac.authorization.k8s.io";
const PORT: u16 = 8080;
/// The user of the controller in its container.
const USER: u32 = 65532;

/// The inputs of the manifest.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// The namespace of the controller and the proxies.
    pub namespace: String,
    /// The image of both. `slipway-etcd-storage` is in its `PATH`.
    pub image: String,
    /// URLs of the core etcd.
    pub core_urls: Vec<String>,
    /// The ConfigMap with the core's authorities.
    pub core_ca_config_map: String,
    /// The Secret with the proxies' client certificate for the core.
    pub core_certs_secret: String,
    /// The domain of the cluster's services.
    pub cluster_domain: String,
}

impl Manifest {
    /// The objects, in the order in which they can be created.
    #[must_use]
    pub fn objects(&self) -> Vec<Json> {
        let namespace = self.namespace.as_str();
        let account = |name: &str| json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}});
        let mut of_proxies = account(PROXY_ACCOUNT);
        of_proxies["automountServiceAccountToken"] = false.into();
        let subjects =
            json!([{"kind": "ServiceAccount", "name": CONTROLLER_ACCOUNT, "namespace": namespace}]);
        vec![
            json!({
                "apiVersion": "v1", "kind": "Namespace",
                "metadata": {"name": namespace, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
            }),
            account(CONTROLLER_ACCOUNT),
            of_proxies,
            json!({
                "apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRole",
                "metadata": {"name": "etcdproxy-crd-clusterrole"}, "rules": of_cluster(),
            }),
            json!({
                "apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRoleBinding",
                "metadata": {"name": "etcdproxy-crd-clusterrolebinding"}, "subjects": subjects,
                "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "etcdproxy-crd-clusterrole"},
            }),
            json!({
                "apiVersion": format!("{RBAC}/v1"), "kind": "Role",
                "metadata": {"name": "etcdproxy-controller-role", "namespace": namespace}, "rules": of_namespace(),
            }),
            json!({
                "apiVersion": format!("{RBAC}/v1"), "kind": "RoleBinding",
                "metadata": {"name": "etcdproxy-controller-rolebinding", "namespace": namespace}, "subjects": subjects,
                "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "etcdproxy-controller-role"},
            }),
            storage::definition(),
            self.deployment(),
        ]
    }

    fn deployment(&self) -> Json {
        let labels = json!({"controller": "etcdproxy"});
        let spread = json!([{
            "maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": labels},
        }]);
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": DEPLOYMENT, "namespace": self.namespace, "labels": labels},
            "spec": {
                "replicas": 2,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {
                    "serviceAccountName": CONTROLLER_ACCOUNT,
                    "securityContext": {
                        "runAsNonRoot": true, "runAsUser": USER, "runAsGroup": USER,
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                    "topologySpreadConstraints": spread,
                    "containers": [self.container()],
                }},
            },
        })
    }

    fn container(&self) -> Json {
        let probe = |path: &str| json!({"httpGet": {"port": "http", "path": path}});
        json!({
            "name": NAME,
            "image": self.image,
            "command": ["slipway-etcd-storage"],
            "args": [
                "controller",
                format!("--etcd-core-url={}", self.core_urls.join(",")),
                format!("--etcd-core-ca-configmap={}", self.core_ca_config_map),
                format!("--etcd-core-certs-secret={}", self.core_certs_secret),
                format!("--etcd-proxy-image={}", self.image),
                format!("--etcd-proxy-service-account={PROXY_ACCOUNT}"),
                format!("--cluster-domain={}", self.cluster_domain),
                format!("--namespace={}", self.namespace),
                "--bind-address=0.0.0.0",
                format!("--port={PORT}"),
            ],
            "ports": [{"name": "http", "protocol": "TCP", "containerPort": PORT}],
            "livenessProbe": probe("/healthz"),
            "readinessProbe": probe("/readyz"),
            "resources": {"requests": {"cpu": "20m", "memory": "32Mi"}},
            "securityContext": {
                "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]},
            },
        })
    }
}

fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> Json {
    json!({"apiGroups": [group], "resources": resources, "verbs": verbs})
}

/// The rights in the whole cluster. Rights on objects of API servers are given by those who own them.
fn of_cluster() -> Json {
    json!([
        // The finalizer is a part of the object.
        rule("etcd.xmudrii.com", &["etcdstorages"], &["get", "list", "watch", "patch"]),
        rule("etcd.xmudrii.com", &["etcdstorages/status"], &["patch"]),
        rule("events.k8s.io", &["events"], &["create", "patch"]),
    ])
}

/// The rights in the namespace of the controller.
fn of_namespace() -> Json {
    let applied = ["get", "list", "watch", "create", "patch"];
    let mut of_lease = rule("coordination.k8s.io", &["leases"], &["get", "update"]);
    of_lease["resourceNames"] = json!([NAME]);
    json!([
        rule("apps", &["deployments"], &["get", "list", "watch", "create", "patch", "delete"]),
        rule("", &["services", "configmaps"], &applied),
        rule("policy", &["poddisruptionbudgets"], &applied),
        // Authorities are replaced by version.
        rule("", &["secrets"], &["get", "list", "watch", "create", "patch", "update"]),
        // The name of what is created cannot be limited.
        rule("coordination.k8s.io", &["leases"], &["create"]),
        of_lease,
    ])
}
