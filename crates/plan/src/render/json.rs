//! The plan for tools: Terraform's plan JSON, with Slipway's own parts beside it.
//!
//! The form is that of <https://developer.hashicorp.com/terraform/internals/json-format>, format version 1.2.
//! It differs where Slipway promises more: a secret is null and marked in `before_sensitive` and
//! `after_sensitive`, never a text, and unchanged resources are only counted.

mod change;
mod own;
pub(super) mod values;

use std::io;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::group::{Counts, View};
use crate::change::ChangeAction;
use crate::file::Plan;

/// The plan as one JSON value.
#[must_use]
pub fn json(plan: &Plan) -> serde_json::Value {
    // Everything in it is JSON already or has texts for keys, so there is no failure to report.
    serde_json::to_value(Document::of(plan)).unwrap_or_default()
}

/// Writes the plan as JSON, one change after the other, without ever holding all of it.
///
/// # Errors
/// When it cannot be written.
pub fn json_to(plan: &Plan, writer: impl io::Write) -> io::Result<()> {
    serde_json::to_writer(writer, &Document::of(plan)).map_err(io::Error::from)
}

/// Terraform's form of the plan that is followed.
const FORMAT_VERSION: &str = "1.2";

/// A release of Terraform that writes this form: scanners take a file without this key for no plan.
const TERRAFORM_VERSION: &str = "1.11.4";

struct Document<'p> {
    plan: &'p Plan,
    counts: Counts,
}

impl<'p> Document<'p> {
    fn of(plan: &'p Plan) -> Self {
        Self { plan, counts: View::of(plan).counts }
    }
}

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let plan = self.plan;
        let decided = || plan.changes.iter().filter(|change| change.action != ChangeAction::Deferred);
        let deferred = || plan.changes.iter().filter(|change| change.action == ChangeAction::Deferred);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("format_version", FORMAT_VERSION)?;
        map.serialize_entry("terraform_version", TERRAFORM_VERSION)?;
        map.serialize_entry("planned_values", &change::PlannedValues(plan))?;
        map.serialize_entry("resource_changes", &Sequence(|| decided().flat_map(change::resource_changes)))?;
        if !plan.drift.is_empty() {
            map.serialize_entry(
                "resource_drift",
                &Sequence(|| plan.drift.iter().map(change::resource_change)),
            )?;
        }
        if plan.has_deferred() {
            map.serialize_entry("deferred_changes", &Sequence(|| deferred().map(change::deferred_change)))?;
        }
        map.serialize_entry("applyable", &(!plan.steps.is_empty() && plan.findings.is_empty()))?;
        map.serialize_entry("complete", &(!plan.has_deferred() && plan.left_out == 0))?;
        map.serialize_entry("errored", &false)?;
        own::serialize(&mut map, plan, &self.counts)?;
        map.end()
    }
}

/// A list that is written while it is made.
struct Sequence<F>(F);

impl<F, I> Serialize for Sequence<F>
where
    F: Fn() -> I,
    I: IntoIterator,
    I::Item: Serialize,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}
