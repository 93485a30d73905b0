//! The rights of a controller in a cluster: those that its configuration needs, and no others.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};

use super::NAME;
use crate::configuration::Configuration;
use crate::objects::{GROUP, lease_name};

const RBAC: &str = "rbac.authorization.k8s.io";
/// The group of the objects of Flux.
const FLUX: &str = "source.toolkit.fluxcd.io";
/// The Role for the objects of Flux in a namespace.
const OF_FLUX: &str = "slipway-controller-sources";
/// The Role for the `Source` objects in a namespace.
const OF_PLACES: &str = "slipway-controller-source-objects";
/// The Role for the objects of the controller itself.
const OF_OBJECTS: &str = "slipway-controller-objects";

/// What reads an object and watches it. With a name, it is that of a list of this object only.
const READ: [&str; 3] = ["get", "list", "watch"];

/// The Roles for a configuration, with their bindings to the service account in a namespace. There are none if the controller
/// does not use the API of the cluster.
pub(super) fn of(read: &Configuration, account_in: &str) -> Vec<Json> {
    let mut roles: Vec<Json> = flux(read)
        .into_iter()
        .flat_map(|(namespace, rules)| role(OF_FLUX, &namespace, &rules, account_in))
        .collect();
    // With a kubeconfig, the objects are in another cluster.
    if let Some(settings) = read.kubernetes.as_ref().filter(|settings| settings.kubeconfig.is_none()) {
        let mut rules = objects(&read.name);
        if settings.plans.is_some() {
            rules.push(rule(FLUX, &["externalartifacts"], &["get", "create", "patch", "delete"]));
            rules.push(rule(FLUX, &["externalartifacts/status"], &["patch"]));
        }
        roles.extend(role(OF_OBJECTS, &settings.namespace, &rules, account_in));
        let places = sources(read).into_iter();
        roles.extend(places.flat_map(|(namespace, rules)| role(OF_PLACES, &namespace, &rules, account_in)));
    }
    roles
}

/// The rights on the `Source` objects that the configuration names, by namespace: to read each of them, and to write its status.
fn sources(read: &Configuration) -> BTreeMap<String, Vec<Json>> {
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for object in read.sources.iter().filter_map(|source| source.object.as_ref()) {
        all.entry(object.namespace.clone()).or_default().insert(object.name.clone());
    }
    let rules = |names: BTreeSet<String>| {
        vec![
            named(&names, rule(GROUP, &["sources"], &READ)),
            named(&names, rule(GROUP, &["sources/status"], &["patch"])),
        ]
    };
    all.into_iter().map(|(namespace, names)| (namespace, rules(names))).collect()
}

/// The rights on `ManagedCluster`, `PlanRequest` and the Lease of a controller.
fn objects(controller: &str) -> Vec<Json> {
    const LEASES: &str = "coordination.k8s.io";
    vec![
        rule(GROUP, &["managedclusters"], &["get", "list", "create", "patch", "delete"]),
        rule(GROUP, &["planrequests"], &["get", "list", "watch", "delete"]),
        rule(GROUP, &["managedclusters/status", "planrequests/status"], &["patch"]),
        rule("events.k8s.io", &["events"], &["create", "patch"]),
        // The name of what is created cannot be limited.
        rule(LEASES, &["leases"], &["create"]),
        named(&BTreeSet::from([lease_name(controller)]), rule(LEASES, &["leases"], &["get", "update"])),
    ]
}

/// The rights on the objects of Flux that are sources, by namespace: to read each of them.
fn flux(read: &Configuration) -> BTreeMap<String, Vec<Json>> {
    let mut all: BTreeMap<String, BTreeMap<&'static str, BTreeSet<String>>> = BTreeMap::new();
    let sources = read.sources.iter().filter_map(|source| source.flux.as_ref());
    // An object that is read with a kubeconfig has the rights of that.
    for object in sources.filter(|object| object.kubeconfig.is_none()) {
        let kinds = all.entry(object.namespace.clone()).or_default();
        kinds.entry(object.kind.plural()).or_default().insert(object.name.clone());
    }
    let of_kind = |(kind, names): (&'static str, BTreeSet<String>)| named(&names, rule(FLUX, &[kind], &READ));
    all.into_iter().map(|(namespace, kinds)| (namespace, kinds.into_iter().map(of_kind).collect())).collect()
}

fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> Json {
    json!({"apiGroups": [group], "resources": resources, "verbs": verbs})
}

/// A rule for the objects with these names only.
fn named(names: &BTreeSet<String>, mut rule: Json) -> Json {
    rule["resourceNames"] = json!(names);
    rule
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
