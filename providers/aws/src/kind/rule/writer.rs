//! Writes of rules, gathered: rules of one group and direction that are requested together are sent in one
//! call.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use aws_sdk_ec2::types::{IpPermission, SecurityGroupRule as Sdk, TagSpecification};
use slipway_resource::{ErrorClass, Ownership, ProviderError};
use tokio::sync::oneshot;

use super::permission::{Direction, Permission, Rule};
use super::{OfGroups, find};
use crate::cloud::Cloud;
use crate::error::error;
use crate::kind::create_tags;
use crate::owner::{ADDRESS, Owner, Tags, of_ec2, specification};
use crate::rate::Class;

/// How long writes are gathered.
const GATHER: Duration = Duration::from_millis(80);

/// Gathers writes.
#[derive(Default)]
pub(super) struct Writer {
    waiting: Mutex<BTreeMap<Batch, Vec<Entry>>>,
}

/// The rules that can be sent in one call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Batch {
    group: String,
    direction: Direction,
    /// The tags of new rules; none to revoke.
    tags: Option<Tags>,
}

struct Entry {
    permission: Permission,
    description: Option<String>,
    done: oneshot::Sender<Result<Whose, ProviderError>>,
}

/// The owner of an allowed rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// The cluster.
    Ours,
    /// Another owner, whose rule existed in its own group before.
    Others,
}

/// The tags of a rule: without an address, since all rules of a call have the same tags.
pub(super) fn marks(ownership: &Ownership) -> Tags {
    let mut tags = crate::owner::marks(ownership, None);
    tags.remove(ADDRESS);
    tags
}

impl Writer {
    /// Allows the traffic of a rule. In a group that is not ours, an existing equal rule is enough.
    pub async fn authorize(
        &self,
        cloud: &Cloud,
        ownership: &Ownership,
        rule: &Rule,
        description: Option<&str>,
    ) -> Result<Whose, ProviderError> {
        self.write(cloud, rule, description, Some(marks(ownership))).await
    }

    /// Revokes a rule; a rule that does not exist is a success.
    pub async fn revoke(&self, cloud: &Cloud, rule: &Rule) -> Result<(), ProviderError> {
        self.write(cloud, rule, None, None).await.map(drop)
    }

    async fn write(
        &self,
        cloud: &Cloud,
        rule: &Rule,
        description: Option<&str>,
        tags: Option<Tags>,
    ) -> Result<Whose, ProviderError> {
        let batch = Batch { group: rule.group.clone(), direction: rule.direction, tags };
        let mut answers = Vec::new();
        let mut is_first = false;
        {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let entries = waiting.entry(batch.clone()).or_default();
            for permission in &rule.permissions {
                is_first |= entries.is_empty();
                let (done, answer) = oneshot::channel();
                let description = description.map(str::to_owned);
                entries.push(Entry { permission: permission.clone(), description, done });
                answers.push(answer);
            }
        }
        if is_first {
            let cloud = cloud.clone();
            // The task ends with its calls, which have a time limit, and answers all waiting rules.
            tokio::spawn(async move {
                tokio::time::sleep(GATHER).await;
                let entries = cloud.shared::<Self>().take(&batch);
                answer(&cloud, &batch, entries).await;
            });
        }
        let mut whose = Whose::Ours;
        for answer in answers {
            let lost = || error(ErrorClass::OutcomeUnknown, "the call for a rule was given up");
            if answer.await.unwrap_or_else(|_| Err(lost()))? == Whose::Others {
                whose = Whose::Others;
            }
        }
        Ok(whose)
    }

    fn take(&self, batch: &Batch) -> Vec<Entry> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.remove(batch).unwrap_or_default()
    }
}

async fn answer(cloud: &Cloud, batch: &Batch, entries: Vec<Entry>) {
    let permissions: Vec<Described> =
        entries.iter().map(|entry| (entry.permission.clone(), entry.description.clone())).collect();
    let results = write_all(cloud, batch, &permissions).await;
    for (entry, result) in entries.into_iter().zip(results) {
        // The requester may be gone.
        let _ = entry.done.send(result);
    }
}

/// A permission with its description.
type Described = (Permission, Option<String>);

