//! That running servers accept the authorities in a file, and no former ones.

mod pods;
mod published;

use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use serde_json::Value as Json;
use slipway_bootstrap::pki::Certificate;
use slipway_resource::provider::{PlanItem, Planned};
use slipway_resource::{Attribute, ErrorClass, ProviderError, ResourceType, Type, Value};
use tokio::time::Instant;

use super::form;
use super::x509::read_chain;
use super::{Kind, Place, Work};
use crate::api_server::{ApiServer, access_attributes};
use crate::attributes::Attributes;
use crate::disk::Disk;
use crate::error::{not_found, transient};
use crate::http::accepted_authorities;
use crate::ledger::Found;

/// Servers read the file of an authority whose clients they accept at their start, or again after it has changed. This waits until
/// the running servers name all authorities of the file, and none of the former ones.
///
/// The API server also publishes such authorities for aggregated APIs, and removes none of them by itself. This waits until the
/// new ones are published, and removes the former ones.
pub(crate) struct AuthorityTrust;

/// The attribute that shows whether the servers use the file.
const IS_TRUSTED: &str = "is_trusted";

/// The time in seconds after which an API server has read a changed file: it looks once a minute, and reads the file.
const READS_AFTER: f64 = 75.0;

/// The metric with the start of the process.
const STARTED_AT: &str = "process_start_time_seconds ";

/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(10);

const PAUSE: Duration = Duration::from_millis(500);
const TELL: Duration = Duration::from_secs(15);

