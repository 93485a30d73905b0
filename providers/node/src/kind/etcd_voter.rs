//! That a member of etcd votes.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value as Json;
use slipway_resource::provider::{PlanItem, Planned};
use slipway_resource::schema::{Part, Role};
use slipway_resource::{Attribute, ErrorClass, Path, ProviderError, ResourceType, Type, Value};
use tokio::time::Instant;

use super::etcd_member::{
    Memory, access_attributes, connect, find, leave, leave_as_found, listed_or_remembered, mark,
};
use super::form::{self, memorise, recall};
use super::{Kind, Place, Work};
use crate::attributes::Attributes;
use crate::etcd::{self, Etcd, Refusal};
use crate::ledger::Found;

/// The vote of an etcd member: it has started, has caught up, and votes. When the vote is removed, the member
/// leaves while its pod still runs, because the others count its vote as long as it is a member.
pub(crate) struct EtcdVoter;

const PAUSE: Duration = Duration::from_millis(250);
const TELL: Duration = Duration::from_secs(10);

#[async_trait]
impl Kind for EtcdVoter {
    fn resource_type(&self) -> ResourceType {
        let urls = |text: &str| Attribute::optional(Type::set(Type::String)).write_only().describe(text);
        let mut kind = form::resource_type(
            "That a member of etcd votes.",
            5_000,
            [
                ("name", Attribute::required(Type::String).immutable().describe("The member's name.")),
                ("peer_urls", urls("The URLs by which other members reach it.")),
                ("client_urls", urls("The URLs by which clients reach it.")),
                ("member_id", Attribute::computed(Type::String).describe("Its id in hexadecimal digits.")),
            ],
        );
        let access = access_attributes();
        kind.attributes.extend(access.map(|(name, attribute)| (name.to_owned(), attribute)));
        kind.roles.push(Role::of_all(Part::EtcdVoter));
        kind
    }

    fn identity(&self, desired: Attributes<'_>) -> Result<String, ProviderError> {
        desired.text("name").map(str::to_owned)
    }

    fn plan(&self, _: &PlanItem, _: &mut Planned) -> Result<(), ProviderError> {
        Ok(())
    }

    async fn look(&self, _: &Work) -> Result<Found, ProviderError> {
        Ok(Found::Nothing)
    }

    async fn make(&self, work: &Work) -> Result<Json, ProviderError> {
        let wanted = work.wanted();
        let own = wanted.texts("peer_urls");
        let limit = wanted.seconds("timeout_seconds", 120);
        let (begun, mut reported) = (Instant::now(), None::<Instant>);
        loop {
            let why = match step(work, wanted, &own).await? {
                Ok(member_id) => {
                    mark(work, false).await?;
                    return memorise(&Memory { member_id, ..Memory::default() });
                }
                Err(why) => why,
            };
            if reported.is_none_or(|reported| reported.elapsed() >= TELL) {
                work.tell(why.as_str());
                reported = Some(Instant::now());
            }
            if begun.elapsed() >= limit {
                let text =
                    format!("{} has no vote in etcd after {} s: {why}", work.identity(), limit.as_secs());
                return Err(ProviderError::new(ErrorClass::Permanent, text)
                    .with_hint("the log of its pod says why; the step may be run again"));
            }
            work.pause(PAUSE).await?;
        }
    }

    async fn remove(&self, work: &Work) -> Result<(), ProviderError> {
        let memory = recall::<Memory>(work.place.memory()).unwrap_or_default();
        if memory.member_id.is_empty() {
            return Ok(());
        }
        leave(work, &memory.member_id).await
    }

    async fn part(&self, work: &Work) -> Result<(), ProviderError> {
        leave_as_found(work).await
    }

    async fn read(&self, place: &Place) -> Result<Option<Value>, ProviderError> {
        let Some(asked) = etcd::asked(&place.host.disk, place.wanted())? else { return Ok(None) };
        let wanted = Attributes(&asked);
        let own = wanted.texts("peer_urls");
        let memory = recall::<Memory>(place.memory()).unwrap_or_default();
        let members = listed_or_remembered(place, wanted, &memory).await?;
        let member = find(&members, place.identity.as_str(), &own);
        Ok(member.filter(|member| member.has_started() && !member.is_learner).map(|member| {
            let mut value = Value::map([("name", place.identity.as_str())]);
            value.set(&Path::key("member_id"), member.id().into());
            value
        }))
    }
}

/// One check, and a promotion if possible: the member's id when it votes and serves, otherwise the reason for
/// the wait.
async fn step(
    work: &Work,
    wanted: Attributes<'_>,
    own: &[String],
) -> Result<Result<String, String>, ProviderError> {
    let etcd = connect(work, wanted)?;
    let members = match etcd.members().await {
        Ok(members) => members,
        Err(error) => return Ok(Err(format!("waits for etcd: {error}"))),
    };
    let Some(member) = find(&members, work.identity(), own) else {
        let text = format!("etcd has no member {}: it was removed", work.identity());
        return Err(ProviderError::new(ErrorClass::NotFound, text));
    };
    if !member.has_started() {
        return Ok(Err("waits until the member has started".to_owned()));
    }
    if member.is_learner {
        work.host().disk.at("promote member");
        match etcd.promote(member).await {
            Ok(()) | Err(Refusal::Already) => {}
            Err(Refusal::Later(why)) => {
                return Ok(Err(format!("waits until the member has caught up: {why}")));
            }
            Err(refusal) => return Err(refusal.into()),
        }
    }
    let urls = wanted.texts("client_urls");
    let urls = if urls.is_empty() { member.client_urls.clone() } else { urls };
    if urls.is_empty() {
        return Ok(Ok(member.id()));
    }
    match Etcd::connect(&work.host().disk, wanted, urls)?.health().await {
        Ok(()) => Ok(Ok(member.id())),
        Err(why) => Ok(Err(format!("waits until the member serves: {why}"))),
    }
}
