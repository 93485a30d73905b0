//! Keys of KMS. A create takes no token: the key is found again by its alias, and before it has one by its tags.

use async_trait::async_trait;
use aws_sdk_kms::operation::describe_key::DescribeKeyOutput;
use aws_sdk_kms::types::{KeyMetadata, KeyState, Tag};
use slipway_aws_model::names::{KEY_ALIASES, key_alias};
use slipway_aws_model::normalise::document::compact;
use slipway_aws_model::types::DELETION_WINDOW_DAYS;
use slipway_resource::{ErrorClass, Identity, ProviderError, Value};

use super::attribute::{differs, flag, need, some, text};
use super::by_name::{claim, if_any, is_ours};
use super::{Found, Kind, or_gone, taken};
use crate::act::Act;
use crate::cloud::Cloud;
use crate::error::{incomplete, invalid};
use crate::look::Look;
use crate::owner::{TOKEN, Tags, difference, marks, visible};
use crate::rate::Class;

/// `aws_kms_key`.
pub(super) struct Key;

/// The name of a key's one policy.
const POLICY: &str = "default";
/// How many keys one list has at most.
const PAGE: i32 = 1_000;

#[async_trait]
impl Kind for Key {
    fn name(&self) -> &'static str {
        "aws_kms_key"
    }

    async fn list(&self, look: &Look) -> Result<Vec<Found>, ProviderError> {
        if look.by_ownership_alone() {
            return Ok(Vec::new());
        }
        match id_of(&look.cloud, &key_alias(&look.request.cluster)).await? {
            Some(id) => Ok(self.read(&look.cloud, &Identity::new(id)).await?.into_iter().collect()),
            None => Ok(Vec::new()),
        }
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        read(cloud, id).await
    }

    async fn create(&self, act: &Act<'_>, desired: &Value) -> Result<Identity, ProviderError> {
        let (cloud, alias) = (act.cloud, need(desired, "alias")?);
        if let Some(id) = id_of(cloud, alias).await? {
            return claim(self, act, Identity::new(id), desired).await;
        }
        let request = cloud
            .kms()
            .create_key()
            .set_description(text(desired, "description").map(str::to_owned))
            .policy(compact(need(desired, "policy")?))
            .set_tags(Some(to_tags(&act.tags(desired))?));
        let answer = cloud.write(Class::Kms, "CreateKey", || request.clone().send()).await?;
        let metadata = answer.key_metadata().ok_or_else(|| incomplete("CreateKey", "key"))?;
        Ok(Identity::new(metadata.key_id()))
    }

    async fn complete(&self, act: &Act<'_>, id: &Identity, desired: &Value) -> Result<(), ProviderError> {
        name(act.cloud, id, need(desired, "alias")?).await?;
        if flag(desired, "is_enabled") { Ok(()) } else { enable(act.cloud, id, false).await }
    }

    async fn update(
        &self,
        act: &Act<'_>,
        id: &Identity,
        prior: &Value,
        desired: &Value,
    ) -> Result<(), ProviderError> {
        let (cloud, key) = (act.cloud, id.as_str());
        if differs(prior, desired, "policy") {
            let policy = compact(need(desired, "policy")?);
            let request = cloud.kms().put_key_policy().key_id(key).policy_name(POLICY).policy(policy);
            cloud.write(Class::Kms, "PutKeyPolicy", || request.clone().send()).await?;
        }
        if differs(prior, desired, "description") {
            let description = text(desired, "description").unwrap_or_default();
            let request = cloud.kms().update_key_description().key_id(key).description(description);
            cloud.write(Class::Kms, "UpdateKeyDescription", || request.clone().send()).await?;
        }
        if differs(prior, desired, "is_enabled") {
            enable(cloud, id, flag(desired, "is_enabled")).await?;
        }
        if differs(prior, desired, "alias") {
            name(cloud, id, need(desired, "alias")?).await?;
            if let Some(alias) = text(prior, "alias") {
                unname(cloud, alias).await?;
            }
        }
        let (set, gone) = difference(prior, desired);
        set_tags(cloud, id, &set).await?;
        if !gone.is_empty() {
            let request = cloud.kms().untag_resource().key_id(key).set_tag_keys(Some(gone));
            cloud.write(Class::Kms, "UntagResource", || request.clone().send()).await?;
        }
        Ok(())
    }

    /// The key is kept for some days, and its name is free at once.
    async fn delete(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let cloud = act.cloud;
        if described(cloud, id.as_str()).await?.as_ref().is_none_or(is_ending) {
            return Ok(());
        }
        for alias in aliases(cloud, id).await? {
            unname(cloud, &alias).await?;
        }
        let request = cloud
            .kms()
            .schedule_key_deletion()
            .key_id(id.as_str())
            .pending_window_in_days(DELETION_WINDOW_DAYS);
        cloud.write(Class::Kms, "ScheduleKeyDeletion", || request.clone().send()).await.map(drop)
    }

    async fn tag(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        set_tags(act.cloud, id, &marks(&act.request.ownership, None)).await
    }

    async fn made(&self, act: &Act<'_>, desired: &Value) -> Result<Option<Identity>, ProviderError> {
        if let Some(id) = id_of(act.cloud, need(desired, "alias")?).await? {
            let id = Identity::new(id);
            let found = self.read(act.cloud, &id).await?;
            return Ok(found.filter(|found| is_ours(act, found)).map(|_| id));
        }
        nameless(act).await
    }

    async fn identity(&self, cloud: &Cloud, desired: &Value) -> Result<Option<Identity>, ProviderError> {
        match text(desired, "alias") {
            Some(alias) => Ok(id_of(cloud, alias).await?.map(Identity::new)),
            None => Ok(None),
        }
    }
}

