//! Gates of an upgrade to another minor version: states of the cluster in which the upgrade would break something. They are read
//! before the first change.

pub(super) mod drains;
pub(super) mod etcd;
pub(super) mod of_spec;
pub(super) mod soak;

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;
use serde_json::Value as Json;
use slipway_bootstrap::configuration::LocalEndpoint;
use slipway_provider_kubernetes::{Access as _, ApiEndpoint, Reader};
use slipway_resource::ErrorClass;
use slipway_resource::provider::{ExpandNote, PreflightFinding};
use slipway_spec::value::KubernetesVersion;

use crate::access::ClusterAccess;
use crate::health;

/// The setting of a provider that names the checks to ignore. It waives gates too.
const SETTING: &str = "ignore_preflight_errors";

/// The kinds of admission webhooks.
const WEBHOOKS: [&str; 2] = ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"];

/// The label that control planes have.
const CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";

/// The metric with which an API server says which deprecated APIs were requested since it was started.
const REQUESTED: &str = "apiserver_requested_deprecated_apis{";

/// A gate that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Gate {
    /// Its name, by which it is waived.
    pub(super) name: String,
    /// What does not hold.
    pub(super) message: String,
    /// The way out.
    hint: &'static str,
}

/// The gates that do not hold, for a plan.
#[derive(Clone, Debug, Default)]
pub(super) struct Closed {
    /// The gates that stop the plan.
    pub findings: Vec<PreflightFinding>,
    /// The gates that the settings of the provider waive.
    pub notes: Vec<ExpandNote>,
}

/// Reads the cluster, and returns the gates of an upgrade to this version that do not hold.
pub(super) async fn look(access: &ClusterAccess, to: &KubernetesVersion) -> Vec<Gate> {
    let (objects, requests) = tokio::join!(of_objects(access), of_requests(access, to.minor));
    let mut gates = objects.unwrap_or_else(|reason| vec![unreadable("ClusterState", &reason)]);
    gates.extend(requests.unwrap_or_else(|reason| vec![unreadable("DeprecatedApis", &reason)]));
    gates
}

/// The gate of a part of the cluster that cannot be read.
fn unreadable(name: &str, reason: &str) -> Gate {
    Gate {
        name: name.to_owned(),
        message: format!("it cannot be read: {reason}"),
        hint: "`slipway validate` says what is wrong with the cluster",
    }
}

/// The names of the checks that the settings of the provider waive.
fn waived(config: &Json) -> Vec<&str> {
    let names = config.get(SETTING).and_then(Json::as_array).into_iter().flatten();
    names.filter_map(Json::as_str).collect()
}

/// Whether one of these names waives a gate.
fn is_waived(gate: &str, waived: &[&str]) -> bool {
    waived.iter().any(|waived| waived.eq_ignore_ascii_case(gate) || waived.eq_ignore_ascii_case("all"))
}

/// The gates that the settings of the provider do not waive.
pub(super) fn unwaived(mut gates: Vec<Gate>, config: &Json) -> Vec<Gate> {
    let waived = waived(config);
    gates.retain(|gate| !is_waived(&gate.name, &waived));
    gates
}

/// The gates of a look that did not hold in the look before either.
pub(super) fn still_broken(before: &[Gate], mut seen: Vec<Gate>) -> Vec<Gate> {
    seen.retain(|gate| before.iter().any(|before| before.name == gate.name));
    seen
}

/// Separates the gates that the settings of the provider waive from those that stop the plan.
pub(super) fn closed(gates: Vec<Gate>, config: &Json) -> Closed {
    let waived = waived(config);
    let mut closed = Closed::default();
    for Gate { name, message, hint } in gates {
        if is_waived(&name, &waived) {
            closed.notes.push(ExpandNote {
                field: format!("provider.config.{SETTING}"),
                message: format!("the gate {name} of the upgrade is waived: {message}"),
            });
            continue;
        }
        closed.findings.push(PreflightFinding {
            address: None,
            class: ErrorClass::PreconditionFailed,
            message: format!("{name}: {message}"),
            hint: Some(format!(
                "{hint}; or waive the gate: `{SETTING}: [{name}]` in the provider's `config`"
            )),
        });
    }
    closed
}

