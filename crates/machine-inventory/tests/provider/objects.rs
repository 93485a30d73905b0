//! The objects of a namespace, made as Cluster API's own controllers make them.

use http::Method;
use serde_json::{Value as Json, json};

use crate::lab::{CONTROL_PLANE, CORE, INFRASTRUCTURE, Lab, eventually, path};

pub const LABELS: &str = "elementalhost.infrastructure.cluster.x-k8s.io";
pub const CLUSTER: &str = "demo";

/// A namespace of a test.
pub struct Space<'a> {
    pub lab: &'a Lab,
    pub name: String,
}

/// A kind: its API version and its plural.
pub type Kind = (&'static str, &'static str);

pub const ELEMENTAL_CLUSTER: Kind = (INFRASTRUCTURE, "elementalclusters");
pub const ELEMENTAL_MACHINE: Kind = (INFRASTRUCTURE, "elementalmachines");
pub const ELEMENTAL_MACHINE_TEMPLATE: Kind = (INFRASTRUCTURE, "elementalmachinetemplates");
pub const ELEMENTAL_HOST: Kind = (INFRASTRUCTURE, "elementalhosts");
pub const ELEMENTAL_REGISTRATION: Kind = (INFRASTRUCTURE, "elementalregistrations");
pub const CLUSTERS: Kind = (CORE, "clusters");
pub const MACHINES: Kind = (CORE, "machines");
pub const KUBEADM_CONTROL_PLANES: Kind = (CONTROL_PLANE, "kubeadmcontrolplanes");
pub const SECRETS: Kind = ("v1", "secrets");

impl<'a> Space<'a> {
    pub fn new(lab: &'a Lab, name: &str) -> Self {
        Self { lab, name: lab.namespace(name) }
    }

    pub fn create(&self, kind: Kind, name: &str, mut object: Json) -> Json {
        let singular = match kind.1 {
            "elementalclusters" => "ElementalCluster",
            "elementalmachines" => "ElementalMachine",
            "elementalmachinetemplates" => "ElementalMachineTemplate",
            "elementalhosts" => "ElementalHost",
            "elementalregistrations" => "ElementalRegistration",
            "clusters" => "Cluster",
            "machines" => "Machine",
            "kubeadmcontrolplanes" => "KubeadmControlPlane",
            _ => "Secret",
        };
        object["apiVersion"] = json!(kind.0);
        object["kind"] = json!(singular);
        object["metadata"]["name"] = json!(name);
        let status = object["status"].take();
        object.as_object_mut().unwrap().remove("status");
        let created = self.lab.request(Method::POST, &self.path(kind, ""), Some(&object)).unwrap();
        if status.is_null() { created } else { self.patch_status(kind, name, json!({ "status": status })) }
    }

    pub fn path(&self, kind: Kind, name: &str) -> String {
        path(kind.0, &self.name, kind.1, name)
    }

    /// An object; `None` if it does not exist.
    pub fn get(&self, kind: Kind, name: &str) -> Option<Json> {
        self.lab.request(Method::GET, &self.path(kind, name), None).ok()
    }

    pub fn list(&self, kind: Kind) -> Vec<Json> {
        let list = self.lab.request(Method::GET, &self.path(kind, ""), None).unwrap();
        list["items"].as_array().unwrap().clone()
    }

    pub fn patch(&self, kind: Kind, name: &str, patch: Json) -> Json {
        self.lab.request(Method::PATCH, &self.path(kind, name), Some(&patch)).unwrap()
    }

    pub fn patch_status(&self, kind: Kind, name: &str, patch: Json) -> Json {
        let path = format!("{}/status", self.path(kind, name));
        self.lab.request(Method::PATCH, &path, Some(&patch)).unwrap()
    }

    pub fn delete(&self, kind: Kind, name: &str) {
        self.lab.request(Method::DELETE, &self.path(kind, name), None).unwrap();
    }

    /// Waits until an object is as it should be.
    pub fn becomes(&self, kind: Kind, name: &str, what: &str, is: impl Fn(&Json) -> bool) -> Json {
        let mut last = Json::Null;
        let looks = || {
            last = self.get(kind, name).unwrap_or_default();
            is(&last).then(|| last.clone())
        };
        eventually(&format!("{} {name}: {what}", kind.1), looks)
    }

    /// Waits until an object does not exist.
    pub fn vanishes(&self, kind: Kind, name: &str) {
        eventually(&format!("{} {name} is gone", kind.1), || self.get(kind, name).is_none().then_some(()));
    }

    /// A host whose agent has reported: it is installed, and it has an address.
    pub fn host(&self, name: &str, address: &str, labels: Json) -> Json {
        let mut all = labels;
        all[format!("{LABELS}/installed")] = json!("true");
        let status = json!({"conditions": [], "addresses": [
            {"type": "InternalIP", "address": address, "interface": "eth0"}, {"type": "Hostname", "address": name}]});
        self.create(ELEMENTAL_HOST, name, json!({"metadata": {"labels": all}, "spec": {}, "status": status}))
    }

