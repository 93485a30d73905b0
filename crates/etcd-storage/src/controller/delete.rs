//! The end of an `EtcdStorage`. Objects in the controller's namespace are deleted with their owner by the cluster; this module
//! does what the cluster cannot: it waits for the last proxy, deletes keys if asked to, and cleans the objects of API servers.

use std::time::Duration;

use serde_json::json;
use slipway_controller::k8s_openapi::api::apps::v1::Deployment;
use slipway_controller::kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use slipway_controller::runtime::controller::Action;

use crate::proxy::{self, ErasedFrom};
use crate::storage::{DeletionPolicy, EtcdStorage};

use super::apply::check_owner;
use super::context::Context;
use super::failure::Failure;
use super::names::{FINALIZER, Names};
use super::reconcile::{publish, write_status};
use super::report::{Report, Told, Type};
use super::{clients, core};

/// How long the core etcd may take for the keys of an `EtcdStorage`. What was deleted until then stays deleted.
const ERASING: Duration = Duration::from_secs(120);

/// Whether the finalizer of the controller is there.
pub(crate) fn has_finalizer(storage: &EtcdStorage) -> bool {
    storage.metadata.finalizers.iter().flatten().any(|finalizer| finalizer == FINALIZER)
}

/// Ends an `EtcdStorage`, step by step; the finalizer is removed when nothing is left to do.
pub(crate) async fn run(storage: &EtcdStorage, context: &Context) -> Result<Action, Failure> {
    let name = storage.metadata.name.clone().unwrap_or_default();
    if !has_finalizer(storage) {
        context.succeeded(&name);
        context.metrics.forget(&name);
        return Ok(Action::await_change());
    }
    if let Ok(names) = context.names(storage) {
        if !is_stopped(storage, context, &names).await? {
            return waiting(
                storage,
                context,
                "WaitingForProxies",
                "the last proxy has not ended yet".to_owned(),
            )
            .await;
        }
        match erase(storage, context, &names).await {
            Ok(None) => {}
            Ok(Some(count)) => {
                // An attempt whose answer was late is repeated, and this one counts what was left for it.
                let note = format!("all keys were deleted from the core etcd, {count} of them just now");
                tell(storage, context, "KeysDeleted", note).await;
            }
            Err(problem) => {
                let way_out = "set spec.deletionPolicy to Retain to leave the keys in the core etcd";
                return waiting(storage, context, "KeysNotDeleted", format!("{problem}: {way_out}")).await;
            }
        }
    }
    for (status, error) in clients::forget(context, storage, |_, _| false).await {
        // The API server and its rights are often deleted first; nobody can be waited for.
        let note =
            format!("{} {}/{} keeps its certificates: {error}", status.kind, status.namespace, status.name);
        let event = Told { is_warning: true, reason: "DestinationNotCleaned", note };
        publish(storage, context, vec![event]).await;
    }
    remove_finalizer(storage, context).await?;
    context.succeeded(&name);
    context.metrics.forget(&name);
    Ok(Action::await_change())
}

/// Deletes the Deployment. Returns whether it is gone, and with it all its pods.
async fn is_stopped(storage: &EtcdStorage, context: &Context, names: &Names) -> Result<bool, Failure> {
    let api = context.namespaced::<Deployment>();
    let Some(existing) = api.get_opt(&names.workload()).await? else { return Ok(true) };
    if check_owner(storage, &existing, &json!({})).is_err() {
        return Ok(true);
    }
    if existing.metadata.deletion_timestamp.is_none() {
        let preconditions = Preconditions { uid: existing.metadata.uid.clone(), resource_version: None };
        let parameters = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::foreground() };
        api.delete(&names.workload(), &parameters).await?;
    }
    Ok(api.get_opt(&names.workload()).await?.is_none())
}

/// Deletes the keys in the core etcd if the policy says so. Returns how many were left.
async fn erase(storage: &EtcdStorage, context: &Context, names: &Names) -> Result<Option<u64>, Failure> {
    if storage.spec.deletion_policy == DeletionPolicy::Retain {
        return Ok(None);
    }
    let files = core::files(context).await.map_err(|error| Failure::Spec(error.to_string()))?;
    let from = ErasedFrom {
        endpoints: context.settings.core_urls.clone(),
        authorities: files.authorities,
        certificate: files.certificate,
        key: files.key,
    };
    let erased = tokio::time::timeout(ERASING, proxy::erase(from, &names.tenant)).await;
    Ok(Some(erased.map_err(|_| Failure::CoreSilent)??))
}

async fn waiting(
    storage: &EtcdStorage,
    context: &Context,
    reason: &'static str,
    message: String,
) -> Result<Action, Failure> {
    let mut report = Report::keeping(storage);
    report.fails(Type::Deployed, reason, message);
    write_status(storage, context, report).await?;
    context.metrics.reconciled("waiting");
    Ok(Action::requeue(context.failed(storage.metadata.name.as_deref().unwrap_or_default())))
}

async fn tell(storage: &EtcdStorage, context: &Context, reason: &'static str, note: String) {
    publish(storage, context, vec![Told { is_warning: false, reason, note }]).await;
}

async fn remove_finalizer(storage: &EtcdStorage, context: &Context) -> Result<(), Failure> {
    let mut finalizers = storage.metadata.finalizers.clone().unwrap_or_default();
    finalizers.retain(|finalizer| finalizer != FINALIZER);
    let version = &storage.metadata.resource_version;
    let patch = json!({"metadata": {"finalizers": finalizers, "resourceVersion": version}});
    let name = storage.metadata.name.as_deref().unwrap_or_default();
    context.storages().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
    Ok(())
}