/// The gates about control planes and admission webhooks.
async fn of_objects(access: &ClusterAccess) -> Result<Vec<Gate>, String> {
    let api = health::api(access).await.map_err(|error| error.to_string())??;
    let read = async |path: String| api.get(&path).await.map_err(|error| error.message);
    let mut gates = unready(&read("/api/v1/nodes".to_owned()).await?);
    let mut served: BTreeMap<Service, bool> = BTreeMap::new();
    for kind in WEBHOOKS {
        let list = read(format!("/apis/admissionregistration.k8s.io/v1/{kind}")).await?;
        for (webhook, service) in webhooks(&list) {
            let is_served = match served.get(&service).copied() {
                Some(is_served) => is_served,
                None => {
                    let is_served = has_endpoint(&read(service.slices()).await?);
                    served.insert(service.clone(), is_served);
                    is_served
                }
            };
            if !is_served {
                gates.push(unserved(&webhook, &service));
            }
        }
    }
    Ok(gates)
}

/// Control planes that are not ready.
fn unready(nodes: &Json) -> Vec<Gate> {
    let control_planes = items(nodes).filter(|node| {
        node.pointer("/metadata/labels").is_some_and(|labels| labels.get(CONTROL_PLANE).is_some())
    });
    let unready = control_planes.filter(|node| {
        let conditions = node.pointer("/status/conditions").and_then(Json::as_array).into_iter().flatten();
        let mut ready = conditions.filter(|condition| text(condition, "/type") == "Ready");
        !ready.any(|condition| text(condition, "/status") == "True")
    });
    let gate = |node: &Json| {
        let name = text(node, "/metadata/name");
        Gate {
            name: format!("NodeReady--{name}"),
            message: format!("the control plane {name} is not ready"),
            hint: "repair it, or mark its host as lost",
        }
    };
    unready.map(gate).collect()
}

/// A Service that answers for a webhook.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Service {
    namespace: String,
    name: String,
}

impl Service {
    /// The path of its endpoint slices.
    fn slices(&self) -> String {
        let Self { namespace, name } = self;
        format!(
            "/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3D{name}"
        )
    }
}

/// The admission webhooks without which requests fail, each with its Service. Those outside the cluster cannot be judged from here.
fn webhooks(list: &Json) -> Vec<(String, Service)> {
    let all =
        items(list).flat_map(|item| item.get("webhooks").and_then(Json::as_array).into_iter().flatten());
    let needed = all.filter(|webhook| text(webhook, "/failurePolicy") != "Ignore");
    let with_service = needed.filter_map(|webhook| {
        let service = webhook.pointer("/clientConfig/service")?;
        let service = Service { namespace: text(service, "/namespace"), name: text(service, "/name") };
        Some((text(webhook, "/name"), service))
    });
    with_service.collect()
}

/// Whether one of the endpoints in these slices is ready.
fn has_endpoint(slices: &Json) -> bool {
    let mut endpoints =
        items(slices).flat_map(|slice| slice.get("endpoints").and_then(Json::as_array).into_iter().flatten());
    // An absent condition means ready.
    endpoints.any(|endpoint| endpoint.pointer("/conditions/ready").and_then(Json::as_bool) != Some(false))
}

/// The gate of a webhook whose Service has no endpoint.
fn unserved(webhook: &str, Service { namespace, name }: &Service) -> Gate {
    Gate {
        name: format!("Webhook--{webhook}"),
        message: format!(
            "requests that the webhook {webhook} checks fail: the Service {namespace}/{name} has no ready endpoint"
        ),
        hint: "start the pods of the Service, or delete the webhook if it is left over",
    }
}

/// The gates about requests of APIs that the new version does not have, from all API servers that answer.
async fn of_requests(access: &ClusterAccess, minor: u64) -> Result<Vec<Gate>, String> {
    let servers = access.endpoints().iter().map(|endpoint| removed_at(access, endpoint, minor));
    let mut removed: BTreeSet<Removed> = BTreeSet::new();
    let (mut is_read, mut reason) = (false, "the cluster has no API yet".to_owned());
    for answer in join_all(servers).await {
        match answer {
            Ok(found) => {
                is_read = true;
                removed.extend(found);
            }
            Err(error) => reason = error,
        }
    }
    if is_read { Ok(removed.iter().map(Removed::gate).collect()) } else { Err(reason) }
}

