//! Pods that do not have the authorities that the cluster publishes: they were started before, and may have read the earlier ones.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::Value as Json;
use slipway_provider_kubernetes::{Access as _, Reader, Restarter};

use crate::environment::Environment;
use crate::error::Error;
use crate::opened::Opened;
use crate::unplanned::{Allowed, Unplanned};

/// The object with the authorities in every namespace.
const AUTHORITIES: &str = "kube-root-ca.crt";
const OBJECTS: &str = "/api/v1/configmaps?fieldSelector=metadata.name%3Dkube-root-ca.crt";
const PODS: &str = "/api/v1/pods";
const REPLICA_SETS: &str = "/apis/apps/v1/replicasets";

/// The annotation of pods of the kubelet itself.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// What has started pods.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Workload {
    /// Its namespace.
    pub namespace: String,
    /// Its kind, such as `Deployment`; `Pod` for a pod that nothing has started.
    pub kind: String,
    /// Its name.
    pub name: String,
}

impl Workload {
    /// Whether it can start its pods again, one after the other.
    #[must_use]
    pub fn can_restart(&self) -> bool {
        self.collection().is_some()
    }

    fn collection(&self) -> Option<&'static str> {
        match self.kind.as_str() {
            "Deployment" => Some("deployments"),
            "DaemonSet" => Some("daemonsets"),
            "StatefulSet" => Some("statefulsets"),
            _ => None,
        }
    }

    fn path(&self) -> Option<String> {
        let Self { namespace, name, .. } = self;
        Some(format!("/apis/apps/v1/namespaces/{namespace}/{}/{name}", self.collection()?))
    }
}

/// The workloads with pods that were started before their namespace got its present authorities, in their order.
///
/// # Errors
/// When the API cannot be read.
pub async fn older_workloads(opened: &Opened) -> Result<Vec<Workload>, Error> {
    let Some(kubeconfig) = opened.access().kubeconfig().await? else { return Err(opened.no_authority()) };
    let api = Reader::new(kubeconfig);
    let objects = api.get(OBJECTS).await?;
    let pods = api.get(PODS).await?;
    let replica_sets = api.get(REPLICA_SETS).await?;
    Ok(older(&objects, &pods, &replica_sets))
}

/// The restart of workloads, as a change beside plans.
///
/// # Errors
/// When the state cannot be read.
pub async fn restart_change(
    environment: &Environment,
    cluster: &str,
    workloads: &[Workload],
) -> Result<Unplanned, Error> {
    let effect = |workload: &Workload| {
        let Workload { namespace, kind, name } = workload;
        format!("the pods of {kind} {namespace}/{name} are started again")
    };
    let effects = workloads.iter().filter(|workload| workload.can_restart()).map(effect).collect();
    Unplanned::of(environment, "rotate ca --restart-pods", cluster, effects).await
}

/// Has workloads start their pods again, by their own rollouts. Those that cannot are left alone. Waits for no rollout.
///
/// # Errors
/// When the API refuses it.
pub async fn restart_pods(opened: &Opened, workloads: &[Workload], _: &Allowed) -> Result<(), Error> {
    let Some(kubeconfig) = opened.access().kubeconfig().await? else { return Err(opened.no_authority()) };
    let restarter = Restarter::new(kubeconfig);
    let now = Timestamp::now().to_string();
    for path in workloads.iter().filter_map(Workload::path) {
        restarter.restart(&path, &now).await?;
    }
    Ok(())
}

/// The workloads with pods that are older than the authorities of their namespaces.
fn older(objects: &Json, pods: &Json, replica_sets: &Json) -> Vec<Workload> {
    let published: BTreeMap<&str, Timestamp> = items(objects)
        .filter_map(|object| Some((text(object, "/metadata/namespace")?, last_change(object)?)))
        .collect();
    let owners: BTreeMap<(&str, &str), (&str, &str)> = items(replica_sets)
        .filter_map(|set| {
            Some(((text(set, "/metadata/namespace")?, text(set, "/metadata/name")?), owner(set)?))
        })
        .collect();
    let workload = |pod: &Json| {
        let namespace = text(pod, "/metadata/namespace")?;
        let started: Timestamp = text(pod, "/status/startTime")?.parse().ok()?;
        if !uses_authorities(pod) || started >= *published.get(namespace)? {
            return None;
        }
        let name = text(pod, "/metadata/name")?;
        let (kind, name) = match owner(pod) {
            Some((kind, name)) if kind == "ReplicaSet" => {
                owners.get(&(namespace, name)).copied().unwrap_or((kind, name))
            }
            Some(owner) => owner,
            None => ("Pod", name),
        };
        Some(Workload { namespace: namespace.to_owned(), kind: kind.to_owned(), name: name.to_owned() })
    };
    let found: BTreeSet<Workload> = items(pods).filter_map(workload).collect();
    found.into_iter().collect()
}

