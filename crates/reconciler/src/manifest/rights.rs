//! The rights of a controller in a cluster: those that its configuration needs, and no others.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};

use super::NAME;
use crate::configuration::Configuration;
use crate::objects::{GROUP, lease_name};

const RBAC: &str = "rbac.authorization.k8s.io";
/// The Role for the objects of Flux in a namespace.
const OF_FLUX: &str = "slipway-controller-sources";
/// The Role for the objects of the controller itself.
const OF_OBJECTS: &str = "slipway-controller-objects";

/// The Roles for a configuration, with their bindings to the service account in a namespace. There are none if the controller
/// does not use the API of the cluster.
pub(super) fn of(read: &Configuration, account_in: &str) -> Vec<Json> {
    let mut roles: Vec<Json> = flux(read)
        .into_iter()
        .flat_map(|(namespace, rules)| role(OF_FLUX, &namespace, &rules, account_in))
        .collect();
    // With a kubeconfig, the objects are in another cluster.
    if let Some(settings) = read.kubernetes.as_ref().filter(|settings| settings.kubeconfig.is_none()) {
        roles.extend(role(OF_OBJECTS, &settings.namespace, &objects(&read.name), account_in));
    }
    roles
}

/// The rights on `ManagedCluster`, `PlanRequest` and the Lease of a controller.
fn objects(controller: &str) -> Vec<Json> {
    let rule = |group: &str, resources: &[&str], verbs: &[&str]| json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
    let mut of_lease = rule("coordination.k8s.io", &["leases"], &["get", "update"]);
    of_lease["resourceNames"] = json!([lease_name(controller)]);
    vec![
        rule(GROUP, &["managedclusters"], &["get", "list", "create", "patch", "delete"]),
        rule(GROUP, &["planrequests"], &["get", "list", "watch", "delete"]),
        rule(GROUP, &["managedclusters/status", "planrequests/status"], &["patch"]),
        rule("events.k8s.io", &["events"], &["create", "patch"]),
        // The name of what is created cannot be limited.
        rule("coordination.k8s.io", &["leases"], &["create"]),
        of_lease,
    ]
}

/// Names by plural kind, by namespace.
type Named = BTreeMap<String, BTreeMap<&'static str, BTreeSet<String>>>;

/// The rights on the objects of Flux that are sources, by namespace: to get each of them.
fn flux(read: &Configuration) -> BTreeMap<String, Vec<Json>> {
    let mut named = Named::new();
    let sources = read.sources.iter().filter_map(|source| source.flux.as_ref());
    // An object that is read with a kubeconfig has the rights of that.
    for object in sources.filter(|object| object.kubeconfig.is_none()) {
        let kinds = named.entry(object.namespace.clone()).or_default();
        kinds.entry(object.kind.plural()).or_default().insert(object.name.clone());
    }
    let rule = |(kind, names): (&'static str, BTreeSet<String>)| json!({"apiGroups": ["source.toolkit.fluxcd.io"], "resources": [kind], "resourceNames": names, "verbs": ["get"]});
    named.into_iter().map(|(namespace, kinds)| (namespace, kinds.into_iter().map(rule).collect())).collect()
}

/// A Role, and its binding to the service account.
fn role(name: &str, namespace: &str, rules: &[Json], account_in: &str) -> [Json; 2] {
    let metadata = json!({"name": name, "namespace": namespace, "labels": super::labels()});
    [
        json!({"apiVersion": format!("{RBAC}/v1"), "kind": "Role", "metadata": metadata, "rules": rules}),
        json!({
            "apiVersion": format!("{RBAC}/v1"), "kind": "RoleBinding", "metadata": metadata,
            "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": account_in}],
        }),
    ]
}
