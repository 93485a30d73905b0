//! What would stop a run before its first change: permissions, quotas, machines that a zone lacks, images that do not
//! exist. Only what is certain is reported, since a finding stops the run; what cannot be asked is no finding.

mod calls;
mod dry_run;
mod machine;
mod permission;
mod quota;

use slipway_resource::provider::{PreflightFinding, PreflightItem};
use slipway_resource::{Address, ErrorClass, Value};

use crate::cloud::Cloud;

/// Everything that would stop these changes.
pub(crate) async fn check(cloud: &Cloud, items: &[PreflightItem]) -> Vec<PreflightFinding> {
    if items.is_empty() {
        return Vec::new();
    }
    let (machines, images, permissions, quotas) = tokio::join!(
        machine::types(cloud, items),
        machine::images(cloud, items),
        permission::missing(cloud, items),
        quota::exceeded(cloud, items),
    );
    [machine::pools(cloud, items), machines, images, permissions, quotas].into_iter().flatten().collect()
}

/// The changes of one type that make or change an object.
fn wanted<'a>(items: &'a [PreflightItem], kind: &'a str) -> impl Iterator<Item = &'a PreflightItem> {
    items.iter().filter(move |item| item.address.kind() == kind && item.action != "delete")
}

/// Whether something is made anew.
fn makes(item: &PreflightItem) -> bool {
    matches!(item.action.as_str(), "create" | "replace")
}

/// How many objects of a type are made anew.
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