#[async_trait]
impl Kind for AuthorityTrust {
    fn resource_type(&self) -> ResourceType {
        let list = |text: &str| Attribute::optional(Type::list(Type::String)).write_only().describe(text);
        let mut kind = form::resource_type(
            "That running servers accept clients of the authorities in a file, and of no former ones.",
            20_000,
            [
                ("path", form::path()),
                (
                    "version",
                    Attribute::required(Type::String).write_only().describe("The digest of the file."),
                ),
                ("servers", list("The URLs of servers on this machine that accept these authorities.")),
                (
                    "server_ca_path",
                    Attribute::required(Type::String)
                        .write_only()
                        .describe("The CA of the certificates of these servers."),
                ),
                (
                    "serves_first",
                    Attribute::optional(Type::Bool).write_only().describe(
                        "Whether the certificates of these servers are of the first authority in the file, with which they are verified.",
                    ),
                ),
                ("former", list("Common names of authorities that are not accepted any more.")),
                ("read_paths", list("Further files that the API server must have read since they changed.")),
                (
                    "published_as",
                    Attribute::optional(Type::String).write_only().describe(
                        "The key in the ConfigMap extension-apiserver-authentication under which the API server publishes the authorities.",
                    ),
                ),
                (
                    "published_to_pods",
                    Attribute::optional(Type::Bool).write_only().describe(
                        "Whether the cluster publishes the authorities to pods, in the ConfigMaps kube-root-ca.crt.",
                    ),
                ),
                // It changes while other steps of a plan run: as a sensitive attribute, it is part of no precondition.
                (
                    IS_TRUSTED,
                    Attribute::optional(Type::Bool)
                        .default_to(true)
                        .sensitive()
                        .describe("Whether the servers use what is in the file. Not to be set."),
                ),
                (
                    "timeout_seconds",
                    Attribute::optional(Type::Integer)
                        .write_only()
                        .describe("How long to wait for that, in seconds; else 240."),
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
        let is_trusted = item.observed.as_ref().and_then(|observed| observed.get(IS_TRUSTED)?.as_bool());
        if is_trusted == Some(false) {
            planned.reasons.push("the servers do not use the authorities in the file".to_owned());
        }
        Ok(())
    }

    async fn look(&self, _: &Work) -> Result<Found, ProviderError> {
        Ok(Found::Nothing)
    }

    async fn make(&self, work: &Work) -> Result<Json, ProviderError> {
        let wanted = work.wanted();
        let (disk, path) = (&work.host().disk, work.identity());
        let limit = wanted.seconds("timeout_seconds", 240);
        let (begun, mut reported) = (Instant::now(), None::<Instant>);
        loop {
            let why = match remaining(disk, path, wanted, true).await {
                Ok(None) => return Ok(Json::Null),
                Ok(Some(why)) => why,
                Err(error) => error.message,
            };
            if reported.is_none_or(|reported| reported.elapsed() >= TELL) {
                work.tell(why.as_str());
                reported = Some(Instant::now());
            }
            if begun.elapsed() >= limit {
                let text = format!("{path} is not in use by all servers after {} s: {why}", limit.as_secs());
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
        // A server that does not answer is waited for again.
        let left = remaining(&place.host.disk, path, place.wanted(), false).await;
        let is_trusted = left.is_ok_and(|left| left.is_none());
        Ok(Some(Value::map([("path", Value::from(path)), (IS_TRUSTED, is_trusted.into())])))
    }
}

/// What is left to wait for, as a sentence; `None` when the servers use the file. With `publishes`, former authorities are removed
/// from the published ones.
async fn remaining(
    disk: &Disk,
    path: &str,
    wanted: Attributes<'_>,
    publishes: bool,
) -> Result<Option<String>, ProviderError> {
    let Some(authorities) = read_chain(disk, path)? else { return Ok(Some(format!("{path} is not there"))) };
    let former = wanted.texts("former");
    let ca = match authorities.first() {
        Some(first) if wanted.flag("serves_first") => first.to_pem().into_bytes(),
        _ => {
            let path = wanted.text("server_ca_path")?;
            disk.read(path)?.ok_or_else(|| not_found(format!("{path} is not there")))?
        }
    };
    for url in wanted.texts("servers") {
        let accepted = accepted_authorities(&url, ca.clone(), ANSWER).await;
        let accepted = accepted.map_err(|failure| transient(format!("{url}: {failure}")))?;
        if let Some(why) = differs(&authorities, &former, &accepted) {
            return Ok(Some(format!("{url} {why}")));
        }
    }
    if let Some(key) = wanted.optional_text("published_as")? {
        let api = ApiServer::connect(disk, wanted)?;
        let why = published::remaining(&api, key, &authorities, &former, publishes).await?;
        if why.is_some() {
            return Ok(why);
        }
    }
    if wanted.flag("published_to_pods") {
        let api = ApiServer::connect(disk, wanted)?;
        let why = pods::remaining(&api, &authorities).await?;
        if why.is_some() {
            return Ok(why);
        }
    }
    let read = wanted.texts("read_paths");
    if read.is_empty() { Ok(None) } else { unread(disk, &read, wanted).await }
}

/// Why the authorities that a server names are not those of the file; `None` when they are.
fn differs(authorities: &[Certificate], former: &[String], accepted: &[String]) -> Option<String> {
    let names = authorities.iter().map(|authority| &authority.subject().common_name);
    if let Some(missing) = names.clone().find(|name| !accepted.contains(name)) {
        return Some(format!("does not accept the authority {missing} yet"));
    }
    let left =
        former.iter().find(|name| accepted.contains(name) && !names.clone().any(|own| own == *name))?;
    Some(format!("still accepts the authority {left}"))
}

/// The file that the API server may not have read since it changed.
async fn unread(
    disk: &Disk,
    paths: &[String],
    wanted: Attributes<'_>,
) -> Result<Option<String>, ProviderError> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let mut recent = Vec::new();
    for path in paths {
        let status = disk.status(path)?.ok_or_else(|| not_found(format!("{path} is not there")))?;
        let changed = Duration::from_nanos(u64::try_from(status.changed()).unwrap_or_default());
        if now - changed.as_secs_f64() < READS_AFTER {
            recent.push((path, changed.as_secs_f64()));
        }
    }
    if recent.is_empty() {
        return Ok(None);
    }
    let metrics = ApiServer::connect(disk, wanted)?.metrics(&[STARTED_AT]).await?;
    let started = metrics.iter().filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
    let started = started.fold(f64::MIN, f64::max);
    let unread = recent.into_iter().find(|(_, changed)| started <= *changed);
    Ok(unread
        .map(|(path, _)| format!("waits until the API server has read {path}, which it does once a minute")))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use slipway_bootstrap::configuration::EncryptionAlgorithm;
    use slipway_bootstrap::pki::{PrivateKey, Template};

    use super::*;

    pub(super) fn authority(name: &str) -> Certificate {
        let key = PrivateKey::generate(EncryptionAlgorithm::EcdsaP256).unwrap();
        let template = Template::authority(name, Timestamp::now(), Duration::from_secs(600)).unwrap();
        template.self_signed(&key).unwrap()
    }

    #[test]
    fn a_server_names_all_authorities_of_the_file_and_no_former_ones() {
        let both = [authority("etcd-ca"), authority("etcd-ca-2")];
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let former = names(&["etcd-ca"]);
        assert_eq!(differs(&both, &[], &names(&["etcd-ca-2", "etcd-ca", "kubernetes"])), None);
        assert!(differs(&both, &[], &names(&["etcd-ca"])).unwrap().contains("etcd-ca-2 yet"));
        assert!(differs(&both[1..], &former, &names(&["etcd-ca-2", "etcd-ca"])).unwrap().contains("still"));
        assert_eq!(differs(&both[1..], &former, &names(&["etcd-ca-2"])), None);
    }
}
