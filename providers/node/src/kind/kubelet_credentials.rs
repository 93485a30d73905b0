//! That the kubelet has the certificate which it renews itself.

mod authority;

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use slipway_bootstrap::kubeconfig::Kubeconfig as Document;
use slipway_resource::provider::{Disruption, PlanItem, Planned};
use slipway_resource::{Attribute, ErrorClass, Path, ProviderError, ResourceType, Type, Value};
use tokio::time::Instant;

use super::form::{self, memorise, recall};
use super::{Kind, Place, Work};
use crate::attributes::Attributes;
use crate::disk::{Access, Disk};
use crate::error::permanent;
use crate::ledger::{Entry, Found, Stage};
use crate::ready::Condition;
use crate::steady::{self, Steady};
use crate::{purge, supervise};

/// How long a kubelet may run without its certificate. Its attempts to register become rarer, and the
/// readiness of its node is delayed by up to 20 s. A restarted kubelet registers at once.
const KUBELET_PATIENCE: Duration = Duration::from_secs(3);

/// The attribute that shows whether the kubelet has read its files.
const IS_CURRENT: &str = "is_current";

/// How long another API may take to answer before the kubelet is sent to it, in seconds.
const ANSWERS: i64 = 60;

/// The last step of a kubelet's setup: its kubeconfig names the certificate that it renews itself, and its
/// bootstrap credentials are removed.
pub(crate) struct KubeletCredentials;

/// Whether these files existed before the kubelet started.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Memory {
    kubeconfig: bool,
    certificates: bool,
}

#[async_trait]
impl Kind for KubeletCredentials {
    fn resource_type(&self) -> ResourceType {
        let path = |text: &str| Attribute::required(Type::String).describe(text);
        let mut kind = form::resource_type(
            "That the kubelet has the client certificate which it renews itself.",
            2_000,
            [
                (
                    "name",
                    Attribute::required(Type::String)
                        .immutable()
                        .describe("The kubelet's service, as kubelet."),
                ),
                ("kubeconfig_path", path("The kubelet's kubeconfig.")),
                (
                    "server",
                    Attribute::optional(Type::String).describe(
                        "The URL of the API that the kubelet is to ask; absent leaves what it came with.",
                    ),
                ),
                (
                    "server_ca_path",
                    Attribute::optional(Type::String).write_only().describe(
                        "The CA of that API. With it, the API has to answer before the kubelet is sent to it.",
                    ),
                ),
                ("certificate_path", path("The file with certificate and key that the kubelet renews.")),
                (
                    "bootstrap_kubeconfig_path",
                    Attribute::optional(Type::String)
                        .write_only()
                        .describe("The kubeconfig with which it asked for the certificate; it is removed."),
                ),
                (
                    IS_CURRENT,
                    Attribute::optional(Type::Bool).describe(
                        "False while the kubelet may not have read files that have changed; else absent. Not to be set.",
                    ),
                ),
                (
                    "timeout_seconds",
                    Attribute::optional(Type::Integer)
                        .write_only()
                        .describe("How long to wait for the certificate, in seconds; else 300."),
                ),
            ],
        );
        kind.attributes.extend(authority::attributes().map(|(name, attribute)| (name.to_owned(), attribute)));
        kind.attributes.extend(steady::attributes().map(|(name, attribute)| (name.to_owned(), attribute)));
        kind
    }

    fn identity(&self, desired: Attributes<'_>) -> Result<String, ProviderError> {
        form::checked_path(desired, "certificate_path")?;
        form::checked_path(desired, "kubeconfig_path")?;
        desired.text("name").map(str::to_owned)
    }

    fn plan(&self, item: &PlanItem, planned: &mut Planned) -> Result<(), ProviderError> {
        form::plan_path(planned, "kubeconfig_path")?;
        form::plan_path(planned, "certificate_path")?;
        let Some(observed) = &item.observed else {
            planned.disruption = Disruption::Brief;
            return Ok(());
        };
        let is_set = |attributes: &Value| attributes.get("server").is_some_and(|server| !server.is_null());
        if !is_set(&planned.normalised) && !item.last_applied.as_ref().is_some_and(is_set) {
            // The server of an adopted node is observed, and the spec does not name one.
            let found = observed.get("server").cloned().unwrap_or_default();
            planned.normalised.set(&Path::key("server"), found);
        }
        Ok(())
    }

    async fn look(&self, _: &Work) -> Result<Found, ProviderError> {
        Ok(Found::Nothing)
    }

