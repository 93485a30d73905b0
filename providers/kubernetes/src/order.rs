//! The order of objects: by their references, and by kind where neither names the other.
//!
//! Pure. The graph has as few edges as possible. An object waits for its namespace, a custom resource for its
//! definition, and a binding for its role and its accounts. A workload waits for the objects that its pods
//! name, and for the permissions of their account. An admission webhook waits for all other objects, since it
//! may refuse them while its service is down.

use std::collections::{BTreeMap, BTreeSet};

use slipway_resource::{Address, Desired, Value};

use crate::manifest::{Wanted, wanted};
use crate::object::GroupKind;
use crate::schema::OBJECT;

const RBAC: &str = "rbac.authorization.k8s.io";

/// Adds to each object the addresses of the other objects that it depends on. Resources of other types, and
/// manifests that are not known yet, are unchanged.
#[must_use]
pub fn order(mut objects: Vec<Desired>) -> Vec<Desired> {
    let index = Index::of(&objects);
    let needs: Vec<BTreeSet<Address>> = objects.iter().map(|object| index.needs(object)).collect();
    for (object, needs) in objects.iter_mut().zip(needs) {
        let known: BTreeSet<Address> = object.depends_on.iter().cloned().collect();
        let own = object.address.clone();
        object.depends_on.extend(needs.into_iter().filter(|need| *need != own && !known.contains(need)));
    }
    objects
}

/// The desired objects by kind and name.
#[derive(Default)]
struct Index {
    by_name: BTreeMap<(GroupKind, String, String), Address>,
    /// Definitions by the kind that they bring.
    definitions: BTreeMap<GroupKind, Address>,
    /// Aggregated groups by the service that answers for them.
    groups: BTreeMap<String, Address>,
    /// Bindings by namespace and name of the account that they give rights to.
    bindings: BTreeMap<(String, String), Vec<Address>>,
    /// All desired objects, except the webhooks.
    all: Vec<Address>,
}

fn known(object: &Desired) -> Option<(Wanted, &Value)> {
    if object.address.kind() != OBJECT {
        return None;
    }
    let manifest = object.attributes.get("manifest")?;
    Some((wanted(manifest).ok()?, manifest))
}

fn is_webhook(kind: &GroupKind) -> bool {
    kind.group == "admissionregistration.k8s.io" && kind.kind.ends_with("WebhookConfiguration")
}

impl Index {
    fn of(objects: &[Desired]) -> Self {
        let mut index = Self::default();
        for object in objects {
            let Some((wanted, manifest)) = known(object) else { continue };
            let address = &object.address;
            if !is_webhook(&wanted.kind) {
                index.all.push(address.clone());
            }
            match (wanted.kind.group.as_str(), wanted.kind.kind.as_str()) {
                ("apiextensions.k8s.io", "CustomResourceDefinition") => {
                    let kind = GroupKind::new(
                        at(manifest, &["spec", "group"]),
                        at(manifest, &["spec", "names", "kind"]),
                    );
                    index.definitions.insert(kind, address.clone());
                }
                ("apiregistration.k8s.io", "APIService") => {
                    index.groups.insert(at(manifest, &["spec", "group"]).to_owned(), address.clone());
                }
                (RBAC, "RoleBinding" | "ClusterRoleBinding") => {
                    for account in accounts(manifest, &wanted.namespace) {
                        index.bindings.entry(account).or_default().push(address.clone());
                    }
                }
                _ => {}
            }
            index.by_name.insert((wanted.kind, wanted.namespace, wanted.name), address.clone());
        }
        index
    }

    fn find(&self, group: &str, kind: &str, namespace: &str, name: &str) -> Option<&Address> {
        self.by_name.get(&(GroupKind::new(group, kind), namespace.to_owned(), name.to_owned()))
    }

