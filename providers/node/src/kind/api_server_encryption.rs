//! That an API server uses the encryption configuration on its disk.

use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use serde_json::Value as Json;
use slipway_resource::provider::{PlanItem, Planned};
use slipway_resource::{Attribute, ErrorClass, ProviderError, ResourceType, Type, Value};
use tokio::time::Instant;

use super::form;
use super::{Kind, Place, Work, file_digest};
use crate::api_server::{ApiServer, access_attributes};
use crate::attributes::Attributes;
use crate::disk::Disk;
use crate::ledger::Found;

/// An API server with `--encryption-provider-config-automatic-reload` reads its configuration every minute
/// (`EncryptionConfigFileChangePollDuration` of k8s.io/apiserver). This waits until it has read the one on its disk.
///
/// From 1.34 on, the API server shows a digest of the configuration that it uses. An older one shows when it has read a changed
/// one, and when it failed to.
pub(crate) struct ApiServerEncryption;

/// The attribute that shows whether the API server uses the configuration.
const IS_USED: &str = "is_used";

/// The metric with the digest of the configuration in use.
const IN_USE: &str = "apiserver_encryption_config_controller_last_config_info{";

/// The metric with the times at which a changed configuration was read, or could not be.
const READ_AT: &str = "apiserver_encryption_config_controller_automatic_reload_last_timestamp_seconds{";

/// The metric with the start of the process.
const STARTED_AT: &str = "process_start_time_seconds ";

/// After this time, an API server has looked at a changed file: once a minute, and some time to read it.
const LOOKS_AFTER: f64 = 75.0;

/// The time that an API server may take between reading a file and using it.
const READS_IN: f64 = 2.0;

const PAUSE: Duration = Duration::from_millis(500);
const TELL: Duration = Duration::from_secs(15);

#[async_trait]
impl Kind for ApiServerEncryption {
    fn resource_type(&self) -> ResourceType {
        let mut kind = form::resource_type(
            "That the API server of this machine uses the encryption configuration on the disk.",
            60_000,
            [
                ("path", form::path()),
                (
                    "version",
                    Attribute::required(Type::String)
                        .write_only()
                        .describe("The version of the configuration, as its file has it."),
                ),
                // It changes while other steps of a plan run: as a sensitive attribute, it is part of no precondition.
                (
                    IS_USED,
                    Attribute::optional(Type::Bool).default_to(true).sensitive().describe(
                        "Whether the API server uses the configuration on the disk. Not to be set.",
                    ),
                ),
                (
                    "timeout_seconds",
                    Attribute::optional(Type::Integer)
                        .write_only()
                        .describe("How long to wait until it is in use, in seconds; else 240."),
                ),
            ],
        );
        let access = access_attributes();
        kind.attributes.extend(access.map(|(name, attribute)| (name.to_owned(), attribute)));
        kind
    }

    fn identity(&self, desired: Attributes<'_>) -> Result<String, ProviderError> {
        form::checked_path(desired, "path").map(str::to_owned)
    }

    fn plan(&self, item: &PlanItem, planned: &mut Planned) -> Result<(), ProviderError> {
        form::plan_path(planned, "path")?;
        let is_used = item.observed.as_ref().and_then(|observed| observed.get(IS_USED)?.as_bool());
        if is_used == Some(false) {
            planned.reasons.push("the API server does not use the configuration on the disk".to_owned());
        }
        Ok(())
    }

    async fn look(&self, _: &Work) -> Result<Found, ProviderError> {
        Ok(Found::Nothing)
    }

    async fn make(&self, work: &Work) -> Result<Json, ProviderError> {
        let wanted = work.wanted();
        let path = work.identity();
        let limit = wanted.seconds("timeout_seconds", 240);
        let (begun, mut reported) = (Instant::now(), None::<Instant>);
        loop {
            let why = match uses(&work.host().disk, path, wanted).await {
                Ok(true) => return Ok(Json::Null),
                Ok(false) => {
                    format!("waits until the API server has read {path}, which it does once a minute")
                }
                Err(error) => error.message,
            };
            if reported.is_none_or(|reported| reported.elapsed() >= TELL) {
                work.tell(why.as_str());
                reported = Some(Instant::now());
            }
            if begun.elapsed() >= limit {
                let text = format!("the API server does not use {path} after {} s: {why}", limit.as_secs());
                return Err(ProviderError::new(ErrorClass::Permanent, text)
                    .with_hint("`slipway logs NODE kube-apiserver` shows why; the step may be run again"));
            }
            work.pause(PAUSE).await?;
        }
    }

