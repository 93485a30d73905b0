//! One look at an `EtcdStorage`: everything is brought to what the spec asks for, and the status tells of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;
use slipway_controller::k8s_openapi::api::apps::v1::Deployment;
use slipway_controller::k8s_openapi::api::core::v1::Service;
use slipway_controller::k8s_openapi::api::policy::v1::PodDisruptionBudget;
use slipway_controller::kube::Resource as _;
use slipway_controller::kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use slipway_controller::runtime::controller::Action;

use crate::storage::{DeletionPolicy, EtcdStorage, EtcdStorageStatus};

use super::apply::apply;
use super::authority::between;
use super::certificates::{self, Desired};
use super::context::Context;
use super::failure::Failure;
use super::names::{FINALIZER, Names};
use super::report::{Report, Told, Type};
use super::{clients, core, delete, workload};

/// How often an `EtcdStorage` is looked at that nothing has happened to. Objects of API servers are not watched.
const RESYNC: Duration = Duration::from_secs(60);
/// The pause before an attempt on an object that was changed meanwhile.
const CONFLICT: Duration = Duration::from_millis(200);
/// A certificate that is due is looked at this long after its time at least, since times of certificates are whole seconds.
const LATE: Duration = Duration::from_secs(1);

/// Looks at an `EtcdStorage`.
pub(crate) async fn reconcile(storage: Arc<EtcdStorage>, context: Arc<Context>) -> Result<Action, Failure> {
    if storage.metadata.deletion_timestamp.is_some() {
        return delete::run(&storage, &context).await;
    }
    let storage = if delete::has_finalizer(&storage) {
        storage
    } else {
        Arc::new(add_finalizer(&storage, &context).await?)
    };
    let name = storage.metadata.name.clone().unwrap_or_default();
    let mut report = Report::default();
    look(&storage, &context, &mut report).await;
    // What was done is told even if the status cannot be written at this attempt.
    publish(&storage, &context, std::mem::take(&mut report.events)).await;
    let (is_done, due, expires) = (report.is_done(), report.due, report.expires);
    write_status(&storage, &context, report).await?;
    if let Some(expires) = expires {
        context.metrics.expires(&name, expires.as_second());
    }
    let until_due = due.map_or(RESYNC, |due| between(Timestamp::now(), due) + LATE);
    if !is_done {
        context.metrics.reconciled("waiting");
        // What is missing elsewhere delays no renewal.
        return Ok(Action::requeue(context.failed(&name).min(until_due)));
    }
    context.succeeded(&name);
    context.metrics.reconciled("ready");
    Ok(Action::requeue(until_due.min(RESYNC)))
}

/// When an `EtcdStorage` is looked at again after an error.
pub(crate) fn after_error(storage: Arc<EtcdStorage>, error: &Failure, context: Arc<Context>) -> Action {
    if error.is_conflict() {
        return Action::requeue(CONFLICT);
    }
    context.metrics.reconciled("failed");
    let name = storage.metadata.name.clone().unwrap_or_default();
    let wait = context.failed(&name);
    tracing::warn!(etcdstorage = name, %error, again_in = ?wait, "the EtcdStorage is not as desired");
    Action::requeue(wait)
}

async fn add_finalizer(storage: &EtcdStorage, context: &Context) -> Result<EtcdStorage, Failure> {
    let mut finalizers = storage.metadata.finalizers.clone().unwrap_or_default();
    finalizers.push(FINALIZER.to_owned());
    let version = &storage.metadata.resource_version;
    let patch = json!({"metadata": {"finalizers": finalizers, "resourceVersion": version}});
    let name = storage.metadata.name.as_deref().unwrap_or_default();
    Ok(context.storages().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?)
}

async fn look(storage: &EtcdStorage, context: &Context, report: &mut Report) {
    let desired = context.names(storage).and_then(|names| Ok((Desired::of(storage, &names)?, names)));
    let (desired, names) = match desired {
        Ok(desired) => desired,
        Err(error) => return report.fails(Type::Deployed, "InvalidSpec", error.to_string()),
    };
    report.endpoint = Some(names.endpoint());
    report.data_on_deletion = Some(on_deletion(storage, &names));
    match core::files(context).await {
        Ok(_) => {
            report.holds(Type::CoreEtcdConfigured, "Found", "the certificates for the core etcd are there")
        }
        Err(error) => report.fails(Type::CoreEtcdConfigured, error.reason(), error.to_string()),
    }
    match certify(storage, context, &names, &desired, report).await {
        Ok(problems) => certified(storage, problems, report),
        Err(error) => report.fails(Type::CertificatesReady, "Failed", error.to_string()),
    }
    match deploy(storage, context, &names).await {
        Ok(deployment) => {
            report.holds(Type::Deployed, "Deployed", "the Deployment and the Service of the proxies exist");
            available(storage, &deployment, report);
        }
        Err(error) => report.fails(Type::Deployed, "FailedDeploying", error.to_string()),
    }
}

/// What happens to the keys when the object is deleted, as a sentence.
fn on_deletion(storage: &EtcdStorage, names: &Names) -> String {
    let prefix = names.tenant.prefix();
    match storage.spec.deletion_policy {
        DeletionPolicy::Retain => format!("Retain: keys below {prefix} stay in the core etcd"),
        DeletionPolicy::Delete => format!("Delete: keys below {prefix} are deleted from the core etcd"),
    }
}