/// The removed APIs that were requested from one API server.
async fn removed_at(
    access: &ClusterAccess,
    endpoint: &LocalEndpoint,
    minor: u64,
) -> Result<BTreeSet<Removed>, String> {
    let metrics = reader_at(access, endpoint).await?.text("/metrics").await.map_err(|error| error.message)?;
    Ok(removed(&metrics, minor))
}

/// A reader of one API server.
async fn reader_at(access: &ClusterAccess, endpoint: &LocalEndpoint) -> Result<Reader, String> {
    let server = ApiEndpoint { host: endpoint.host.clone(), port: endpoint.port };
    let kubeconfig = access.kubeconfig_at(&server).await.map_err(|error| error.message)?;
    kubeconfig.map(Reader::new).ok_or_else(|| "the cluster has no API yet".to_owned())
}

/// An API that was requested, and that a release does not have any more.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Removed {
    /// Resource, version and group, as in `cronjobs.v1beta1.batch`.
    api: String,
    /// The release that removes it, as in `1.25`.
    release: String,
}

impl Removed {
    fn gate(&self) -> Gate {
        let Self { api, release } = self;
        Gate {
            name: format!("DeprecatedApi--{api}"),
            message: format!("clients have requested {api}, which Kubernetes {release} removes"),
            hint: "find the clients in the audit log by the annotation `k8s.io/removed-release`, and move them to a newer API. \
                   An API server counts their requests until it is restarted",
        }
    }
}

/// The APIs that were requested according to the metrics of an API server, and that this minor version does not have.
fn removed(metrics: &str, minor: u64) -> BTreeSet<Removed> {
    let samples = metrics.lines().filter_map(|line| line.strip_prefix(REQUESTED)?.split_once('}'));
    let requested = samples.filter(|(_, value)| value.trim() != "0");
    let of_labels = |(labels, _): (&str, &str)| {
        let label = |name: &str| label(labels, name);
        let release = label("removed_release")?;
        let removed_in: u64 = release.strip_prefix("1.")?.parse().ok()?;
        let parts = [label("resource")?, label("version")?, label("group")?];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        (removed_in <= minor).then(|| Removed { api: parts.join("."), release })
    };
    requested.filter_map(of_labels).collect()
}

/// A label of a metric.
fn label(labels: &str, name: &str) -> Option<String> {
    labels
        .split(',')
        .find_map(|label| label.strip_prefix(name)?.strip_prefix("=\"")?.strip_suffix('"').map(str::to_owned))
}

/// The objects of a list.
fn items(list: &Json) -> impl Iterator<Item = &Json> {
    list.get("items").and_then(Json::as_array).into_iter().flatten()
}