    async fn remove(&self, _: &Work) -> Result<(), ProviderError> {
        Ok(())
    }

    async fn read(&self, place: &Place) -> Result<Option<Value>, ProviderError> {
        if place.entry.is_none() {
            return Ok(None);
        }
        let path = place.identity.as_str();
        // An API server that does not answer is waited for again.
        let is_used = uses(&place.host.disk, path, place.wanted()).await.unwrap_or(false);
        Ok(Some(Value::map([("path", Value::from(path)), (IS_USED, is_used.into())])))
    }
}

/// Whether the API server uses the configuration in a file, as far as it can be known.
async fn uses(disk: &Disk, path: &str, wanted: Attributes<'_>) -> Result<bool, ProviderError> {
    let (Some(status), Some(bytes)) = (disk.status(path)?, disk.read(path)?) else { return Ok(false) };
    let api = ApiServer::connect(disk, wanted)?;
    let metrics = api.metrics(&[IN_USE, READ_AT, STARTED_AT]).await?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let changed = Duration::from_nanos(u64::try_from(status.changed()).unwrap_or_default());
    Ok(shows_use(&metrics, &file_digest(&bytes), changed.as_secs_f64(), now.as_secs_f64()))
}

/// Whether the metrics of an API server show that it uses a file with this digest that changed at a time. Times are seconds
/// since 1970.
///
/// The form of the digest may change between releases, so that another digest is only trusted while the API server has not
/// looked at the file.
fn shows_use(metrics: &[String], digest: &str, changed: f64, now: f64) -> bool {
    let latest = |prefix: &str, label: &str| {
        let lines = metrics.iter().filter(|line| line.starts_with(prefix) && line.contains(label));
        lines.filter_map(|line| number(line)).fold(f64::MIN, f64::max)
    };
    let has_looked = now - changed > LOOKS_AFTER && latest(READ_AT, "status=\"failure\"") < changed;
    let shown: Vec<&str> = metrics.iter().filter_map(|line| hash(line)).collect();
    if !shown.is_empty() {
        return shown == [digest] || has_looked;
    }
    let has_read =
        latest(STARTED_AT, "") > changed || latest(READ_AT, "status=\"success\"") > changed + READS_IN;
    has_read || has_looked
}

/// The digest in a line of the metric with the configuration in use: its last part, after the names of its form.
fn hash(line: &str) -> Option<&str> {
    if !line.starts_with(IN_USE) || !number(line).is_some_and(|value| value > 0.0) {
        return None;
    }
    let (_, rest) = line.split_once(",hash=\"").or_else(|| line.split_once("{hash=\""))?;
    let (hash, _) = rest.split_once('"')?;
    hash.rsplit(':').next()
}

fn number(line: &str) -> Option<f64> {
    line.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANGED: f64 = 1_000_000_100.0;

    fn times(success: f64, failure: f64) -> Vec<String> {
        vec![
            format!("{READ_AT}apiserver_id_hash=\"sha256:a\",status=\"success\"}} {success:e}"),
            format!("{READ_AT}apiserver_id_hash=\"sha256:a\",status=\"failure\"}} {failure:e}"),
            format!("{STARTED_AT}1.0e+09"),
        ]
    }

    #[test]
    fn an_api_server_shows_the_digest_that_it_uses() {
        for form in ["sha256:", "k8s:enc:unstable:1:", ""] {
            let mut metrics = times(0.0, 0.0);
            metrics.push(format!("{IN_USE}apiserver_id_hash=\"sha256:a\",hash=\"{form}0f\"}} 1"));
            assert!(shows_use(&metrics, "0f", CHANGED, CHANGED + 1.0), "{form}");
            assert!(!shows_use(&metrics, "1f", CHANGED, CHANGED + 1.0), "{form}");
            assert!(shows_use(&metrics, "1f", CHANGED, CHANGED + 80.0), "another form of the digest");
        }
    }

    #[test]
    fn an_older_api_server_has_read_what_changed_before_its_last_look() {
        let shows = |metrics: &[String], after: f64| shows_use(metrics, "0f", CHANGED, CHANGED + after);
        assert!(shows(&times(CHANGED + 9.0, 0.0), 10.0));
        assert!(!shows(&times(CHANGED - 1.0, 0.0), 10.0));
        assert!(shows(&times(CHANGED - 1.0, 0.0), 80.0), "the file was put back in between");
        assert!(!shows(&times(CHANGED - 1.0, CHANGED + 9.0), 80.0), "it could not read the file");
        assert!(shows_use(&times(0.0, 0.0), "0f", 999_999_999.0, CHANGED), "it was started later");
    }
}