    /// What the agent of a host reports when the bootstrap data has run.
    pub fn bootstrapped(&self, host: &str) {
        self.patch(
            ELEMENTAL_HOST,
            host,
            json!({"metadata": {"labels": {format!("{LABELS}/bootstrapped"): "true"}}}),
        );
    }

    /// A Cluster with its infrastructure, and a control plane whose hosts have the label `role: control-plane`.
    pub fn cluster(&self, infrastructure: Json) {
        let reference = |group: &str, kind: &str| json!({"apiGroup": group, "kind": kind, "name": CLUSTER});
        let cluster = self.create(
            CLUSTERS,
            CLUSTER,
            json!({"spec": {
            "controlPlaneRef": reference("controlplane.cluster.x-k8s.io", "KubeadmControlPlane"),
            "infrastructureRef": reference("infrastructure.cluster.x-k8s.io", "ElementalCluster")}}),
        );
        self.create(
            ELEMENTAL_MACHINE_TEMPLATE,
            CLUSTER,
            json!({"spec": {"template": {"spec": {
            "selector": {"matchLabels": {"role": "control-plane"}}}}}}),
        );
        self.create(KUBEADM_CONTROL_PLANES, CLUSTER, json!({"spec": {"version": "v1.34.4", "kubeadmConfigSpec": {"clusterConfiguration": {"certificatesDir": "/etc/kubernetes/pki"}},
            "machineTemplate": {"spec": {"infrastructureRef": reference("infrastructure.cluster.x-k8s.io", "ElementalMachineTemplate")}}}}));
        let owner = owner(&cluster);
        self.create(
            ELEMENTAL_CLUSTER,
            CLUSTER,
            json!({
            "metadata": {"ownerReferences": [owner], "labels": {"cluster.x-k8s.io/cluster-name": CLUSTER}},
            "spec": infrastructure}),
        );
    }

    /// Waits for the infrastructure, and copies the endpoint to the Cluster, once.
    pub fn cluster_is_provisioned(&self) -> Json {
        let infrastructure = self.becomes(ELEMENTAL_CLUSTER, CLUSTER, "is provisioned", |object| {
            object["status"]["initialization"]["provisioned"] == true && object["status"]["ready"] == true
        });
        let endpoint = &infrastructure["spec"]["controlPlaneEndpoint"];
        self.patch(CLUSTERS, CLUSTER, json!({"spec": {"controlPlaneEndpoint": endpoint}}));
        self.patch_status(
            CLUSTERS,
            CLUSTER,
            json!({"status": {"initialization": {"infrastructureProvisioned": true}}}),
        );
        infrastructure
    }

    /// The API server of the control plane answers: it is the one of the management cluster, by its own address.
    pub fn control_plane_is_initialised(&self, server: &str) {
        let kubeconfig = self.lab.workload_kubeconfig(server);
        self.create(SECRETS, &format!("{CLUSTER}-kubeconfig"), json!({"stringData": {"value": kubeconfig}}));
        self.patch_status(
            CLUSTERS,
            CLUSTER,
            json!({"status": {"initialization": {"controlPlaneInitialized": true}}}),
        );
    }

    /// A Machine with its infrastructure, and bootstrap data.
    pub fn machine(&self, name: &str, control_plane: bool, selector: Json) {
        self.machine_with_data(name, control_plane, selector, "#cloud-config\nruncmd: []\n");
    }

    pub fn machine_with_data(&self, name: &str, control_plane: bool, selector: Json, data: &str) {
        self.create(SECRETS, name, json!({"stringData": {"value": data, "format": "cloud-config"}}));
        let mut labels = json!({"cluster.x-k8s.io/cluster-name": CLUSTER});
        if control_plane {
            labels["cluster.x-k8s.io/control-plane"] = json!("");
        }
        let machine = self.create(MACHINES, name, json!({"metadata": {"labels": labels}, "spec": {
            "clusterName": CLUSTER, "version": "v1.34.4", "bootstrap": {"dataSecretName": name},
            "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "ElementalMachine", "name": name}}}));
        self.create(
            ELEMENTAL_MACHINE,
            name,
            json!({
            "metadata": {"ownerReferences": [owner(&machine)], "labels": labels},
            "spec": {"selector": selector}}),
        );
    }

    /// The host that a machine has claimed; `None` while it has none.
    pub fn host_of(&self, machine: &str) -> Option<String> {
        let found = self.get(ELEMENTAL_MACHINE, machine)?;
        let uid = found["metadata"]["uid"].clone();
        let host = self.get(ELEMENTAL_HOST, found["spec"]["hostRef"]["name"].as_str()?)?;
        (host["spec"]["machineRef"]["uid"] == uid)
            .then(|| host["metadata"]["name"].as_str().unwrap().to_owned())
    }

    /// Waits until a machine has claimed a host.
    pub fn claims(&self, machine: &str) -> String {
        eventually(&format!("{machine} has a host"), || self.host_of(machine))
    }
}

/// The owner reference that Cluster API sets.
pub fn owner(object: &Json) -> Json {
    json!({"apiVersion": object["apiVersion"], "kind": object["kind"], "name": object["metadata"]["name"],
           "uid": object["metadata"]["uid"], "controller": true})
}
