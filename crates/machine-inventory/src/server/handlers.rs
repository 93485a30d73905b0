//! The requests of hosts.

use http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;
use slipway_controller::k8s_openapi::api::core::v1::Secret;
use slipway_controller::k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use slipway_controller::kube;
use slipway_controller::kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use slipway_controller::kube::{Api, Client};

use super::access;
use super::answer::{Answer, Refusal};
use super::route::{Action, Route, is_name};
use super::virtual_address;
use crate::api::{
    ElementalHost, ElementalHostSpec, ElementalMachine, ElementalRegistration, HostAddress, Phase,
};
use crate::conditions::{BOOTSTRAP_READY, Draft, INSTALLATION_READY, REGISTRATION_READY, RESET_READY};
use crate::labels::{BOOTSTRAPPED, INSTALLED, NEEDS_RESET, RESET, is_set};
use crate::writing::versioned;

/// The host that an agent registers.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewHost {
    /// The name of the host, which its Node will have.
    pub(crate) name: String,
    /// The public key of the host, in PEM.
    pub(crate) pub_key: String,
}

/// What an agent reports. It cannot change labels, except for those that say what it has done.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Report {
    /// What the agent does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) phase: Option<Phase>,
    /// The operating system is installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) installed: Option<bool>,
    /// The bootstrap data has run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bootstrapped: Option<bool>,
    /// The host was reset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reset: Option<bool>,
    /// The addresses of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) addresses: Option<Vec<HostAddress>>,
    /// Why the bootstrap data, or the reset, has failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) failure: Option<String>,
}

/// What an agent learns about its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HostState {
    /// Whether there is bootstrap data.
    pub(crate) bootstrap_ready: bool,
    /// Whether it has run.
    pub(crate) bootstrapped: bool,
    /// Whether the host must be reset.
    pub(crate) needs_reset: bool,
}

/// The bootstrap data of a host.
#[derive(Clone, Deserialize, Serialize)]
pub(crate) struct Bootstrap {
    /// `cloud-config` or `ignition`.
    pub(crate) format: String,
    /// The data.
    pub(crate) config: String,
    /// Files that are written before the data runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) files: Vec<BootstrapFile>,
}

/// A file beside the bootstrap data, which only the user of the agent may read.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct BootstrapFile {
    /// Its absolute path.
    pub(crate) path: String,
    /// Its content.
    pub(crate) content: String,
}

/// The most addresses and the longest failure that a report may have.
const ADDRESSES: usize = 64;
const FAILURE: usize = 4096;

fn bad(message: impl Into<String>) -> Refusal {
    Refusal(StatusCode::BAD_REQUEST, message.into())
}

