//! That a kubeconfig names the certificate which the kubelet renews, once that is there.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value as Json;
use slipway_bootstrap::kubeconfig::Kubeconfig as Document;
use slipway_resource::provider::{Disruption, PlanItem, Planned};
use slipway_resource::{Attribute, ErrorClass, Path, ProviderError, ResourceType, Type, Value};

use super::form;
use super::{Kind, Place, Work};
use crate::attributes::Attributes;
use crate::disk::Access;
use crate::error::{not_found, permanent};
use crate::ledger::Found;
use crate::supervise;

/// The last step of a kubelet's setup: from then on its kubeconfig names the file that it renews itself, in place of the
/// certificate that it began with.
pub(crate) struct KubeconfigRotation;

#[async_trait]
impl Kind for KubeconfigRotation {
    fn resource_type(&self) -> ResourceType {
        form::resource_type(
            "That a kubeconfig names the client certificate which is renewed, once that is there.",
            500,
            [
                ("path", form::path()),
                (
                    "certificate_path",
                    Attribute::required(Type::String)
                        .describe("The file with certificate and key that somebody renews."),
                ),
                (
                    "restart_service",
                    Attribute::optional(Type::String)
                        .write_only()
                        .describe("The service that is restarted when the kubeconfig has changed."),
                ),
                (
                    "timeout_seconds",
                    Attribute::optional(Type::Integer)
                        .write_only()
                        .describe("How long to wait for the file, in seconds; else 60."),
                ),
            ],
        )
    }

    fn identity(&self, desired: Attributes<'_>) -> Result<String, ProviderError> {
        form::checked_path(desired, "certificate_path")?;
        form::checked_path(desired, "path").map(str::to_owned)
    }

    fn plan(&self, item: &PlanItem, planned: &mut Planned) -> Result<(), ProviderError> {
        form::plan_path(planned, "path")?;
        form::plan_path(planned, "certificate_path")?;
        if item.observed.is_none() {
            planned.disruption = Disruption::Brief;
        }
        Ok(())
    }

    async fn look(&self, _: &Work) -> Result<Found, ProviderError> {
        Ok(Found::Nothing)
    }

    async fn make(&self, work: &Work) -> Result<Json, ProviderError> {
        let certificate = work.wanted().text("certificate_path")?.to_owned();
        let begun = tokio::time::Instant::now();
        let limit = work.wanted().seconds("timeout_seconds", 60);
        while work.host().disk.status(&certificate)?.is_none() {
            if begun.elapsed() > limit {
                let text = format!("{certificate} is not there after {} s", limit.as_secs());
                return Err(ProviderError::new(ErrorClass::Permanent, text)
                    .with_hint("the kubelet makes it when it starts; its log says why not"));
            }
            work.pause(Duration::from_millis(200)).await?;
        }
        let changed = work
            .blocking(move |work| {
                let disk = &work.host().disk;
                let path = work.identity();
                let text = disk.read_text(path)?.ok_or_else(|| not_found(format!("{path} is not there")))?;
                let wrong =
                    |error: slipway_bootstrap::kubeconfig::Error| permanent(format!("{path}: {error}"));
                let document = Document::parse(&text).map_err(wrong)?;
                let certificate = work.wanted().text("certificate_path")?;
                if document
                    .client_files()
                    .is_some_and(|(there, key)| there == certificate && key == certificate)
                {
                    return Ok(false);
                }
                let document = document.with_certificate_files(certificate, certificate).map_err(wrong)?;
                let mode = disk.status(path)?.map_or(0o600, |status| status.mode());
                disk.write(path, document.to_yaml().expose().as_bytes(), Access::mode(mode))?;
                Ok(true)
            })
            .await?;
        if let Some(service) = work.wanted().optional_text("restart_service")?.filter(|_| changed) {
            supervise::of(work.host()).bounce(work, service).await?;
        }
        Ok(Json::Null)
    }

    async fn remove(&self, _: &Work) -> Result<(), ProviderError> {
        // It is a state of another object, which goes with that.
        Ok(())
    }

    async fn read(&self, place: &Place) -> Result<Option<Value>, ProviderError> {
        let identity = place.identity.clone();
        place
            .host
            .blocking(move |host| {
                let path = identity.as_str();
                let Some(text) = host.disk.read_text(path)? else { return Ok(None) };
                let files = Document::parse(&text).ok().and_then(|document| document.client_files());
                Ok(files.map(|(certificate, _)| {
                    let mut value = Value::map([("path", path)]);
                    value.set(&Path::key("certificate_path"), certificate.into());
                    value
                }))
            })
            .await
    }
}