/// The key of an action's create that did not get its alias any more: one of the account's, by the token in its tags.
async fn nameless(act: &Act<'_>) -> Result<Option<Identity>, ProviderError> {
    let request = act.cloud.kms().list_keys().limit(PAGE);
    let send = |marker| request.clone().set_marker(marker).send();
    let pages = act.cloud.pages(Class::Kms, "ListKeys", send, |page| page.next_marker()).await?;
    for key in pages.iter().flat_map(|page| page.keys()).filter_map(|key| key.key_id()) {
        // The tags of a key of somebody else may not be readable.
        let tags = match tags(act.cloud, key).await {
            Err(error) if matches!(error.class, ErrorClass::Permission { .. }) => continue,
            tags => tags?,
        };
        let token = tags.as_ref().and_then(|tags| tags.get(TOKEN)).map(String::as_str);
        if token == Some(act.request.token.as_str())
            && described(act.cloud, key).await?.is_some_and(|key| !is_ending(&key))
        {
            return Ok(Some(Identity::new(key)));
        }
    }
    Ok(None)
}

async fn read(cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
    let key = id.as_str();
    let policy = cloud.kms().get_key_policy().key_id(key).policy_name(POLICY);
    let (metadata, tags, policy, aliases) = tokio::join!(
        described(cloud, key),
        tags(cloud, key),
        cloud.read(Class::Kms, "GetKeyPolicy", || policy.clone().send()),
        aliases(cloud, id),
    );
    let Some(metadata) = metadata?.filter(|metadata| !is_ending(metadata)) else { return Ok(None) };
    let (Some(tags), Some(policy)) = (tags?, if_any(policy)?) else { return Ok(None) };
    let attributes = Value::map([
        ("id", Value::from(key)),
        ("arn", some(metadata.arn())),
        ("alias", some(aliases?.first().map(String::as_str))),
        ("description", some(metadata.description())),
        ("is_enabled", metadata.enabled().into()),
        ("policy", some(policy.policy())),
        ("tags", visible(&tags)),
    ]);
    Ok(Some(Found::ready(key, attributes, &tags)))
}

/// What KMS says about a key, by its id or its alias; `None` when there is none.
async fn described(cloud: &Cloud, key: &str) -> Result<Option<KeyMetadata>, ProviderError> {
    let request = cloud.kms().describe_key().key_id(key);
    let answer = if_any(cloud.read(Class::Kms, "DescribeKey", || request.clone().send()).await)?;
    Ok(answer.and_then(|DescribeKeyOutput { key_metadata, .. }| key_metadata))
}

