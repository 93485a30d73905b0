//! Instance profiles.

use async_trait::async_trait;
use slipway_resource::{ErrorClass, Identity, ProviderError, Value};

use super::{Roles, may_be_of, of_tags, to_tags};
use crate::act::Act;
use crate::cloud::Cloud;
use crate::error::incomplete;
use crate::kind::attribute::{differs, need, text};
use crate::kind::by_name::{claim, if_any, made};
use crate::kind::{Found, Kind, or_gone};
use crate::look::Look;
use crate::owner::{Tags, difference, visible};
use crate::rate::Class;

/// `aws_iam_instance_profile`.
pub(in crate::kind) struct InstanceProfile;

#[async_trait]
impl Kind for InstanceProfile {
    fn name(&self) -> &'static str {
        "aws_iam_instance_profile"
    }

    /// A profile of ours is deleted before its role: without a role, there is no profile.
    async fn list(&self, look: &Look) -> Result<Vec<Found>, ProviderError> {
        if look.by_ownership_alone() || look.listing::<Roles>().await?.0.is_empty() {
            return Ok(Vec::new());
        }
        let request = look.cloud.iam().list_instance_profiles().max_items(1_000);
        let send = |marker| request.clone().set_marker(marker).send();
        let action = "ListInstanceProfiles";
        let pages = look
            .cloud
            .pages(Class::Iam, action, send, |page| page.marker().filter(|_| page.is_truncated()))
            .await?;
        if pages.last().is_some_and(|page| page.is_truncated()) {
            return Err(incomplete(action, "marker"));
        }
        let profiles = pages.iter().flat_map(|page| page.instance_profiles());
        let mut names: Vec<String> =
            profiles.map(|profile| profile.instance_profile_name().to_owned()).collect();
        names.retain(|name| may_be_of(&look.request.cluster, name));
        let reads = names.iter().map(|name| read(&look.cloud, name));
        Ok(futures_util::future::try_join_all(reads).await?.into_iter().flatten().collect())
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        read(cloud, id.as_str()).await
    }

    async fn create(&self, act: &Act<'_>, desired: &Value) -> Result<Identity, ProviderError> {
        let name = need(desired, "name")?;
        let request = act
            .cloud
            .iam()
            .create_instance_profile()
            .instance_profile_name(name)
            .set_path(text(desired, "path").map(str::to_owned))
            .set_tags(Some(to_tags(&act.tags(desired))?));
        match act.cloud.write(Class::Iam, "CreateInstanceProfile", || request.clone().send()).await {
            Ok(_) => Ok(Identity::new(name)),
            Err(error) if error.class == ErrorClass::Conflict => {
                claim(self, act, Identity::new(name), desired).await
            }
            Err(error) => Err(error),
        }
    }

    async fn complete(&self, act: &Act<'_>, id: &Identity, desired: &Value) -> Result<(), ProviderError> {
        let Some(role) = text(desired, "role") else { return Ok(()) };
        match add_role(act.cloud, id.as_str(), role).await {
            // A profile holds one role. If it is this one, an earlier attempt has had its effect.
            Err(error) if matches!(error.class, ErrorClass::Quota { .. } | ErrorClass::Conflict) => {
                let found = read(act.cloud, id.as_str()).await?;
                let there = found.is_some_and(|found| text(&found.attributes, "role") == Some(role));
                if there { Ok(()) } else { Err(error) }
            }
            result => result,
        }
    }

    async fn update(
        &self,
        act: &Act<'_>,
        id: &Identity,
        prior: &Value,
        desired: &Value,
    ) -> Result<(), ProviderError> {
        let (cloud, name) = (act.cloud, id.as_str());
        if differs(prior, desired, "role") {
            if let Some(role) = text(prior, "role") {
                remove_role(cloud, name, role).await?;
            }
            self.complete(act, id, desired).await?;
        }
        let (set, gone) = difference(prior, desired);
        set_tags(cloud, name, &set).await?;
        if !gone.is_empty() {
            let request =
                cloud.iam().untag_instance_profile().instance_profile_name(name).set_tag_keys(Some(gone));
            cloud.write(Class::Iam, "UntagInstanceProfile", || request.clone().send()).await?;
        }
        Ok(())
    }

    async fn delete(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let (cloud, name) = (act.cloud, id.as_str());
        let Some(found) = read(cloud, name).await? else { return Ok(()) };
        if let Some(role) = text(&found.attributes, "role") {
            remove_role(cloud, name, role).await?;
        }
        let request = cloud.iam().delete_instance_profile().instance_profile_name(name);
        cloud.write(Class::Iam, "DeleteInstanceProfile", || request.clone().send()).await.map(drop)
    }

    async fn tag(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        set_tags(act.cloud, id.as_str(), &crate::owner::marks(&act.request.ownership, None)).await
    }

    async fn made(&self, act: &Act<'_>, desired: &Value) -> Result<Option<Identity>, ProviderError> {
        made(self, act, Identity::new(need(desired, "name")?)).await
    }

    fn is_idempotent(&self) -> bool {
        true
    }
}

async fn read(cloud: &Cloud, name: &str) -> Result<Option<Found>, ProviderError> {
    let request = cloud.iam().get_instance_profile().instance_profile_name(name);
    let answer = if_any(cloud.read(Class::Iam, "GetInstanceProfile", || request.clone().send()).await)?;
    let Some(profile) = answer.as_ref().and_then(|answer| answer.instance_profile()) else { return Ok(None) };
    let tags = of_tags(profile.tags());
    let role = profile.roles().first().map(|role| role.role_name());
    let attributes = Value::map([
        ("id", Value::from(name)),
        ("arn", profile.arn().into()),
        ("name", name.into()),
        ("path", profile.path().into()),
        ("role", role.into()),
        ("unique_id", profile.instance_profile_id().into()),
        ("tags", visible(&tags)),
    ]);
    Ok(Some(Found::ready(name, attributes, &tags)))
}

async fn add_role(cloud: &Cloud, profile: &str, role: &str) -> Result<(), ProviderError> {
    let request = cloud.iam().add_role_to_instance_profile().instance_profile_name(profile).role_name(role);
    cloud.write(Class::Iam, "AddRoleToInstanceProfile", || request.clone().send()).await.map(drop)
}

/// A role that is gone, or in the profile no more, counts as removed.
async fn remove_role(cloud: &Cloud, profile: &str, role: &str) -> Result<(), ProviderError> {
    let request =
        cloud.iam().remove_role_from_instance_profile().instance_profile_name(profile).role_name(role);
    let removed = cloud.write(Class::Iam, "RemoveRoleFromInstanceProfile", || request.clone().send()).await;
    or_gone(removed.map(drop))
}

async fn set_tags(cloud: &Cloud, profile: &str, tags: &Tags) -> Result<(), ProviderError> {
    if tags.is_empty() {
        return Ok(());
    }
    let request =
        cloud.iam().tag_instance_profile().instance_profile_name(profile).set_tags(Some(to_tags(tags)?));
    cloud.write(Class::Iam, "TagInstanceProfile", || request.clone().send()).await.map(drop)
}
