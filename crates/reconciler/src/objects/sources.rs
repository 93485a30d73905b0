//! Writing the status of `Source` objects: by the replica that tells about the source.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::json;
use slipway_controller::kube::api::{Api, Patch, PatchParams};
use slipway_controller::kube::{self, Resource as _};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::MANAGER;
use super::connection::{Connection, Failure, answered};
use super::queue::Queue;
use super::source::{Source, SourceObjectStatus};
use crate::metrics::outcome;
use crate::status::SourceStatus;

/// Writes what waits until the stop. What is not written then is written by the next process.
pub(super) async fn run(connection: &Connection, queue: Queue<SourceStatus>, stop: &CancellationToken) {
    let retry = connection.shared.configuration.retry;
    // What was written last, by the name of the source.
    let mut known: BTreeMap<String, SourceObjectStatus> = BTreeMap::new();
    let mut failures = 0_u32;
    while !stop.is_cancelled() {
        let batch = tokio::select! {
            () = stop.cancelled() => return,
            batch = queue.next() => batch,
        };
        let mut is_failed = false;
        for (name, status) in batch {
            let written = tokio::select! {
                () = stop.cancelled() => return,
                written = write(connection, &name, &status, known.remove(&name)) => written,
            };
            let how = if written.is_ok() { "written" } else { "failed" };
            connection.shared.metrics.objects.get_or_create(&outcome(how)).inc();
            match written {
                Ok(written) => known.extend(written.map(|written| (name, written))),
                Err(error) => {
                    if failures == 0 {
                        tracing::warn!(source = name, %error, "the status of the Source cannot be written");
                    }
                    is_failed = true;
                    queue.give_back(name, status);
                }
            }
        }
        failures = if is_failed { failures.saturating_add(1) } else { 0 };
        if is_failed {
            tokio::select! {
                () = stop.cancelled() => return,
                () = sleep(retry.wait(failures, "sources")) => {}
            }
        }
    }
}

/// Writes the status of an object, unless it is the same as before. `None` if there is no such object.
async fn write(
    connection: &Connection,
    name: &str,
    status: &SourceStatus,
    before: Option<SourceObjectStatus>,
) -> Result<Option<SourceObjectStatus>, Failure> {
    let sources = &connection.shared.configuration.sources;
    let source = sources.iter().find(|source| source.name == name);
    let Some(settings) = source.and_then(|source| source.object.as_ref()) else { return Ok(None) };
    let objects: Api<Source> = Api::namespaced(connection.client.clone(), &settings.namespace);
    let before = match before {
        Some(before) => before,
        None => match answered(objects.get_opt(&settings.name)).await? {
            Some(object) => object.status.unwrap_or_default(),
            None => return Ok(None),
        },
    };
    let status = SourceObjectStatus::of(status, Some(&before), Timestamp::now());
    if status == before {
        return Ok(Some(before));
    }
    let object = json!({
        "apiVersion": Source::api_version(&()), "kind": Source::kind(&()),
        "metadata": {"name": settings.name}, "status": status,
    });
    let parameters = PatchParams::apply(MANAGER).force();
    match answered(objects.patch_status(&settings.name, &parameters, &Patch::Apply(&object))).await {
        Ok(_) => Ok(Some(status)),
        Err(Failure::Api(kube::Error::Api(refusal))) if refusal.code == 404 => Ok(None),
        Err(error) => Err(error),
    }
}