/// Carries out a request.
pub(super) async fn handle(
    client: &Client,
    route: &Route,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Answer, Refusal> {
    let registrations: Api<ElementalRegistration> = Api::namespaced(client.clone(), &route.namespace);
    let registration = registrations.get(&route.registration).await?;
    let hosts: Api<ElementalHost> = Api::namespaced(client.clone(), &route.namespace);
    let known = async |name: &str| -> Result<ElementalHost, Refusal> {
        let host = hosts.get(name).await?;
        access::check_host(&registration, &host, headers)?;
        Ok(host)
    };
    match &route.action {
        Action::Register => {
            let new: NewHost = serde_json::from_slice(body).map_err(|error| bad(error.to_string()))?;
            access::check_registration(client, &registration, headers).await?;
            access::check_key(&registration, &new.name, &new.pub_key, headers)?;
            register(&hosts, &registration, new, route).await
        }
        Action::Report(name) => {
            let host = known(name).await?;
            let report: Report = serde_json::from_slice(body).map_err(|error| bad(error.to_string()))?;
            let host = apply(&hosts, host, report).await?;
            Ok(Answer::with(StatusCode::OK, json!(state(&host))))
        }
        Action::Leave(name) => {
            let host = known(name).await?;
            let this = Preconditions { uid: host.metadata.uid, resource_version: None };
            hosts.delete(name, &DeleteParams::default().preconditions(this)).await?;
            Ok(Answer { status: StatusCode::ACCEPTED, body: None, location: None })
        }
        Action::Bootstrap(name) => {
            let host = known(name).await?;
            let bootstrap = bootstrap(client, &host, &route.namespace).await?;
            Ok(Answer::with(StatusCode::OK, json!(bootstrap)))
        }
    }
}

async fn register(
    hosts: &Api<ElementalHost>,
    registration: &ElementalRegistration,
    new: NewHost,
    route: &Route,
) -> Result<Answer, Refusal> {
    if !is_name(&new.name) {
        return Err(bad(format!("`{}` is not a DNS name in lower case, which Nodes have", new.name)));
    }
    let mut host = ElementalHost::new(
        &new.name,
        ElementalHostSpec { pub_key: Some(new.pub_key), ..ElementalHostSpec::default() },
    );
    host.metadata.labels = Some(registration.spec.host_labels.clone());
    host.metadata.annotations = Some(registration.spec.host_annotations.clone());
    match hosts.create(&PostParams::default(), &host).await {
        Ok(_) => {}
        Err(error) if matches!(&error, kube::Error::Api(status) if status.code == 409) => {
            return Err(Refusal(StatusCode::CONFLICT, format!("host {} is registered already", new.name)));
        }
        Err(error) => return Err(error.into()),
    }
    tracing::info!(host = new.name, namespace = route.namespace, "a host has registered");
    let location = format!(
        "/elemental/v1/namespaces/{}/registrations/{}/hosts/{}",
        route.namespace, route.registration, new.name
    );
    Ok(Answer {
        status: StatusCode::CREATED,
        body: Some(json!({"name": new.name})),
        location: Some(location),
    })
}

/// Whether the host must be reset: Cluster API has deleted its machine, or a user the host.
fn must_reset(host: &ElementalHost) -> bool {
    host.is_leaving()
}

fn state(host: &ElementalHost) -> HostState {
    HostState {
        bootstrap_ready: host.spec.bootstrap_secret.is_some() && !must_reset(host),
        bootstrapped: host.is_bootstrapped(),
        needs_reset: must_reset(host),
    }
}

/// Writes what an agent reports, if it differs.
async fn apply(
    hosts: &Api<ElementalHost>,
    host: ElementalHost,
    report: Report,
) -> Result<ElementalHost, Refusal> {
    if report.bootstrapped == Some(true) && host.spec.bootstrap_secret.is_none() && !host.is_bootstrapped() {
        return Err(bad("the host has no bootstrap data, so it cannot have run any"));
    }
    if report.reset == Some(true) && !must_reset(&host) {
        return Err(bad("no reset of the host was asked for"));
    }
    if report.addresses.as_ref().is_some_and(|addresses| addresses.len() > ADDRESSES) {
        return Err(bad(format!("a host has at most {ADDRESSES} addresses")));
    }
    let labels: Vec<(&str, bool)> =
        [(INSTALLED, report.installed), (BOOTSTRAPPED, report.bootstrapped), (RESET, report.reset)]
            .into_iter()
            .filter_map(|(label, value)| Some((label, value?)))
            .filter(|(label, value)| is_set(&host.metadata, label) != *value)
            .collect();
    let name = host.metadata.name.clone().unwrap_or_default();
    let mut host = host;
    if !labels.is_empty() {
        let labels: serde_json::Map<_, _> = labels
            .into_iter()
            .map(|(label, value)| (label.to_owned(), json!(value.then_some("true"))))
            .collect();
        let patch =
            versioned(host.metadata.resource_version.as_deref(), json!({"metadata": {"labels": labels}}));
        host = hosts.patch(&name, &PatchParams::default(), &Patch::Merge(&patch)).await?;
    }
    let before = host.status.clone().unwrap_or_default();
    let mut status = before.clone();
    status.phase = report.phase.or(status.phase);
    status.addresses = report.addresses.unwrap_or(status.addresses);
    status.conditions = conditions(&host, report.failure.as_deref());
    if host.status.as_ref() != Some(&status) {
        let patch = versioned(host.metadata.resource_version.as_deref(), json!({ "status": status }));
        host = hosts.patch_status(&name, &PatchParams::default(), &Patch::Merge(&patch)).await?;
    }
    Ok(host)
}

/// The conditions of a host, from its labels and the failure that its agent has reported.
fn conditions(host: &ElementalHost, failure: Option<&str>) -> Vec<Condition> {
    let before = host.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let mut draft = Draft::new(before, host.metadata.generation, Timestamp::now());
    let failure: Option<String> = failure.map(|text| text.chars().take(FAILURE).collect());
    draft.set(REGISTRATION_READY, true, "Registered", "");
    if is_set(&host.metadata, INSTALLED) {
        draft.set(INSTALLATION_READY, true, "Installed", "");
    } else {
        draft.set(INSTALLATION_READY, false, "WaitingForInstallation", "");
    }
    let leaves = must_reset(host);
    if host.is_bootstrapped() {
        draft.set(BOOTSTRAP_READY, true, "Bootstrapped", "");
    } else if let Some(failure) = failure.as_ref().filter(|_| !leaves) {
        draft.set(BOOTSTRAP_READY, false, "BootstrapFailed", failure.clone());
    } else {
        draft.set(BOOTSTRAP_READY, false, "WaitingForBootstrap", "");
    }
    if !leaves || is_set(&host.metadata, RESET) {
        draft.set(RESET_READY, true, if leaves { "Reset" } else { "NotNeeded" }, "");
    } else if let Some(failure) = failure {
        draft.set(RESET_READY, false, "ResetFailed", failure);
    } else {
        draft.set(
            RESET_READY,
            false,
            "WaitingForReset",
            format!("label {NEEDS_RESET} is set, or the host is deleted"),
        );
    }
    draft.into_conditions()
}

/// The bootstrap data of a host. It is handed only to the host that the machine names.
async fn bootstrap(client: &Client, host: &ElementalHost, namespace: &str) -> Result<Bootstrap, Refusal> {
    let none = |message: &str| Refusal(StatusCode::NOT_FOUND, message.to_owned());
    let secret = host.spec.bootstrap_secret.as_ref().filter(|_| !must_reset(host));
    let (Some(secret), Some(claimer)) = (secret, &host.spec.machine_ref) else {
        return Err(none("the host has no bootstrap data"));
    };
    let machines: Api<ElementalMachine> = Api::namespaced(client.clone(), namespace);
    let machine = machines.get(&claimer.name).await?;
    let named = machine.spec.host_ref.as_ref();
    let is_its_host = named.is_some_and(|named| named.uid == host.metadata.uid);
    if machine.metadata.uid != claimer.uid || !is_its_host || machine.metadata.deletion_timestamp.is_some() {
        return Err(none("the machine that has claimed the host does not use it"));
    }
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let data = secrets.get(&secret.name).await?.data.unwrap_or_default();
    let text = |key: &str| data.get(key).and_then(|bytes| String::from_utf8(bytes.0.clone()).ok());
    let config = text("value").ok_or_else(|| none("the secret has no bootstrap data"))?;
    let files = virtual_address::files(host.spec.virtual_address.as_ref(), &config);
    Ok(Bootstrap { format: text("format").unwrap_or_else(|| "cloud-config".to_owned()), config, files })
}
