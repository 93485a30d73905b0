//! Objects that most add-ons have.

use serde_json::{Map, Value, json};

/// The namespace of a cluster's own parts.
pub(crate) const SYSTEM: &str = "kube-system";
const RBAC: &str = "rbac.authorization.k8s.io";

/// The common properties of one add-on's objects.
#[derive(Clone, Debug)]
pub(crate) struct Family {
    namespace: String,
    labels: Map<String, Value>,
}

impl Family {
    /// Objects in `kube-system` with these labels.
    pub(crate) fn new<'a>(labels: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self::within(SYSTEM, labels)
    }

    /// Objects in a namespace with these labels.
    pub(crate) fn within<'a>(
        namespace: impl Into<String>,
        labels: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let labels = labels.into_iter().map(|(key, value)| (key.to_owned(), value.into())).collect();
        Self { namespace: namespace.into(), labels }
    }

    /// The labels of every object.
    pub(crate) fn labels(&self) -> Value {
        self.labels.clone().into()
    }

    /// An object of a namespace.
    pub(crate) fn object(&self, api: &str, kind: &str, name: &str) -> Value {
        let mut object = self.global(api, kind, name);
        object["metadata"]["namespace"] = self.namespace.as_str().into();
        object
    }

    /// An object of the whole cluster.
    pub(crate) fn global(&self, api: &str, kind: &str, name: &str) -> Value {
        let mut metadata = json!({"name": name});
        if !self.labels.is_empty() {
            metadata["labels"] = self.labels();
        }
        json!({"apiVersion": api, "kind": kind, "metadata": metadata})
    }

    /// A service account.
    pub(crate) fn service_account(&self, name: &str) -> Value {
        self.object("v1", "ServiceAccount", name)
    }

    /// A role of the whole cluster.
    pub(crate) fn cluster_role(&self, name: &str, rules: Value) -> Value {
        let mut role = self.global(&format!("{RBAC}/v1"), "ClusterRole", name);
        role["rules"] = rules;
        role
    }

    /// A role in the namespace.
    pub(crate) fn role(&self, name: &str, rules: Value) -> Value {
        let mut role = self.object(&format!("{RBAC}/v1"), "Role", name);
        role["rules"] = rules;
        role
    }

    /// Gives a service account a role of the whole cluster.
    pub(crate) fn cluster_binding(&self, name: &str, role: &str, account: &str) -> Value {
        let mut binding = self.global(&format!("{RBAC}/v1"), "ClusterRoleBinding", name);
        bind(&mut binding, ("ClusterRole", role), (account, &self.namespace));
        binding
    }

    /// Gives a service account a role of the namespace.
    pub(crate) fn binding(&self, name: &str, role: &str, account: &str) -> Value {
        self.binding_of(name, role, (account, &self.namespace))
    }

    /// Gives a service account, which may be of another namespace, a role of the namespace.
    pub(crate) fn binding_of(&self, name: &str, role: &str, account: (&str, &str)) -> Value {
        let mut binding = self.object(&format!("{RBAC}/v1"), "RoleBinding", name);
        bind(&mut binding, ("Role", role), account);
        binding
    }

    /// A service.
    pub(crate) fn service(&self, name: &str, selector: Value, ports: Value) -> Value {
        let mut service = self.object("v1", "Service", name);
        service["spec"] = json!({"selector": selector, "ports": ports});
        service
    }

    /// A disruption budget.
    pub(crate) fn budget(&self, name: &str, spec: Value) -> Value {
        let mut budget = self.object("policy/v1", "PodDisruptionBudget", name);
        budget["spec"] = spec;
        budget
    }
}

/// Refers to a role by its kind and name, and to a service account by its name and namespace.
fn bind(binding: &mut Value, (kind, role): (&str, &str), (account, namespace): (&str, &str)) {
    binding["roleRef"] = json!({"apiGroup": RBAC, "kind": kind, "name": role});
    binding["subjects"] = json!([{"kind": "ServiceAccount", "name": account, "namespace": namespace}]);
}

/// A rule of a role.
pub(crate) fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> Value {
    json!({"apiGroups": [group], "resources": resources, "verbs": verbs})
}

/// A rule of a role about objects of these names.
pub(crate) fn named(group: &str, resources: &[&str], names: &[&str], verbs: &[&str]) -> Value {
    json!({"apiGroups": [group], "resources": resources, "resourceNames": names, "verbs": verbs})
}

/// An environment variable.
pub(crate) fn variable(name: &str, value: impl Into<String>) -> Value {
    json!({"name": name, "value": value.into()})
}

/// An environment variable with a field of the pod.
pub(crate) fn field(name: &str, path: &str) -> Value {
    json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}})
}

/// A port of a container.
pub(crate) fn port(name: &str, number: u16) -> Value {
    json!({"name": name, "containerPort": number, "protocol": "TCP"})
}

/// Lets pods run on control planes only, where the machine's role may call the cloud.
pub(crate) fn control_planes_only() -> Value {
    let with = |role: &str| json!({"matchExpressions": [{"key": format!("node-role.kubernetes.io/{role}"), "operator": "Exists"}]});
    json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [with("control-plane"), with("master")],
    }}})
}

/// The taints of control planes, tolerated.
pub(crate) fn control_plane_tolerations() -> Value {
    json!([
        {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists"},
        {"key": "node-role.kubernetes.io/master", "operator": "Exists"},
    ])
}

/// Spreads pods over zones where that is possible, and over machines: `strict` keeps a pod waiting that would share one.
pub(crate) fn spread(labels: &Value, strict: bool) -> Value {
    let over = |key: &str, strict: bool| {
        json!({
            "maxSkew": 1, "topologyKey": key, "labelSelector": {"matchLabels": labels},
            "whenUnsatisfiable": if strict { "DoNotSchedule" } else { "ScheduleAnyway" },
        })
    };
    json!([over("topology.kubernetes.io/zone", false), over("kubernetes.io/hostname", strict)])
}

/// How many replicas a controller has that runs beside the control planes: two where there is more than one group of them.
pub(crate) fn replicas(cluster: &slipway_cluster_input::ClusterInput) -> u32 {
    let groups = cluster.pools_with(slipway_cluster_input::Role::ControlPlane).count();
    if groups > 1 { 2 } else { 1 }
}