    fn needs(&self, object: &Desired) -> BTreeSet<Address> {
        let Some((wanted, manifest)) = known(object) else { return BTreeSet::new() };
        let namespace = wanted.namespace.as_str();
        let mut needs: BTreeSet<&Address> = BTreeSet::new();
        needs.extend(self.find("", "Namespace", "", namespace));
        needs.extend(self.definitions.get(&wanted.kind));
        needs.extend(self.groups.get(&wanted.kind.group));
        match (wanted.kind.group.as_str(), wanted.kind.kind.as_str()) {
            (RBAC, "RoleBinding" | "ClusterRoleBinding") => {
                let (kind, name) = (at(manifest, &["roleRef", "kind"]), at(manifest, &["roleRef", "name"]));
                let place = if kind == "Role" { namespace } else { "" };
                needs.extend(self.find(RBAC, kind, place, name));
                for (namespace, name) in accounts(manifest, namespace) {
                    needs.extend(self.find("", "ServiceAccount", &namespace, &name));
                }
            }
            ("apiregistration.k8s.io", "APIService") => {
                let service = |name: &str| at(manifest, &["spec", "service", name]);
                needs.extend(self.served(service("namespace"), service("name")));
            }
            ("autoscaling", "HorizontalPodAutoscaler") => {
                let target = |name: &str| at(manifest, &["spec", "scaleTargetRef", name]);
                let (group, _) = crate::object::split_api_version(target("apiVersion"));
                needs.extend(self.find(group, target("kind"), namespace, target("name")));
            }
            ("networking.k8s.io", "Ingress") => {
                needs.extend(self.find(
                    "networking.k8s.io",
                    "IngressClass",
                    "",
                    at(manifest, &["spec", "ingressClassName"]),
                ));
            }
            ("", "PersistentVolumeClaim") => {
                needs.extend(self.find(
                    "storage.k8s.io",
                    "StorageClass",
                    "",
                    at(manifest, &["spec", "storageClassName"]),
                ));
            }
            _ if is_webhook(&wanted.kind) => needs.extend(&self.all),
            _ => {}
        }
        if let Some(pod) = pod_spec(&wanted.kind, manifest) {
            self.pod(pod, namespace, &mut needs);
        }
        needs.into_iter().cloned().collect()
    }

    /// A service and its backends: all other workloads of the namespace.
    fn served<'a>(&'a self, namespace: &'a str, name: &'a str) -> impl Iterator<Item = &'a Address> {
        let service = self.find("", "Service", namespace, name);
        let workloads = self.by_name.iter().filter(move |((kind, place, _), _)| {
            service.is_some() && place == namespace && kind.group == "apps"
        });
        service.into_iter().chain(workloads.map(|(_, address)| address))
    }

    /// The objects that a pod template names.
    fn pod<'a>(&'a self, pod: &Value, namespace: &str, needs: &mut BTreeSet<&'a Address>) {
        let account = match (at(pod, &["serviceAccountName"]), at(pod, &["serviceAccount"])) {
            ("", older) => older,
            (name, _) => name,
        };
        let account = if account.is_empty() { "default" } else { account };
        needs.extend(self.find("", "ServiceAccount", namespace, account));
        if let Some(bindings) = self.bindings.get(&(namespace.to_owned(), account.to_owned())) {
            needs.extend(bindings);
        }
        needs.extend(self.find("scheduling.k8s.io", "PriorityClass", "", at(pod, &["priorityClassName"])));
        needs.extend(self.find("node.k8s.io", "RuntimeClass", "", at(pod, &["runtimeClassName"])));
        for volume in items(pod, "volumes") {
            needs.extend(self.find("", "ConfigMap", namespace, at(volume, &["configMap", "name"])));
            needs.extend(self.find("", "Secret", namespace, at(volume, &["secret", "secretName"])));
            let claim = at(volume, &["persistentVolumeClaim", "claimName"]);
            needs.extend(self.find("", "PersistentVolumeClaim", namespace, claim));
            for source in
                volume.get("projected").into_iter().flat_map(|projected| items(projected, "sources"))
            {
                needs.extend(self.find("", "ConfigMap", namespace, at(source, &["configMap", "name"])));
                needs.extend(self.find("", "Secret", namespace, at(source, &["secret", "name"])));
            }
        }
        for container in items(pod, "initContainers").chain(items(pod, "containers")) {
            for source in items(container, "envFrom") {
                needs.extend(self.find("", "ConfigMap", namespace, at(source, &["configMapRef", "name"])));
                needs.extend(self.find("", "Secret", namespace, at(source, &["secretRef", "name"])));
            }
            for variable in items(container, "env") {
                let name = |kind: &str| at(variable, &["valueFrom", kind, "name"]).to_owned();
                needs.extend(self.find("", "ConfigMap", namespace, &name("configMapKeyRef")));
                needs.extend(self.find("", "Secret", namespace, &name("secretKeyRef")));
            }
        }
        for secret in items(pod, "imagePullSecrets") {
            needs.extend(self.find("", "Secret", namespace, at(secret, &["name"])));
        }
    }
}

