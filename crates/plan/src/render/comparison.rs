//! The differences between two states of a cluster, in the form of a plan.

use serde_json::{Value as Json, json};

use super::clean::clean;
use super::group::{Counts, View};
use super::json;
use super::line::{Line, Style};
use super::text::{TextOptions, changes_of};
use crate::compare::Comparison;

/// The comparison as text. `title` names the two states, as `generation 3 to generation 5`.
#[must_use]
pub fn comparison(comparison: &Comparison, title: &str, options: &TextOptions) -> String {
    let view = View::of(&comparison.plan);
    let mut out = String::new();
    for (group, changes) in view.shown() {
        let section = changes_of(group, changes, &view, options);
        let count = if section.count > 1 { format!(" ({})", section.count) } else { String::new() };
        Line::at(0).with(Style::Strong, format!("{}{count}", section.title)).write(&mut out, options.color);
        for line in &section.lines {
            line.clone().indented(2).write(&mut out, options.color);
        }
        out.push('\n');
    }
    if !comparison.spec.is_empty() {
        Line::at(0).with(Style::Strong, "Spec").write(&mut out, options.color);
        for change in &comparison.spec {
            let text = format!("{}: {} → {}", change.field, change.before, change.after);
            let line = Line::at(2).with(Style::Changed, "~ ").text(clean(&text));
            line.write(&mut out, options.color);
        }
        out.push('\n');
    }
    let counts = if comparison.is_empty() { "nothing differs".to_owned() } else { done(&view.counts) };
    out.push_str(&format!("{}, {}: {counts}.\n", clean(&comparison.plan.cluster), clean(title)));
    out
}

/// The number of resources by what was done to them between the two states.
fn done(counts: &Counts) -> String {
    let all = [
        (counts.create, "created"),
        (counts.update, "updated"),
        (counts.replace, "replaced"),
        (counts.delete, "deleted"),
    ];
    let mut parts: Vec<String> = all.iter().map(|(count, what)| format!("{count} {what}")).collect();
    if counts.record > 0 {
        parts.push(format!("{} recorded", counts.record));
    }
    format!("{}; {} unchanged", parts.join(", "), counts.unchanged)
}

/// The comparison for tools: `resource_changes` in the form of a plan's JSON, `spec_changes` beside them.
#[must_use]
pub fn comparison_json(comparison: &Comparison) -> Json {
    let mut plan = json(&comparison.plan);
    let changes = plan.get_mut("resource_changes").map(Json::take).unwrap_or_default();
    json!({
        "cluster": comparison.plan.cluster,
        "resource_changes": changes,
        "spec_changes": comparison.spec,
        "unchanged": comparison.plan.unchanged,
    })
}
