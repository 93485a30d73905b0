//! That the stored objects of some resources are encrypted with one key.

use std::collections::BTreeSet;

use async_trait::async_trait;
use futures_util::future::try_join_all;
use serde_json::Value as Json;
use slipway_resource::provider::{PlanItem, Planned};
use slipway_resource::{Attribute, ErrorClass, Path, ProviderError, ResourceType, Type, Value};

use super::etcd_member::access_attributes as etcd_attributes;
use super::form;
use super::{Kind, Place, Work};
use crate::api_server::{ApiServer, access_attributes};
use crate::attributes::Attributes;
use crate::error::invalid;
use crate::etcd::Etcd;
use crate::ledger::Found;

/// The objects of some resources, encrypted with one key. It is read from the bytes in etcd. A change writes each object that has
/// other bytes back through the API server, which encrypts it with the first key of its configuration.
pub(crate) struct EncryptedObjects;

/// The resources of the core group whose keys in etcd are `/registry/RESOURCE/NAMESPACE/NAME`.
const KNOWN: [&str; 3] = ["secrets", "configmaps", "serviceaccounts"];

/// The attribute that shows whether all objects are encrypted with the key.
const IS_COMPLETE: &str = "is_complete";

/// How many objects are written at the same time.
const AT_ONCE: usize = 8;

/// How often objects that are left are written again.
const ROUNDS: usize = 5;

#[async_trait]
impl Kind for EncryptedObjects {
    fn resource_type(&self) -> ResourceType {
        let mut kind = form::resource_type(
            "That the stored objects of some resources are encrypted with one key.",
            60_000,
            [
                (
                    "resources",
                    Attribute::required(Type::set(Type::String))
                        .describe("The resources: secrets, configmaps or serviceaccounts."),
                ),
                (
                    "provider",
                    Attribute::required(Type::String)
                        .describe("How they are encrypted: secretbox or aescbc."),
                ),
                ("key_name", Attribute::required(Type::String).write_only().describe("The name of the key.")),
                // Others write objects while a plan runs: as a sensitive attribute, it is part of no precondition.
                (
                    IS_COMPLETE,
                    Attribute::optional(Type::Bool)
                        .default_to(true)
                        .sensitive()
                        .describe("Whether all objects are encrypted with the key. Not to be set."),
                ),
                (
                    "left",
                    Attribute::computed(Type::Integer)
                        .describe("The number of objects that are not encrypted with the key."),
                ),
            ],
        );
        let access = access_attributes().into_iter().chain(etcd_attributes());
        kind.attributes.extend(access.map(|(name, attribute)| (name.to_owned(), attribute)));
        kind
    }

    fn identity(&self, _: Attributes<'_>) -> Result<String, ProviderError> {
        Ok("encrypted-objects".to_owned())
    }

    fn plan(&self, item: &PlanItem, planned: &mut Planned) -> Result<(), ProviderError> {
        let resources = Attributes(&planned.normalised).texts("resources");
        if let Some(unknown) = resources.iter().find(|name| !KNOWN.contains(&name.as_str())) {
            return Err(invalid(format!("resources: {unknown} is none of {}", KNOWN.join(", "))));
        }
        let observed = |name: &str| item.observed.as_ref().and_then(|observed| observed.get(name));
        let is_complete = observed(IS_COMPLETE).and_then(Value::as_bool);
        if is_complete == Some(false) {
            planned.reasons.push("objects in etcd are not encrypted with the key".to_owned());
        }
        let key_name = |attributes: &Value| attributes.get("key_name").cloned();
        let is_settled = is_complete == Some(true)
            && item.last_applied.as_ref().map(key_name) == Some(key_name(&planned.normalised));
        let left = observed("left").cloned().unwrap_or(Value::Unknown);
        planned.normalised.set(&Path::key("left"), left);
        if !is_settled {
            planned.unknown_after.push(Path::key("left"));
        }
        Ok(())
    }

    async fn look(&self, _: &Work) -> Result<Found, ProviderError> {
        Ok(Found::Nothing)
    }