    async fn foresee(&self, work: &Work) -> Result<Json, ProviderError> {
        if let Some(memory) = recall::<Memory>(work.place.memory()) {
            return memorise(&memory);
        }
        // This step follows the start of the kubelet: existing files are the kubelet's own, unless they were
        // made for it.
        let bootstrapped = work.wanted().optional_text("bootstrap_kubeconfig_path")?.is_some();
        memorise(&Memory { kubeconfig: !bootstrapped, certificates: false })
    }

    async fn make(&self, work: &Work) -> Result<Json, ProviderError> {
        let wanted = work.wanted();
        let (kubeconfig, certificate) =
            (wanted.text("kubeconfig_path")?.to_owned(), wanted.text("certificate_path")?.to_owned());
        let limit = wanted.seconds("timeout_seconds", 300);
        let begun = Instant::now();
        let mut reported = false;
        loop {
            let disk = &work.host().disk;
            let missing = [&kubeconfig, &certificate]
                .into_iter()
                .find(|path| !matches!(disk.status(path), Ok(Some(_))));
            let Some(missing) = missing else { break };
            if !reported {
                work.tell(format!("waits for the kubelet to write {missing}"));
                reported = true;
            }
            if begun.elapsed() > limit {
                let text = format!("the kubelet has not written {missing} within {} s", limit.as_secs());
                return Err(ProviderError::new(ErrorClass::Permanent, text).with_hint(
                    "its log says why: the API server may not answer it, or its request for a certificate is not \
                     approved",
                ));
            }
            work.pause(Duration::from_millis(100)).await?;
        }
        let late = begun.elapsed() > KUBELET_PATIENCE;
        let steady = Steady::of(wanted)?;
        let has_others = authority::follow(work, limit).await?;
        if let Some(before) = work.blocking(|work| moves_from(&work.host().disk, work.wanted())).await?
            && !steady.is_empty()
        {
            send(work, &before, &steady).await?;
            return Ok(work.place.memory().clone());
        }
        let changed = work.blocking(|work| settle(&work.host().disk, work.wanted())).await?;
        // Files that changed before an interruption have not been read either.
        let is_change = work.place.entry.as_ref().is_some_and(|entry| entry.stage == Stage::Changing);
        if has_others || (is_change && authority::is_followed(wanted)) {
            restart(work, &steady).await?;
        } else if changed || late {
            supervise::of(work.host()).bounce(work, wanted.text("name")?).await?;
        }
        Ok(work.place.memory().clone())
    }

    async fn remove(&self, work: &Work) -> Result<(), ProviderError> {
        work.blocking(|work| {
            let Some(memory) = recall::<Memory>(work.place.memory()) else { return Ok(()) };
            let disk = &work.host().disk;
            let wanted = work.place.wanted();
            if !memory.kubeconfig {
                disk.remove(wanted.text("kubeconfig_path")?)?;
            }
            let folder = wanted.text("certificate_path")?.rsplit_once('/').map(|(folder, _)| folder);
            match folder.filter(|folder| !memory.certificates && folder.ends_with("/pki")) {
                Some(folder) => purge::folder(disk, folder),
                None => Ok(()),
            }
        })
        .await
    }

    async fn read(&self, place: &Place) -> Result<Option<Value>, ProviderError> {
        Place::blocking(place, |place, host| {
            let wanted = place.wanted();
            let kubeconfig =
                wanted.optional_text("kubeconfig_path")?.unwrap_or("/etc/kubernetes/kubelet.conf");
            let Some(text) = host.disk.read_text(kubeconfig)? else { return Ok(None) };
            if let Some(bootstrap) = wanted.optional_text("bootstrap_kubeconfig_path")?
                && host.disk.status(bootstrap)?.is_some()
            {
                return Ok(None);
            }
            let Ok(document) = Document::parse(&text) else { return Ok(None) };
            let Some((certificate, _)) = document.client_files() else { return Ok(None) };
            if host.disk.status(&certificate)?.is_none() {
                return Ok(None);
            }
            let mut value = Value::map([("name", place.identity.as_str()), ("kubeconfig_path", kubeconfig)]);
            value.set(&Path::key("certificate_path"), certificate.as_str().into());
            if authority::is_followed(wanted) && !place.entry.as_ref().is_none_or(Entry::has_ended) {
                value.set(&Path::key(IS_CURRENT), false.into());
            }
            authority::show(&host.disk, wanted, (&document, &certificate), &mut value)?;
            if (place.entry.is_none() || wanted.optional_text("server")?.is_some())
                && let Ok(cluster) = document.cluster()
            {
                value.set(&Path::key("server"), cluster.server.into());
            }
            Ok(Some(value))
        })
        .await
    }
}