/// Brings all certificates into their places. Returns the destinations that were not written.
async fn certify(
    storage: &EtcdStorage,
    context: &Context,
    names: &Names,
    desired: &Desired,
    report: &mut Report,
) -> Result<clients::Problems, Failure> {
    let mut stored = certificates::signers(context, storage, names, desired, report).await?;
    certificates::client_ca(context, storage, names, &stored.signers.client).await?;
    let mut problems = clients::authorities(context, storage, &stored.signers.serving, report).await;
    stored.remember_trust(context, true, problems.is_empty(), report).await?;
    stored.report(report);
    certificates::server(context, storage, names, &desired.server, &stored, report).await?;
    let signer = &stored.signers.client.current;
    problems.extend(clients::certificates(context, storage, &desired.client, signer, report).await);
    for (status, error) in
        clients::forget(context, storage, |kind, one| clients::is_named(storage, kind, one)).await
    {
        problems.push((
            error.reason(),
            format!(
                "{} {}/{}, which the spec names no more: {error}",
                status.kind, status.namespace, status.name
            ),
        ));
        report.destinations.push(status);
    }
    Ok(problems)
}

fn certified(storage: &EtcdStorage, problems: clients::Problems, report: &mut Report) {
    let spec = &storage.spec;
    let validities = [
        &spec.signing_certificate_validity,
        &spec.serving_certificate_validity,
        &spec.client_certificate_validity,
    ];
    let is_short = validities.iter().any(|validity| validity.is_short());
    match problems.first() {
        None if is_short => report.holds(
            Type::CertificatesReady,
            "ShortValidity",
            "all certificates are in their places; a validity of 10m or less may be too short for kubelets to bring them to the pods in time",
        ),
        None => report.holds(Type::CertificatesReady, "Issued", "all certificates are in their places"),
        Some((reason, _)) => {
            let all: Vec<&str> = problems.iter().map(|(_, problem)| problem.as_str()).collect();
            report.fails(Type::CertificatesReady, reason, all.join("; "));
        }
    }
}

async fn deploy(storage: &EtcdStorage, context: &Context, names: &Names) -> Result<Deployment, Failure> {
    apply::<Service>(&context.namespaced(), storage, &workload::service(storage, names)).await?;
    apply::<PodDisruptionBudget>(&context.namespaced(), storage, &workload::budget(storage, names)).await?;
    let desired = workload::deployment(storage, names, &context.settings);
    let api = context.namespaced::<Deployment>();
    if let Some(existing) = api.get_opt(&names.workload()).await?
        && has_other_selector(&existing, names)
    {
        super::apply::check_owner(storage, &existing, &desired)?;
        // A selector cannot be changed. etcdproxy-controller has another one.
        let preconditions = Preconditions { uid: existing.metadata.uid.clone(), resource_version: None };
        let parameters = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::background() };
        api.delete(&names.workload(), &parameters).await?;
    }
    apply::<Deployment>(&api, storage, &desired).await
}

fn has_other_selector(existing: &Deployment, names: &Names) -> bool {
    let labels = existing.spec.selector.match_labels.iter().flatten();
    let labels: BTreeMap<&str, String> = labels.map(|(key, value)| (key.as_str(), value.clone())).collect();
    labels != names.selector()
}

fn available(storage: &EtcdStorage, deployment: &Deployment, report: &mut Report) {
    let desired = storage.spec.replicas;
    let available =
        deployment.status.as_ref().and_then(|status| status.available_replicas).unwrap_or_default();
    let message = format!("{available} of {desired} proxies are available");
    if available == 0 {
        report.fails(Type::ProxyAvailable, "Unavailable", message);
    } else if available < desired {
        report.holds(Type::ProxyAvailable, "SomeUnavailable", message);
    } else {
        report.holds(Type::ProxyAvailable, "Available", message);
    }
}

/// Writes the status if it has changed, and publishes what has happened.
pub(crate) async fn write_status(
    storage: &EtcdStorage,
    context: &Context,
    report: Report,
) -> Result<(), Failure> {
    let (status, events) = report.status(storage, Timestamp::now());
    if storage.status.as_ref() != Some(&status) {
        patch_status(storage, context, &status).await?;
    }
    publish(storage, context, events).await;
    Ok(())
}

async fn patch_status(
    storage: &EtcdStorage,
    context: &Context,
    status: &EtcdStorageStatus,
) -> Result<(), Failure> {
    let mut value = json!(status);
    // A merge removes only what is null.
    for field in ["endpoint", "dataOnDeletion", "certificatesExpire"] {
        if value.get(field).is_none() {
            value[field] = serde_json::Value::Null;
        }
    }
    let patch = json!({"metadata": {"resourceVersion": storage.metadata.resource_version}, "status": value});
    let name = storage.metadata.name.as_deref().unwrap_or_default();
    context.storages().patch_status(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
    Ok(())
}

/// Publishes events about an `EtcdStorage`.
pub(crate) async fn publish(storage: &EtcdStorage, context: &Context, events: Vec<Told>) {
    let reference = storage.object_ref(&());
    for event in events {
        let kind = event.event_type();
        context.events.publish(&reference, kind, event.reason, event.note).await;
    }
}
