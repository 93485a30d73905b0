//! Outages of a plan that changes the version: machines roll, and nothing else of the cluster stops. A replacement that interrupts the
//! cluster is therefore confirmed by name.

use slipway_plan::{Mode, Plan, ResourceChange};
use slipway_resource::provider::Disruption;
use slipway_spec::model::Cluster;

/// Why such a replacement is confirmed.
const REASON: &str = "a change of the version replaces it, and the cluster has an outage until that is done";

/// Whether the next spec has another version of Kubernetes than the last one.
pub(super) fn changes_version(last: Option<&Cluster>, next: &Cluster) -> bool {
    last.is_some_and(|last| last.kubernetes_version != next.kubernetes_version)
}

/// Has each replacement with an outage confirmed by name.
pub(super) fn name(plan: &mut Plan) {
    plan.changes.iter_mut().filter(|change| interrupts(change)).for_each(|change| change.confirm(REASON));
}

/// A replacement with an outage in a saved plan that changes the version and asks for no confirmation, as a sentence.
pub(crate) fn hidden(plan: &Plan, last: Option<&Cluster>, next: &Cluster) -> Option<String> {
    if plan.mode != Mode::Apply || !changes_version(last, next) {
        return None;
    }
    let is_hidden = |change: &&ResourceChange| interrupts(change) && change.confirmation.is_none();
    let address = &plan.changes.iter().find(is_hidden)?.address;
    Some(format!("{address} is replaced with an outage by an upgrade, and the plan asks for no confirmation"))
}

fn interrupts(change: &ResourceChange) -> bool {
    change.action.is_replace() && change.disruption == Disruption::Outage
}