/// Whether a pod runs, or will, and stays, and has the authorities of its namespace in a volume.
fn uses_authorities(pod: &Json) -> bool {
    let is_over = matches!(text(pod, "/status/phase"), Some("Succeeded" | "Failed"))
        || text(pod, "/metadata/deletionTimestamp").is_some();
    let annotations = pod.pointer("/metadata/annotations").and_then(Json::as_object);
    let is_mirror = annotations.is_some_and(|annotations| annotations.contains_key(MIRROR));
    let volumes = pod.pointer("/spec/volumes").and_then(Json::as_array).into_iter().flatten();
    let sources = volumes.filter_map(|volume| volume.pointer("/projected/sources")?.as_array()).flatten();
    let mut names = sources.filter_map(|source| text(source, "/configMap/name"));
    !is_over && !is_mirror && names.any(|name| name == AUTHORITIES)
}

/// The last change of an object: its creation, or a later write of a field.
fn last_change(object: &Json) -> Option<Timestamp> {
    let writes = object.pointer("/metadata/managedFields").and_then(Json::as_array).into_iter().flatten();
    let times = writes.filter_map(|write| text(write, "/time"));
    times.chain(text(object, "/metadata/creationTimestamp")).filter_map(|time| time.parse().ok()).max()
}

/// The kind and the name of the controller of an object.
fn owner(object: &Json) -> Option<(&str, &str)> {
    let owners = object.pointer("/metadata/ownerReferences")?.as_array()?;
    let owner = owners.iter().find(|owner| owner.get("controller").and_then(Json::as_bool) == Some(true))?;
    Some((text(owner, "/kind")?, text(owner, "/name")?))
}

fn items(list: &Json) -> impl Iterator<Item = &Json> {
    list.get("items").and_then(Json::as_array).into_iter().flatten()
}

fn text<'a>(object: &'a Json, pointer: &str) -> Option<&'a str> {
    object.pointer(pointer)?.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(name: &str, started: &str, owner: Option<(&str, &str)>, source: &str) -> Json {
        let owners = owner.map(|(kind, name)| json!([{"kind": kind, "name": name, "controller": true}]));
        json!({
            "metadata": {"namespace": "a", "name": name, "ownerReferences": owners},
            "spec": {"volumes": [{"name": "other"}, {"projected": {"sources": [{"configMap": {"name": source}}]}}]},
            "status": {"phase": "Running", "startTime": started},
        })
    }

    #[test]
    fn pods_from_before_the_last_change_are_named_by_what_has_started_them() {
        let objects = json!({"items": [{"metadata": {
            "namespace": "a", "creationTimestamp": "2026-01-01T00:00:00Z",
            "managedFields": [{"time": "2026-01-01T00:00:00Z"}, {"time": "2026-03-01T00:00:00Z"}],
        }}]});
        let sets = json!({"items": [{"metadata": {"namespace": "a", "name": "web-1",
            "ownerReferences": [{"kind": "Deployment", "name": "web", "controller": true}]}}]});
        let (before, after) = ("2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z");
        let mut of_kubelet = pod("static", before, None, AUTHORITIES);
        of_kubelet["metadata"]["annotations"] = json!({ MIRROR: "1" });
        let pods = json!({"items": [
            pod("web-1-x", before, Some(("ReplicaSet", "web-1")), AUTHORITIES),
            pod("web-1-y", before, Some(("ReplicaSet", "web-1")), AUTHORITIES),
            pod("new-x", after, Some(("DaemonSet", "new")), AUTHORITIES),
            pod("job-x", before, Some(("Job", "job")), AUTHORITIES),
            pod("bare", before, None, AUTHORITIES),
            pod("plain", before, None, "something-else"),
            of_kubelet,
        ]});
        let found = older(&objects, &pods, &sets);
        let names: Vec<String> = found.iter().map(|it| format!("{} {}", it.kind, it.name)).collect();
        assert_eq!(names, ["Deployment web", "Job job", "Pod bare"]);
        assert_eq!(found.iter().map(Workload::can_restart).collect::<Vec<_>>(), [true, false, false]);
        assert_eq!(found[0].path().as_deref(), Some("/apis/apps/v1/namespaces/a/deployments/web"));
    }
}
