//! Managed policies on roles.

use std::collections::BTreeMap;

use async_trait::async_trait;
use slipway_aws_model::names;
use slipway_resource::{Address, Identity, ProviderError, Value};

use super::Roles;
use crate::act::Act;
use crate::batch::Family;
use crate::cloud::Cloud;
use crate::error::invalid;
use crate::kind::attribute::need;
use crate::kind::by_name::if_any;
use crate::kind::{Condition, Found, Kind};
use crate::look::Look;
use crate::rate::Class;

/// `aws_iam_role_policy_attachment`.
pub(in crate::kind) struct RolePolicyAttachment;

/// The ARNs of the policies on a role, by its name.
struct Attached;

#[async_trait]
impl Family for Attached {
    type Item = Vec<String>;
    const LIMIT: usize = 1;

    async fn fetch(cloud: &Cloud, keys: &[String]) -> Result<BTreeMap<String, Vec<String>>, ProviderError> {
        let mut found = BTreeMap::new();
        for role in keys {
            if let Some(policies) = if_any(attached(cloud, role).await)? {
                found.insert(role.clone(), policies);
            }
        }
        Ok(found)
    }
}

async fn attached(cloud: &Cloud, role: &str) -> Result<Vec<String>, ProviderError> {
    let request = cloud.iam().list_attached_role_policies().role_name(role);
    let send = |marker| request.clone().set_marker(marker).send();
    let action = "ListAttachedRolePolicies";
    let pages =
        cloud.pages(Class::Iam, action, send, |page| page.marker().filter(|_| page.is_truncated())).await?;
    let policies = pages.iter().flat_map(|page| page.attached_policies());
    Ok(policies.filter_map(|policy| policy.policy_arn()).map(str::to_owned).collect())
}

#[async_trait]
impl Kind for RolePolicyAttachment {
    fn name(&self) -> &'static str {
        "aws_iam_role_policy_attachment"
    }

    async fn list(&self, look: &Look) -> Result<Vec<Found>, ProviderError> {
        let roles = look.listing::<Roles>().await?;
        let mut all = Vec::new();
        for (role, parent) in &roles.0 {
            for policy in attached(&look.cloud, role).await? {
                let tail = policy.rsplit(':').next().unwrap_or(&policy);
                let address = Address::new(self.name(), names::address(&format!("{role}-{tail}")));
                let owner = parent.owner.as_ref().map(|owner| owner.at(address));
                all.push(Found { owner, ..found(role, &policy) });
            }
        }
        Ok(all)
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        let (role, policy) = parts(id)?;
        let policies = cloud.get::<Attached>(role).await?;
        let there = policies.is_some_and(|policies| policies.iter().any(|arn| arn == policy));
        Ok(there.then(|| found(role, policy)))
    }

    async fn create(&self, act: &Act<'_>, desired: &Value) -> Result<Identity, ProviderError> {
        let (role, policy) = (need(desired, "role")?, need(desired, "policy_arn")?);
        let request = act.cloud.iam().attach_role_policy().role_name(role).policy_arn(policy);
        act.cloud.write(Class::Iam, "AttachRolePolicy", || request.clone().send()).await?;
        Ok(identity(role, policy))
    }

    async fn delete(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let (role, policy) = parts(id)?;
        let request = act.cloud.iam().detach_role_policy().role_name(role).policy_arn(policy);
        act.cloud.write(Class::Iam, "DetachRolePolicy", || request.clone().send()).await.map(drop)
    }

    async fn made(&self, act: &Act<'_>, desired: &Value) -> Result<Option<Identity>, ProviderError> {
        let id = identity(need(desired, "role")?, need(desired, "policy_arn")?);
        Ok(self.read(act.cloud, &id).await?.map(|_| id))
    }

    fn is_idempotent(&self) -> bool {
        true
    }
}

fn found(role: &str, policy: &str) -> Found {
    let identity = identity(role, policy);
    let attributes = Value::map([("id", identity.as_str()), ("role", role), ("policy_arn", policy)]);
    Found { identity, attributes, owner: None, condition: Condition::Ready }
}

fn identity(role: &str, policy: &str) -> Identity {
    Identity::new(format!("{role}/{policy}"))
}

fn parts(id: &Identity) -> Result<(&str, &str), ProviderError> {
    id.as_str()
        .split_once('/')
        .ok_or_else(|| invalid(format!("{id} is not a role's name, a slash and a policy's ARN")))
}