/// A text in an object; empty where there is none.
fn text(object: &Json, pointer: &str) -> String {
    object.pointer(pointer).and_then(Json::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn names(gates: &[Gate]) -> Vec<&str> {
        gates.iter().map(|gate| gate.name.as_str()).collect()
    }

    #[test]
    fn control_planes_that_are_not_ready_are_gates() {
        let node = |name: &str, label: &str, status: &str| {
            json!({
                "metadata": { "name": name, "labels": { label: "" } },
                "status": { "conditions": [{ "type": "DiskPressure", "status": "True" }, { "type": "Ready", "status": status }] },
            })
        };
        let nodes = json!({ "items": [
            node("cp-0", CONTROL_PLANE, "True"),
            node("cp-1", CONTROL_PLANE, "Unknown"),
            node("worker-0", "example.com/rack", "False"),
        ] });
        assert_eq!(names(&unready(&nodes)), ["NodeReady--cp-1"]);
    }

    #[test]
    fn a_webhook_is_needed_unless_its_failure_is_ignored() {
        let webhook = |name: &str, policy: &str| json!({ "name": name, "failurePolicy": policy, "clientConfig": { "service": { "namespace": "a", "name": "b" } } });
        let outside = json!({ "name": "c.example.com", "clientConfig": { "url": "https://c.example.com" } });
        let list = json!({ "items": [{ "webhooks": [
            webhook("a.example.com", "Fail"), webhook("b.example.com", "Ignore"), outside,
        ] }, {}] });
        let service = Service { namespace: "a".to_owned(), name: "b".to_owned() };
        assert_eq!(webhooks(&list), [("a.example.com".to_owned(), service.clone())]);
        assert!(
            service
                .slices()
                .ends_with("/namespaces/a/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3Db")
        );
        assert_eq!(unserved("a.example.com", &service).name, "Webhook--a.example.com");
    }

    #[test]
    fn an_endpoint_is_ready_unless_its_condition_says_otherwise() {
        let slices =
            |endpoints: Json| json!({ "items": [{ "endpoints": null }, { "endpoints": endpoints }] });
        assert!(!has_endpoint(&json!({ "items": [] })));
        assert!(!has_endpoint(&slices(json!([{ "conditions": { "ready": false } }]))));
        assert!(has_endpoint(&slices(
            json!([{ "conditions": { "ready": false } }, { "addresses": ["10.0.0.1"] }])
        )));
    }

    #[test]
    fn requests_of_removed_apis_are_read_from_the_metrics() {
        let metrics = "# TYPE apiserver_requested_deprecated_apis gauge\n\
            apiserver_requested_deprecated_apis{group=\"flowcontrol.apiserver.k8s.io\",removed_release=\"1.32\",resource=\"flowschemas\",subresource=\"\",version=\"v1beta3\"} 1\n\
            apiserver_requested_deprecated_apis{group=\"\",removed_release=\"\",resource=\"componentstatuses\",subresource=\"\",version=\"v1\"} 1\n\
            apiserver_requested_deprecated_apis{group=\"\",removed_release=\"1.33\",resource=\"things\",subresource=\"status\",version=\"v1\"} 1\n\
            apiserver_requested_deprecated_apis{group=\"x.io\",removed_release=\"1.31\",resource=\"unused\",subresource=\"\",version=\"v1\"} 0\n\
            apiserver_request_total{group=\"\"} 7\n";
        let gates = |minor| removed(metrics, minor).iter().map(Removed::gate).collect::<Vec<_>>();
        assert_eq!(names(&gates(31)), Vec::<&str>::new());
        assert_eq!(names(&gates(32)), ["DeprecatedApi--flowschemas.v1beta3.flowcontrol.apiserver.k8s.io"]);
        assert_eq!(gates(34).len(), 2);
        assert_eq!(gates(34)[1].message, "clients have requested things.v1, which Kubernetes 1.33 removes");
    }

    #[test]
    fn a_gate_is_waived_by_its_name() {
        let gate = |name: &str| Gate { name: name.to_owned(), message: "m".to_owned(), hint: "h" };
        let gates = || vec![gate("NodeReady--cp-1"), gate("Webhook--a.example.com")];
        let none = closed(gates(), &Json::Null);
        assert_eq!((none.findings.len(), none.notes.len()), (2, 0));
        assert_eq!(none.findings[0].message, "NodeReady--cp-1: m");
        assert!(
            none.findings[0]
                .hint
                .as_deref()
                .unwrap()
                .contains("`ignore_preflight_errors: [NodeReady--cp-1]`")
        );
        let one = closed(gates(), &json!({ SETTING: ["nodeready--CP-1"] }));
        assert_eq!((one.findings.len(), one.notes.len()), (1, 1));
        assert!(
            one.notes[0].message.contains("the gate NodeReady--cp-1 of the upgrade is waived"),
            "{:?}",
            one.notes
        );
        let all = closed(gates(), &json!({ SETTING: ["all"] }));
        assert_eq!((all.findings.len(), all.notes.len()), (0, 2));
        let unwaived = |config: &Json| unwaived(gates(), config).len();
        assert_eq!(unwaived(&Json::Null), 2);
        assert_eq!(unwaived(&json!({ SETTING: ["webhook--A.example.com"] })), 1);
        assert_eq!(unwaived(&json!({ SETTING: ["all"] })), 0);
    }

    #[test]
    fn a_gate_is_still_broken_if_it_did_not_hold_before() {
        let gate = |name: &str, message: &str| Gate {
            name: name.to_owned(),
            message: message.to_owned(),
            hint: "h",
        };
        let before = [gate("a", "then"), gate("b", "then")];
        assert_eq!(still_broken(&before, vec![gate("b", "now"), gate("c", "now")]), [gate("b", "now")]);
        assert!(still_broken(&before, vec![gate("c", "now")]).is_empty());
    }
}