/// Sends one call for all rules. If AWS refuses the call because of some rules, those that are done are left
/// out. Rules that are still refused are sent one by one.
async fn write_all(
    cloud: &Cloud,
    batch: &Batch,
    permissions: &[Described],
) -> Vec<Result<Whose, ProviderError>> {
    let failure = match send(cloud, batch, permissions).await {
        Ok(()) => return permissions.iter().map(|_| Ok(Whose::Ours)).collect(),
        Err(failure) => failure,
    };
    let partial = matches!(failure.class, ErrorClass::Conflict | ErrorClass::NotFound);
    if !partial && (permissions.len() == 1 || failure.class != ErrorClass::Invalid) {
        return permissions.iter().map(|_| Err(failure.clone())).collect();
    }
    let rules = match cloud.get::<OfGroups>(&batch.group).await {
        Ok(rules) => rules,
        Err(error) => return permissions.iter().map(|_| Err(error.clone())).collect(),
    };
    let rules: &[Sdk] = rules.as_ref().map_or(&[], |rules| rules);
    let found = |permission: &Described| find(rules, batch.direction, &permission.0);
    let is_due = |permission: &Described| found(permission).is_some() != batch.tags.is_some();
    let due: Vec<Described> = permissions.iter().filter(|permission| is_due(permission)).cloned().collect();
    let together = if due.len() < permissions.len() { send(cloud, batch, &due).await } else { Err(failure) };
    let mut results = Vec::with_capacity(permissions.len());
    for permission in permissions {
        results.push(match (&batch.tags, found(permission)) {
            (Some(tags), Some(found)) => take_over(cloud, batch, tags, found).await,
            (None, None) => Ok(Whose::Ours),
            _ if together.is_ok() => Ok(Whose::Ours),
            _ => send(cloud, batch, std::slice::from_ref(permission)).await.map(|()| Whose::Ours),
        });
    }
    results
}

/// An existing rule is ours by its tags. In our own group, it becomes ours; in any other group, it stays
/// unchanged and is used.
async fn take_over(cloud: &Cloud, batch: &Batch, tags: &Tags, found: &Sdk) -> Result<Whose, ProviderError> {
    let wanted = Owner::of(tags).map(|owner| owner.uid);
    if Owner::of(&of_ec2(found.tags())).map(|owner| owner.uid) == wanted {
        return Ok(Whose::Ours);
    }
    let group = cloud.get::<crate::kind::family::SecurityGroups>(&batch.group).await?;
    let of_group = group.and_then(|group| Owner::of(&of_ec2(group.tags()))).map(|owner| owner.uid);
    let id = found.security_group_rule_id().unwrap_or_default();
    if of_group != wanted {
        return Ok(Whose::Others);
    }
    create_tags(cloud, id, tags).await.map(|()| Whose::Ours)
}

async fn send(cloud: &Cloud, batch: &Batch, permissions: &[Described]) -> Result<(), ProviderError> {
    if permissions.is_empty() {
        return Ok(());
    }
    let permissions: Vec<IpPermission> = permissions
        .iter()
        .map(|(permission, description)| permission.to_ec2(description.as_deref()))
        .collect();
    match &batch.tags {
        Some(tags) => authorize(cloud, batch, permissions, specification("security-group-rule", tags)).await,
        None => revoke(cloud, batch, permissions).await,
    }
}

async fn authorize(
    cloud: &Cloud,
    batch: &Batch,
    permissions: Vec<IpPermission>,
    tags: TagSpecification,
) -> Result<(), ProviderError> {
    let client = cloud.ec2();
    match batch.direction {
        Direction::Ingress => {
            let request = client
                .authorize_security_group_ingress()
                .group_id(&batch.group)
                .set_ip_permissions(Some(permissions))
                .tag_specifications(tags);
            let name = "AuthorizeSecurityGroupIngress";
            cloud.write(Class::Ec2Write, name, || request.clone().send()).await.map(drop)
        }
        Direction::Egress => {
            let request = client
                .authorize_security_group_egress()
                .group_id(&batch.group)
                .set_ip_permissions(Some(permissions))
                .tag_specifications(tags);
            let name = "AuthorizeSecurityGroupEgress";
            cloud.write(Class::Ec2Write, name, || request.clone().send()).await.map(drop)
        }
    }
}

async fn revoke(cloud: &Cloud, batch: &Batch, permissions: Vec<IpPermission>) -> Result<(), ProviderError> {
    let client = cloud.ec2();
    match batch.direction {
        Direction::Ingress => {
            let request = client
                .revoke_security_group_ingress()
                .group_id(&batch.group)
                .set_ip_permissions(Some(permissions));
            let name = "RevokeSecurityGroupIngress";
            cloud.write(Class::Ec2Write, name, || request.clone().send()).await.map(drop)
        }
        Direction::Egress => {
            let request = client
                .revoke_security_group_egress()
                .group_id(&batch.group)
                .set_ip_permissions(Some(permissions));
            let name = "RevokeSecurityGroupEgress";
            cloud.write(Class::Ec2Write, name, || request.clone().send()).await.map(drop)
        }
    }
}
