//! Records.

use std::collections::BTreeMap;

use async_trait::async_trait;
use aws_sdk_route53::types::{AliasTarget, ChangeAction, ResourceRecord, ResourceRecordSet, RrType};
use futures_util::future::try_join_all;
use slipway_resource::diff::diff;
use slipway_resource::{ErrorClass, Identity, ProviderError, Value};

use super::{bare, change, plain};
use crate::act::Act;
use crate::batch::Family;
use crate::cloud::Cloud;
use crate::error::invalid;
use crate::kind::attribute::{block, flag, need, number, text, texts};
use crate::kind::by_name::if_any;
use crate::kind::{Condition, Found, Kind, taken};
use crate::look::Look;
use crate::rate::Class;

/// `aws_route53_record`.
pub(in crate::kind) struct Record;

/// The records of one name, by zone and name with a blank between them.
struct Records;

#[async_trait]
impl Family for Records {
    type Item = Vec<ResourceRecordSet>;
    const LIMIT: usize = 50;

    async fn fetch(cloud: &Cloud, keys: &[String]) -> Result<BTreeMap<String, Self::Item>, ProviderError> {
        let found = keys.iter().map(|key| async move {
            let (zone, name) = key.split_once(' ').unwrap_or((key, ""));
            Ok::<_, ProviderError>(
                if_any(records(cloud, zone, name).await)?.map(|records| (key.clone(), records)),
            )
        });
        Ok(try_join_all(found).await?.into_iter().flatten().collect())
    }
}

async fn records(cloud: &Cloud, zone: &str, name: &str) -> Result<Vec<ResourceRecordSet>, ProviderError> {
    // A name has few types; the list continues with other names.
    let request = cloud
        .route53()
        .list_resource_record_sets()
        .hosted_zone_id(zone)
        .start_record_name(name)
        .max_items(20);
    let page = cloud.read(Class::Route53, "ListResourceRecordSets", || request.clone().send()).await?;
    Ok(page.resource_record_sets().iter().filter(|record| plain(record.name()) == name).cloned().collect())
}

/// The parts of an id.
struct Key<'a> {
    zone: &'a str,
    name: &'a str,
    kind: &'a str,
    set: Option<&'a str>,
}

impl<'a> Key<'a> {
    /// Zone, name and type, and the set identifier that distinguishes records with the same name and type.
    fn of(id: &'a Identity) -> Result<Self, ProviderError> {
        let whole =
            || invalid(format!("{id} is not a zone's id, a name and a type with underscores between them"));
        let (zone, rest) = id.as_str().split_once('_').ok_or_else(whole)?;
        let (rest, last) = rest.rsplit_once('_').ok_or_else(whole)?;
        if is_type(last) {
            return Ok(Self { zone, name: rest, kind: last, set: None });
        }
        let (name, kind) = rest.rsplit_once('_').filter(|(_, kind)| is_type(kind)).ok_or_else(whole)?;
        Ok(Self { zone, name, kind, set: Some(last) })
    }

    fn matches(&self, record: &ResourceRecordSet) -> bool {
        record.r#type().as_str() == self.kind && record.set_identifier() == self.set
    }
}

fn is_type(text: &str) -> bool {
    RrType::values().contains(&text)
}

async fn find(cloud: &Cloud, id: &Identity) -> Result<Option<ResourceRecordSet>, ProviderError> {
    let key = Key::of(id)?;
    let records = cloud.get::<Records>(&format!("{} {}", key.zone, key.name)).await?;
    Ok(records.iter().flat_map(|records| records.iter()).find(|record| key.matches(record)).cloned())
}