/// Whether the deletion of a key is scheduled: its name is free, and nothing can be done with it.
fn is_ending(metadata: &KeyMetadata) -> bool {
    matches!(metadata.key_state(), Some(KeyState::PendingDeletion | KeyState::PendingReplicaDeletion))
}

/// The id of the key that an alias names.
async fn id_of(cloud: &Cloud, alias: &str) -> Result<Option<String>, ProviderError> {
    let metadata = described(cloud, alias).await?;
    Ok(metadata.filter(|metadata| !is_ending(metadata)).map(|metadata| metadata.key_id().to_owned()))
}

/// The aliases that Slipway gave to a key, sorted. People may add their own.
async fn aliases(cloud: &Cloud, id: &Identity) -> Result<Vec<String>, ProviderError> {
    let request = cloud.kms().list_aliases().key_id(id.as_str());
    let answer = if_any(cloud.read(Class::Kms, "ListAliases", || request.clone().send()).await)?;
    let found = answer.iter().flat_map(|answer| answer.aliases());
    let own = found.filter_map(|alias| alias.alias_name()).filter(|name| name.starts_with(KEY_ALIASES));
    let mut names: Vec<String> = own.map(str::to_owned).collect();
    names.sort();
    Ok(names)
}

/// Gives a key its alias. Sent again, it finds the alias on this very key.
async fn name(cloud: &Cloud, id: &Identity, alias: &str) -> Result<(), ProviderError> {
    let request = cloud.kms().create_alias().alias_name(alias).target_key_id(id.as_str());
    match cloud.write(Class::Kms, "CreateAlias", || request.clone().send()).await {
        Err(error) if error.class == ErrorClass::Conflict => match id_of(cloud, alias).await? {
            Some(found) if found == id.as_str() => Ok(()),
            _ => Err(taken(alias)),
        },
        result => result.map(drop),
    }
}

async fn unname(cloud: &Cloud, alias: &str) -> Result<(), ProviderError> {
    let request = cloud.kms().delete_alias().alias_name(alias);
    or_gone(cloud.write(Class::Kms, "DeleteAlias", || request.clone().send()).await.map(drop))
}

async fn enable(cloud: &Cloud, id: &Identity, enabled: bool) -> Result<(), ProviderError> {
    if enabled {
        let request = cloud.kms().enable_key().key_id(id.as_str());
        return cloud.write(Class::Kms, "EnableKey", || request.clone().send()).await.map(drop);
    }
    let request = cloud.kms().disable_key().key_id(id.as_str());
    cloud.write(Class::Kms, "DisableKey", || request.clone().send()).await.map(drop)
}

/// The tags of a key; `None` when it does not exist.
async fn tags(cloud: &Cloud, key: &str) -> Result<Option<Tags>, ProviderError> {
    let request = cloud.kms().list_resource_tags().key_id(key);
    let answer = if_any(cloud.read(Class::Kms, "ListResourceTags", || request.clone().send()).await)?;
    Ok(answer.map(|answer| {
        let tags = answer.tags().iter();
        tags.map(|tag| (tag.tag_key().to_owned(), tag.tag_value().to_owned())).collect()
    }))
}

/// Tags in the form of KMS.
fn to_tags(tags: &Tags) -> Result<Vec<Tag>, ProviderError> {
    tags.iter()
        .map(|(key, value)| Tag::builder().tag_key(key).tag_value(value).build())
        .collect::<Result<_, _>>()
        .map_err(|error| invalid(format!("a tag is not complete: {error}")))
}

async fn set_tags(cloud: &Cloud, id: &Identity, tags: &Tags) -> Result<(), ProviderError> {
    if tags.is_empty() {
        return Ok(());
    }
    let request = cloud.kms().tag_resource().key_id(id.as_str()).set_tags(Some(to_tags(tags)?));
    cloud.write(Class::Kms, "TagResource", || request.clone().send()).await.map(drop)
}
