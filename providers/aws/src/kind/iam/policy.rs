//! Policies of a role's own.

use async_trait::async_trait;
use slipway_aws_model::names;
use slipway_aws_model::normalise::document::compact;
use slipway_resource::{Address, Identity, ProviderError, Value};

use super::{Roles, own_policies, unescaped};
use crate::act::Act;
use crate::cloud::Cloud;
use crate::error::invalid;
use crate::kind::attribute::need;
use crate::kind::by_name::if_any;
use crate::kind::{Condition, Found, Kind};
use crate::look::Look;
use crate::rate::Class;

/// `aws_iam_role_policy`.
pub(in crate::kind) struct RolePolicy;

#[async_trait]
impl Kind for RolePolicy {
    fn name(&self) -> &'static str {
        "aws_iam_role_policy"
    }

    async fn list(&self, look: &Look) -> Result<Vec<Found>, ProviderError> {
        let roles = look.listing::<Roles>().await?;
        let mut all = Vec::new();
        for (role, parent) in &roles.0 {
            for name in own_policies(&look.cloud, role).await? {
                let found = self.read(&look.cloud, &identity(role, &name)).await?;
                let address = Address::new(self.name(), names::address(&name));
                let owner = parent.owner.as_ref().map(|owner| owner.at(address));
                all.extend(found.map(|found| Found { owner, ..found }));
            }
        }
        Ok(all)
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        let (role, name) = parts(id)?;
        let request = cloud.iam().get_role_policy().role_name(role).policy_name(name);
        let answer = if_any(cloud.read(Class::Iam, "GetRolePolicy", || request.clone().send()).await)?;
        Ok(answer.map(|answer| {
            let attributes = Value::map([
                ("id", Value::from(id.as_str())),
                ("role", role.into()),
                ("name", name.into()),
                ("policy", unescaped(answer.policy_document()).into()),
            ]);
            Found { identity: id.clone(), attributes, owner: None, condition: Condition::Ready }
        }))
    }

    async fn create(&self, act: &Act<'_>, desired: &Value) -> Result<Identity, ProviderError> {
        put(act.cloud, desired).await
    }

    async fn update(
        &self,
        act: &Act<'_>,
        _id: &Identity,
        _prior: &Value,
        desired: &Value,
    ) -> Result<(), ProviderError> {
        put(act.cloud, desired).await.map(drop)
    }

    async fn delete(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let (role, name) = parts(id)?;
        let request = act.cloud.iam().delete_role_policy().role_name(role).policy_name(name);
        act.cloud.write(Class::Iam, "DeleteRolePolicy", || request.clone().send()).await.map(drop)
    }

    /// Its role's owner is its own.
    async fn made(&self, act: &Act<'_>, desired: &Value) -> Result<Option<Identity>, ProviderError> {
        let id = identity(need(desired, "role")?, need(desired, "name")?);
        Ok(self.read(act.cloud, &id).await?.map(|_| id))
    }

    fn is_idempotent(&self) -> bool {
        true
    }
}

async fn put(cloud: &Cloud, desired: &Value) -> Result<Identity, ProviderError> {
    let (role, name) = (need(desired, "role")?, need(desired, "name")?);
    let request = cloud
        .iam()
        .put_role_policy()
        .role_name(role)
        .policy_name(name)
        .policy_document(compact(need(desired, "policy")?));
    cloud.write(Class::Iam, "PutRolePolicy", || request.clone().send()).await?;
    Ok(identity(role, name))
}

fn identity(role: &str, name: &str) -> Identity {
    Identity::new(format!("{role}:{name}"))
}

fn parts(id: &Identity) -> Result<(&str, &str), ProviderError> {
    id.as_str()
        .split_once(':')
        .ok_or_else(|| invalid(format!("{id} is not a role's name, a colon and a policy's name")))
}