/// The pod template of a kind.
fn pod_spec<'a>(kind: &GroupKind, manifest: &'a Value) -> Option<&'a Value> {
    let path: &[&str] = match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Pod") => &["spec"],
        ("", "ReplicationController") | ("apps", _) | ("batch", "Job") => &["spec", "template", "spec"],
        ("batch", "CronJob") => &["spec", "jobTemplate", "spec", "template", "spec"],
        _ => return None,
    };
    path.iter().try_fold(manifest, |value, key| value.get(key))
}

/// The accounts that a binding gives rights to.
fn accounts(manifest: &Value, namespace: &str) -> Vec<(String, String)> {
    let subjects = items(manifest, "subjects").filter(|subject| at(subject, &["kind"]) == "ServiceAccount");
    let place = |subject: &Value| match at(subject, &["namespace"]) {
        "" => namespace.to_owned(),
        named => named.to_owned(),
    };
    subjects.map(|subject| (place(subject), at(subject, &["name"]).to_owned())).collect()
}

fn at<'a>(value: &'a Value, path: &[&str]) -> &'a str {
    path.iter().try_fold(value, |value, key| value.get(key)).and_then(Value::as_str).unwrap_or_default()
}

fn items<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value.get(name).and_then(Value::as_list).unwrap_or_default().iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of what each object waits for.
    fn ordered(text: &str) -> BTreeMap<String, Vec<String>> {
        let objects = crate::files::read("a.yaml", text).unwrap();
        let ordered = order(objects);
        ordered
            .into_iter()
            .map(|object| {
                let needs = object.depends_on.iter().map(|need| need.name().to_owned()).collect();
                (object.address.name().to_owned(), needs)
            })
            .collect()
    }

    #[test]
    fn objects_wait_for_what_they_refer_to() {
        let found = ordered(
            "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  template:
    spec:
      serviceAccountName: web
      priorityClassName: high
      volumes: [{name: c, configMap: {name: settings}}, {name: p, projected: {sources: [{secret: {name: token}}]}}]
      containers: [{name: web, envFrom: [{configMapRef: {name: elsewhere}}]}]
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop}}
---
{apiVersion: v1, kind: Secret, metadata: {name: token, namespace: shop}}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: web, namespace: shop}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: web}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects: [{kind: ServiceAccount, name: web, namespace: shop}, {kind: Group, name: people}]
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: reader}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
",
        );
        assert_eq!(
            found["Deployment/shop/web"],
            [
                "ClusterRoleBinding//web",
                "ConfigMap/shop/settings",
                "Namespace//shop",
                "PriorityClass//high",
                "Secret/shop/token",
                "ServiceAccount/shop/web"
            ]
        );
        assert_eq!(found["ClusterRoleBinding//web"], ["ClusterRole//reader", "ServiceAccount/shop/web"]);
        assert_eq!(found["ConfigMap/shop/settings"], ["Namespace//shop"]);
        assert!(found["Namespace//shop"].is_empty() && found["ClusterRole//reader"].is_empty());
    }

    #[test]
    fn what_a_definition_brings_waits_for_it_and_webhooks_come_last() {
        let found = ordered(
            "
apiVersion: example.com/v1
kind: Widget
metadata: {name: w}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec: {group: example.com, names: {kind: Widget, plural: widgets}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: check}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.metrics.example.com}
spec: {group: metrics.example.com, version: v1, service: {namespace: m, name: metrics}}
---
{apiVersion: v1, kind: Service, metadata: {name: metrics, namespace: m}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: metrics, namespace: m}}
---
{apiVersion: metrics.example.com/v1, kind: Number, metadata: {name: n}}
",
        );
        assert_eq!(found["example.com.Widget//w"], ["CustomResourceDefinition//widgets.example.com"]);
        assert_eq!(found["ValidatingWebhookConfiguration//check"].len(), 6);
        assert_eq!(
            found["APIService//v1.metrics.example.com"],
            ["Deployment/m/metrics", "Service/m/metrics"]
        );
        assert_eq!(found["metrics.example.com.Number//n"], ["APIService//v1.metrics.example.com"]);
    }
}