/// Restarts the kubelet with other authorities, and waits until it runs well. The previous ones are accepted as well.
async fn restart(work: &Work, steady: &Steady) -> Result<(), ProviderError> {
    let was_ready = !steady.is_empty() && steady.is_node_ready(&work.host().disk).await;
    let begun = Timestamp::now();
    supervise::of(work.host()).bounce(work, work.wanted().text("name")?).await?;
    if steady.is_empty() {
        return Ok(());
    }
    steady.hold(work, begun, was_ready).await?.map_err(|why| {
        let text = format!("the kubelet does not run well with its new authorities or certificates: {why}");
        permanent(text).with_hint("see the log of the kubelet on the node, then run the command again")
    })
}

/// The kubeconfig of a kubelet that asks another API than it should.
struct Before {
    text: String,
    mode: u32,
    server: String,
}

/// The present kubeconfig, if its server is not the desired one.
fn moves_from(disk: &Disk, wanted: Attributes<'_>) -> Result<Option<Before>, ProviderError> {
    let path = wanted.text("kubeconfig_path")?;
    let (Some(server), Some(text)) = (wanted.optional_text("server")?, disk.read_text(path)?) else {
        return Ok(None);
    };
    let found = Document::parse(&text).and_then(|document| document.cluster());
    let Some(found) = found.ok().map(|cluster| cluster.server).filter(|found| found != server) else {
        return Ok(None);
    };
    let mode = disk.status(path)?.map_or(0o600, |status| status.mode());
    Ok(Some(Before { text, mode, server: found }))
}

/// Sends a running kubelet to another API, which answers already. If the kubelet does not run well with it, the previous
/// kubeconfig is restored.
async fn send(work: &Work, before: &Before, steady: &Steady) -> Result<(), ProviderError> {
    let wanted = work.wanted();
    let (server, service) = (wanted.text("server")?, wanted.text("name")?);
    if let Some(authority) = wanted.optional_text("server_ca_path")? {
        let answers = Value::map([
            ("ready_url", Value::from(format!("{server}/readyz"))),
            ("ready_ca_path", authority.into()),
            ("ready_timeout_seconds", Value::Integer(ANSWERS)),
        ]);
        Condition::of(Attributes(&answers))?.wait(work).await?;
    }
    let was_ready = steady.is_node_ready(&work.host().disk).await;
    let begun = Timestamp::now();
    work.blocking(|work| settle(&work.host().disk, work.wanted())).await?;
    supervise::of(work.host()).bounce(work, service).await?;
    let Err(why) = steady.hold(work, begun, was_ready).await? else { return Ok(()) };
    let (text, access) = (before.text.clone(), Access::mode(before.mode));
    let path = wanted.text("kubeconfig_path")?.to_owned();
    work.blocking(move |work| work.host().disk.write(&path, text.as_bytes(), access)).await?;
    supervise::of(work.host()).bounce(work, service).await?;
    let text = format!(
        "the kubelet does not run well with the API at {server}, and uses {} again: {why}",
        before.server
    );
    Err(permanent(text).with_hint("see the log of the kubelet on the node, then apply again"))
}

/// Has the kubeconfig name the certificate, and removes the one before; whether the kubelet must read it again.
fn settle(disk: &Disk, wanted: Attributes<'_>) -> Result<bool, ProviderError> {
    let (path, certificate) = (wanted.text("kubeconfig_path")?, wanted.text("certificate_path")?);
    let text = disk.read_text(path)?.unwrap_or_default();
    let wrong = |error: slipway_bootstrap::kubeconfig::Error| permanent(format!("{path}: {error}"));
    let document = Document::parse(&text).map_err(wrong)?;
    let named = document.client_files();
    let server = wanted.optional_text("server")?;
    let moved = match (server, document.cluster()) {
        (Some(server), Ok(cluster)) => cluster.server != server,
        _ => false,
    };
    let changed = moved || named.is_none_or(|(there, key)| there != certificate || key != certificate);
    if changed {
        let mut document = document.with_certificate_files(certificate, certificate).map_err(wrong)?;
        if let Some(server) = server {
            document = document.with_server(server, None).map_err(wrong)?;
        }
        let mode = disk.status(path)?.map_or(0o600, |status| status.mode());
        disk.write(path, document.to_yaml().expose().as_bytes(), Access::mode(mode))?;
    }
    if let Some(bootstrap) = wanted.optional_text("bootstrap_kubeconfig_path")? {
        disk.remove(bootstrap)?;
    }
    Ok(changed)
}
