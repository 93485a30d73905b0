//! Separates the changes that are pending on the base branch from those of a pull request.

use slipway_plan::render::code;
use slipway_plan::{Plan, ResourceChange};

/// Addresses in the list.
const LISTED: usize = 50;

/// A section in two lengths.
#[derive(Clone, Debug, Default)]
pub(super) struct Section {
    /// With a list.
    pub(super) full: String,
    /// The sentence alone.
    pub(super) short: String,
}

/// Which changes of a plan are also in the plan of the base branch.
pub(super) fn section(plan: &Plan, before: Option<&Plan>, branch: &str) -> Section {
    if plan.changes.is_empty() {
        return Section::default();
    }
    let branch = code(branch);
    let Some(before) = before else {
        return only(format!("\nThe specs of {branch} do not have this cluster, or cannot be planned.\n"));
    };
    let is_pending = |change: &&ResourceChange| {
        let there = before.changes.binary_search_by(|other| other.address.cmp(&change.address));
        there.ok().and_then(|index| before.changes.get(index)).is_some_and(|other| is_same(change, other))
    };
    let pending: Vec<&ResourceChange> = plan.changes.iter().filter(is_pending).collect();
    let (count, all) = (pending.len(), plan.changes.len());
    if count == 0 {
        return Section::default();
    }
    if count == all {
        return only(format!(
            "\n**Not by this pull request:** all of these changes are pending on {branch} without it.\n"
        ));
    }
    let short =
        format!("\nOf these {all} changes, {count} are pending on {branch} without this pull request.\n");
    let mut lines: Vec<String> = pending
        .iter()
        .take(LISTED)
        .map(|change| format!("- {}", code(&change.address.to_string())))
        .collect();
    if count > LISTED {
        lines.push(format!("- … and {} more", count - LISTED));
    }
    let full = format!(
        "{short}\n<details>\n<summary>Pending without this pull request ({count})</summary>\n\n{}\n\n</details>\n",
        lines.join("\n")
    );
    Section { full, short }
}

fn only(short: String) -> Section {
    Section { full: short.clone(), short }
}

/// Whether both do the same. Reasons name lines of files, which move when something is inserted above.
fn is_same(one: &ResourceChange, other: &ResourceChange) -> bool {
    one.action == other.action
        && one.previous_address == other.previous_address
        && one.before == other.before
        && one.after == other.after
        && one.changes == other.changes
        && one.machines == other.machines
}
