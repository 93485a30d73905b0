//! Roles.

use async_trait::async_trait;
use slipway_aws_model::normalise::document::compact;
use slipway_resource::{ErrorClass, Identity, ProviderError, Value};

use super::{Roles, of_tags, own_policies, to_tags, unescaped};
use crate::act::Act;
use crate::cloud::Cloud;
use crate::kind::attribute::{differs, need, number32, some, text};
use crate::kind::by_name::{claim, if_any, made};
use crate::kind::{Blockers, Found, Kind};
use crate::look::Look;
use crate::owner::{Tags, difference, visible};
use crate::rate::Class;

/// `aws_iam_role`.
pub(in crate::kind) struct Role;

#[async_trait]
impl Kind for Role {
    fn name(&self) -> &'static str {
        "aws_iam_role"
    }

    async fn list(&self, look: &Look) -> Result<Vec<Found>, ProviderError> {
        Ok(look.listing::<Roles>().await?.0.values().cloned().collect())
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        read(cloud, id.as_str()).await
    }

    async fn create(&self, act: &Act<'_>, desired: &Value) -> Result<Identity, ProviderError> {
        let name = need(desired, "name")?;
        let request = act
            .cloud
            .iam()
            .create_role()
            .role_name(name)
            .set_path(text(desired, "path").map(str::to_owned))
            .assume_role_policy_document(compact(need(desired, "assume_role_policy")?))
            .set_description(text(desired, "description").map(str::to_owned))
            .set_max_session_duration(number32(desired, "max_session_duration"))
            .set_permissions_boundary(text(desired, "permissions_boundary").map(str::to_owned))
            .set_tags(Some(to_tags(&act.tags(desired))?));
        match act.cloud.write(Class::Iam, "CreateRole", || request.clone().send()).await {
            Ok(_) => Ok(Identity::new(name)),
            Err(error) if error.class == ErrorClass::Conflict => {
                claim(self, act, Identity::new(name), desired).await
            }
            Err(error) => Err(error),
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
        if differs(prior, desired, "assume_role_policy") {
            let document = compact(need(desired, "assume_role_policy")?);
            let request = cloud.iam().update_assume_role_policy().role_name(name).policy_document(document);
            cloud.write(Class::Iam, "UpdateAssumeRolePolicy", || request.clone().send()).await?;
        }
        if differs(prior, desired, "description") || differs(prior, desired, "max_session_duration") {
            let request = cloud
                .iam()
                .update_role()
                .role_name(name)
                .description(text(desired, "description").unwrap_or_default())
                .set_max_session_duration(number32(desired, "max_session_duration"));
            cloud.write(Class::Iam, "UpdateRole", || request.clone().send()).await?;
        }
        if differs(prior, desired, "permissions_boundary") {
            set_boundary(cloud, name, text(desired, "permissions_boundary")).await?;
        }
        let (set, gone) = difference(prior, desired);
        set_tags(cloud, name, &set).await?;
        if !gone.is_empty() {
            let request = cloud.iam().untag_role().role_name(name).set_tag_keys(Some(gone));
            cloud.write(Class::Iam, "UntagRole", || request.clone().send()).await?;
        }
        Ok(())
    }

    async fn delete(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let request = act.cloud.iam().delete_role().role_name(id.as_str());
        act.cloud.write(Class::Iam, "DeleteRole", || request.clone().send()).await.map(drop)
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

    async fn blockers(&self, cloud: &Cloud, id: &Identity) -> Result<Blockers, ProviderError> {
        let role = id.as_str();
        let attached = cloud.iam().list_attached_role_policies().role_name(role);
        let profiles = cloud.iam().list_instance_profiles_for_role().role_name(role);
        let (own, attached, profiles) = tokio::try_join!(
            own_policies(cloud, role),
            cloud.read(Class::Iam, "ListAttachedRolePolicies", || attached.clone().send()),
            cloud.read(Class::Iam, "ListInstanceProfilesForRole", || profiles.clone().send()),
        )?;
        let own = own.into_iter().map(|name| format!("policy {name} of the role"));
        let attached = attached.attached_policies().iter();
        let attached =
            attached.map(|policy| format!("attached policy {}", policy.policy_arn().unwrap_or_default()));
        let profiles = profiles.instance_profiles().iter();
        let profiles =
            profiles.map(|profile| format!("instance profile {}", profile.instance_profile_name()));
        Ok(Blockers { lasting: own.chain(attached).chain(profiles).collect(), passing: Vec::new() })
    }
}

/// One role by name; `None` when it does not exist.
pub(super) async fn read(cloud: &Cloud, name: &str) -> Result<Option<Found>, ProviderError> {
    let request = cloud.iam().get_role().role_name(name);
    let answer = if_any(cloud.read(Class::Iam, "GetRole", || request.clone().send()).await)?;
    let Some(role) = answer.as_ref().and_then(|answer| answer.role()) else { return Ok(None) };
    let tags = of_tags(role.tags());
    let boundary = role.permissions_boundary().and_then(|boundary| boundary.permissions_boundary_arn());
    let attributes = Value::map([
        ("id", Value::from(role.role_name())),
        ("arn", role.arn().into()),
        ("name", role.role_name().into()),
        ("path", role.path().into()),
        ("assume_role_policy", role.assume_role_policy_document().map(unescaped).into()),
        ("description", some(role.description())),
        ("max_session_duration", role.max_session_duration().map(i64::from).into()),
        ("permissions_boundary", boundary.into()),
        ("unique_id", role.role_id().into()),
        ("tags", visible(&tags)),
    ]);
    Ok(Some(Found::ready(name, attributes, &tags)))
}

async fn set_boundary(cloud: &Cloud, role: &str, boundary: Option<&str>) -> Result<(), ProviderError> {
    if let Some(arn) = boundary {
        let request = cloud.iam().put_role_permissions_boundary().role_name(role).permissions_boundary(arn);
        return cloud
            .write(Class::Iam, "PutRolePermissionsBoundary", || request.clone().send())
            .await
            .map(drop);
    }
    let request = cloud.iam().delete_role_permissions_boundary().role_name(role);
    let deleted = cloud.write(Class::Iam, "DeleteRolePermissionsBoundary", || request.clone().send()).await;
    if_any(deleted).map(drop)
}

async fn set_tags(cloud: &Cloud, role: &str, tags: &Tags) -> Result<(), ProviderError> {
    if tags.is_empty() {
        return Ok(());
    }
    let request = cloud.iam().tag_role().role_name(role).set_tags(Some(to_tags(tags)?));
    cloud.write(Class::Iam, "TagRole", || request.clone().send()).await.map(drop)
}