#[async_trait]
impl Kind for Record {
    fn name(&self) -> &'static str {
        "aws_route53_record"
    }

    /// Nothing: records have no tags. The state knows them, or a create finds them.
    async fn list(&self, _look: &Look) -> Result<Vec<Found>, ProviderError> {
        Ok(Vec::new())
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        let zone = Key::of(id)?.zone;
        Ok(find(cloud, id).await?.map(|record| Found {
            identity: id.clone(),
            attributes: shape(id, zone, &record),
            owner: None,
            condition: Condition::Ready,
        }))
    }

    /// An existing record that is as desired was created by an earlier attempt; another one is a conflict.
    async fn create(&self, act: &Act<'_>, desired: &Value) -> Result<Identity, ProviderError> {
        let id = identity(desired)?;
        let zone = bare(need(desired, "zone_id")?);
        match change::submit(act.cloud, zone, ChangeAction::Create, to_sdk(desired)?).await {
            Ok(made) => {
                act.announce(&id);
                change::in_sync(act, &made).await?;
                Ok(id)
            }
            Err(error) if error.class == ErrorClass::Invalid => match self.made(act, desired).await {
                Ok(Some(id)) => Ok(id),
                Ok(None) if find(act.cloud, &id).await?.is_some() => Err(taken(&format!("record {id}"))),
                _ => Err(error),
            },
            Err(error) => Err(error),
        }
    }

    async fn update(
        &self,
        act: &Act<'_>,
        _id: &Identity,
        _prior: &Value,
        desired: &Value,
    ) -> Result<(), ProviderError> {
        let zone = bare(need(desired, "zone_id")?);
        let made = change::submit(act.cloud, zone, ChangeAction::Upsert, to_sdk(desired)?).await?;
        change::in_sync(act, &made).await
    }

    async fn delete(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let Some(record) = find(act.cloud, id).await? else { return Ok(()) };
        change::submit(act.cloud, Key::of(id)?.zone, ChangeAction::Delete, record).await.map(drop)
    }

    async fn made(&self, act: &Act<'_>, desired: &Value) -> Result<Option<Identity>, ProviderError> {
        let id = identity(desired)?;
        let Some(found) = crate::kind::read(self, act.cloud, &id).await? else { return Ok(None) };
        let schema = slipway_aws_model::types::get(self.name());
        let same = schema.is_some_and(|schema| diff(schema, &found.attributes, desired, None).is_empty());
        Ok((same || act.takes_over()).then_some(id))
    }

    async fn identity(&self, _cloud: &Cloud, desired: &Value) -> Result<Option<Identity>, ProviderError> {
        Ok(identity(desired).ok())
    }

    fn is_idempotent(&self) -> bool {
        true
    }
}

fn identity(desired: &Value) -> Result<Identity, ProviderError> {
    let zone = bare(need(desired, "zone_id")?);
    let (name, kind) = (plain(need(desired, "name")?), need(desired, "type")?.to_ascii_uppercase());
    Ok(Identity::new(match text(desired, "set_identifier") {
        Some(set) => format!("{zone}_{name}_{kind}_{set}"),
        None => format!("{zone}_{name}_{kind}"),
    }))
}

fn shape(id: &Identity, zone: &str, record: &ResourceRecordSet) -> Value {
    let alias = record.alias_target().map(|alias| {
        Value::list([Value::map([
            ("name", Value::from(alias.dns_name())),
            ("zone_id", alias.hosted_zone_id().into()),
            ("evaluate_target_health", alias.evaluate_target_health().into()),
        ])])
    });
    Value::map([
        ("id", Value::from(id.as_str())),
        ("zone_id", zone.into()),
        ("name", record.name().into()),
        ("type", record.r#type().as_str().into()),
        ("set_identifier", record.set_identifier().into()),
        // An alias has the TTL of its target.
        ("ttl", record.ttl().filter(|_| alias.is_none()).into()),
        ("records", Value::list(record.resource_records().iter().map(ResourceRecord::value))),
        ("alias", alias.into()),
        ("fqdn", record.name().into()),
    ])
}

fn to_sdk(desired: &Value) -> Result<ResourceRecordSet, ProviderError> {
    let incomplete =
        |error: aws_sdk_route53::error::BuildError| invalid(format!("the record is not complete: {error}"));
    let alias = block(desired, "alias").map(|alias| {
        AliasTarget::builder()
            .dns_name(need(alias, "name")?)
            .hosted_zone_id(bare(need(alias, "zone_id")?))
            .evaluate_target_health(flag(alias, "evaluate_target_health"))
            .build()
            .map_err(incomplete)
    });
    let answers = texts(desired, "records")
        .into_iter()
        .map(|value| ResourceRecord::builder().value(value).build().map_err(incomplete));
    let answers: Vec<ResourceRecord> = answers.collect::<Result<_, _>>()?;
    ResourceRecordSet::builder()
        .name(need(desired, "name")?)
        .r#type(RrType::from(need(desired, "type")?))
        .set_set_identifier(text(desired, "set_identifier").map(str::to_owned))
        .set_ttl(number(desired, "ttl"))
        .set_resource_records((!answers.is_empty()).then_some(answers))
        .set_alias_target(alias.transpose()?)
        .build()
        .map_err(incomplete)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_taken_apart() {
        let key = |id: &str| {
            let id = Identity::new(id);
            Key::of(&id).map(|key| format!("{} {} {} {:?}", key.zone, key.name, key.kind, key.set)).ok()
        };
        assert_eq!(key("Z1_api.a.example.com_AAAA").as_deref(), Some("Z1 api.a.example.com AAAA None"));
        assert_eq!(key("Z1__acme_challenge.a_TXT").as_deref(), Some("Z1 _acme_challenge.a TXT None"));
        assert_eq!(key("Z1_a_A_blue").as_deref(), Some("Z1 a A Some(\"blue\")"));
        assert_eq!(key("Z1_a"), None);
    }
}