    async fn make(&self, work: &Work) -> Result<Json, ProviderError> {
        let wanted = work.wanted();
        let disk = &work.host().disk;
        let etcd = Etcd::connect(disk, wanted, wanted.texts("endpoints"))?;
        let api = ApiServer::connect(disk, wanted)?;
        let mut left = Vec::new();
        for round in 0..ROUNDS {
            left = others(&etcd, wanted).await?;
            if left.is_empty() {
                return Ok(Json::Null);
            }
            work.tell(format!("{} objects are written with the key in use", left.len()));
            if round > 0 {
                work.pause(std::time::Duration::from_secs(1)).await?;
            }
            for some in left.chunks(AT_ONCE) {
                try_join_all(some.iter().map(|key| write_again(&api, key))).await?;
                if work.stop.is_cancelled() {
                    return Err(work.cancelled());
                }
            }
        }
        let names: Vec<&str> = left.iter().take(5).map(String::as_str).collect();
        let text = format!(
            "{} objects are not encrypted with the key {} in etcd after they were written, such as {}",
            left.len(),
            wanted.text("key_name")?,
            names.join(", ")
        );
        Err(ProviderError::new(ErrorClass::Permanent, text).with_hint(
            "an API server that does not use its present configuration writes with another key; the step may be run again",
        ))
    }

    async fn remove(&self, _: &Work) -> Result<(), ProviderError> {
        Ok(())
    }

    async fn read(&self, place: &Place) -> Result<Option<Value>, ProviderError> {
        if place.entry.is_none() {
            return Ok(None);
        }
        let wanted = place.wanted();
        let mut value = Value::map([
            ("resources", Value::list(wanted.texts("resources"))),
            ("provider", wanted.text("provider")?.into()),
        ]);
        // While etcd does not answer, nothing is known to be encrypted with the key.
        let read = async {
            let etcd = Etcd::connect(&place.host.disk, wanted, wanted.texts("endpoints"))?;
            others(&etcd, wanted).await
        };
        let left = read.await.ok();
        value.set(&Path::key(IS_COMPLETE), left.as_ref().is_some_and(Vec::is_empty).into());
        if let Some(left) = left {
            value.set(&Path::key("left"), i64::try_from(left.len()).unwrap_or(i64::MAX).into());
        }
        Ok(Some(value))
    }
}

/// The keys in etcd whose values are not encrypted as wanted.
async fn others(etcd: &Etcd, wanted: Attributes<'_>) -> Result<Vec<String>, ProviderError> {
    let beginning = format!("k8s:enc:{}:v1:{}:", wanted.text("provider")?, wanted.text("key_name")?);
    let mut found = Vec::new();
    let resources: BTreeSet<String> = wanted.texts("resources").into_iter().collect();
    for resource in resources {
        found.extend(etcd.keys_without(&format!("/registry/{resource}/"), beginning.as_bytes()).await?);
    }
    Ok(found)
}

/// Reads an object and writes it back as it is. One that is changed or deleted meanwhile needs that no more.
async fn write_again(api: &ApiServer, key: &str) -> Result<(), ProviderError> {
    let path = path(key)?;
    let Some(object) = api.get(&path).await? else { return Ok(()) };
    api.put(&path, &object).await.map(drop)
}

/// The path of an object in the API, by its key in etcd.
fn path(key: &str) -> Result<String, ProviderError> {
    let mut parts = key.strip_prefix("/registry/").unwrap_or_default().split('/');
    let is_name = |part: &&str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.'))
    };
    match (parts.next(), parts.next().filter(is_name), parts.next().filter(is_name), parts.next()) {
        (Some(resource), Some(namespace), Some(name), None) if KNOWN.contains(&resource) => {
            Ok(format!("/api/v1/namespaces/{namespace}/{resource}/{name}"))
        }
        _ => Err(invalid(format!("{key} in etcd is not the key of an object that can be written again"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_found_by_its_key_in_etcd() {
        let found = path("/registry/secrets/kube-system/bootstrap-token-a.b").unwrap();
        assert_eq!(found, "/api/v1/namespaces/kube-system/secrets/bootstrap-token-a.b");
        for wrong in [
            "/registry/secrets/only-one",
            "/registry/secrets/a/b/c",
            "/registry/pods/a/b",
            "/registry/secrets/../b?x",
            "secrets/a/b",
        ] {
            assert!(path(wrong).is_err(), "{wrong}");
        }
    }
}
