//! Problems that would stop a run, found before its first change: taken names, permissions, quotas, machines
//! that a zone lacks, images that do not exist, load balancers that would block the deletion of a network. Only
//! certain problems are reported, since a finding stops the run. A failed read is no finding; the engine repeats throttled reads.

mod calls;
mod dry_run;
mod machine;
mod permission;
mod quota;
mod services;
mod taken;

use slipway_resource::provider::{PreflightFinding, PreflightItem};
use slipway_resource::{Address, ErrorClass, ProviderError, Value};

use crate::cloud::Cloud;

/// Everything that would stop these changes.
///
/// # Errors
/// `throttled`, when a question was refused for its pace.
pub(crate) async fn check(
    cloud: &Cloud,
    items: &[PreflightItem],
) -> Result<Vec<PreflightFinding>, ProviderError> {
    if items.is_empty() {
        return Ok(Vec::new());
    }
    // Before the permissions, because the permissions of its reads are checked then.
    let (names, services) = tokio::try_join!(taken::names(cloud, items), services::balanced(cloud, items))?;
    let (machines, images, permissions, quotas) = tokio::join!(
        machine::types(cloud, items),
        machine::images(cloud, items),
        permission::missing(cloud, items),
        quota::exceeded(cloud, items),
    );
    let found = [names, services, machines?, images?, permissions?, quotas?];
    Ok(found.into_iter().flatten().collect())
}

/// A question without an answer: one that was refused for its pace has to be asked again.
fn unanswered(what: &str, error: ProviderError) -> Result<(), ProviderError> {
    if matches!(error.class, ErrorClass::Throttled { .. }) {
        return Err(error);
    }
    tracing::debug!(%error, "{what} cannot be asked for");
    Ok(())
}

/// The changes of one type that make or change an object.
fn wanted<'a>(items: &'a [PreflightItem], kind: &'a str) -> impl Iterator<Item = &'a PreflightItem> {
    items.iter().filter(move |item| item.address.kind() == kind && item.action != "delete")
}

/// Whether a new object is created.
fn makes(item: &PreflightItem) -> bool {
    matches!(item.action.as_str(), "create" | "replace")
}

/// How many new objects of a type are created.
fn made(items: &[PreflightItem], kind: &str) -> u64 {
    items.iter().filter(|item| item.address.kind() == kind && item.action == "create").count() as u64
}

fn finding(address: Option<&Address>, class: ErrorClass, message: String, hint: &str) -> PreflightFinding {
    PreflightFinding { address: address.cloned(), class, message, hint: Some(hint.to_owned()) }
}

/// The address that an attribute refers to.
fn referred(value: Option<&Value>) -> Option<&Address> {
    match value {
        Some(Value::Reference(reference)) => Some(&reference.address),
        _ => None,
    }
}
