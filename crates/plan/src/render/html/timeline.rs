//! The rolls on a time axis: a row for each machine, a bar for each of its gates.

use std::collections::BTreeSet;

use super::super::clean::plural;
use super::super::duration::duration;
use super::super::group::View;
use super::super::markup;
use super::super::roll::Turns;
use super::section::Section;
use crate::change::ResourceChange;
use crate::estimate::schedule;
use crate::step::Step;

/// Rows of one roll that are always visible; the first machines show how all of them are rolled.
const ROWS: usize = 12;

/// The names of gates with a colour of their own. All others share one.
const GATES: [&str; 7] = ["surge", "verify", "cordon", "drain", "uncordon", "remove", "update"];

/// The machines of one change, or the nodes whose changes take turns.
struct Lane<'p> {
    title: String,
    first: Vec<String>,
    rows: Vec<(String, Vec<&'p Step>)>,
}

/// The expected times of all steps, and the part of them in which machines are rolled.
struct Axis {
    times: Vec<(u64, u64)>,
    begin: u64,
    end: u64,
}

/// The section of rolls; `None` in a plan without one.
pub(super) fn section(view: &View<'_>) -> Option<Section> {
    let lanes = lanes(view);
    if lanes.is_empty() {
        return None;
    }
    let axis = Axis::of(view, &lanes);
    let mut body = String::new();
    push_legend(&mut body, &lanes);
    push_scale(&mut body, &axis);
    for lane in &lanes {
        push_lane(&mut body, lane, &axis);
    }
    let machines: usize = lanes.iter().map(|lane| lane.rows.len()).sum();
    Some(Section {
        id: "turns",
        title: "Roll, in turns".to_owned(),
        count: (machines > 1).then_some(machines),
        is_urgent: false,
        body,
    })
}

fn lanes<'p>(view: &View<'p>) -> Vec<Lane<'p>> {
    let mut lanes = Vec::new();
    let mut nodes = Lane { title: "Nodes, changed in turn".to_owned(), first: Vec::new(), rows: Vec::new() };
    for change in view.shown().flat_map(|(_, changes)| changes.iter().copied()) {
        if let Some(node) = &change.drained {
            let steps = view.steps(&change.address).to_vec();
            nodes.rows.push((format!("{} ({})", node.address.name(), change.address), steps));
        } else if let Some(lane) = lane(change, view) {
            lanes.push(lane);
        }
    }
    nodes.rows.sort_by_key(|(_, steps)| steps.first().map(|step| step.id));
    lanes.extend(Some(nodes).filter(|lane| !lane.rows.is_empty()));
    lanes
}

fn lane<'p>(change: &ResourceChange, view: &View<'p>) -> Option<Lane<'p>> {
    if change.machines.is_empty() {
        return None;
    }
    let Turns { first, machines } = Turns::of(change, view);
    let title = change.address.to_string();
    (!machines.is_empty()).then_some(Lane { title, first, rows: machines })
}

impl Axis {
    fn of(view: &View<'_>, lanes: &[Lane<'_>]) -> Self {
        let mut axis =
            Self { times: schedule(&view.plan.steps, &view.plan.rate_classes), begin: u64::MAX, end: 0 };
        for step in lanes.iter().flat_map(|lane| &lane.rows).flat_map(|(_, steps)| steps) {
            let (begin, end) = axis.time(step);
            axis.begin = axis.begin.min(begin);
            axis.end = axis.end.max(end);
        }
        axis.begin = axis.begin.min(axis.end);
        axis
    }

    fn time(&self, step: &Step) -> (u64, u64) {
        self.times.get(step.id.index()).copied().unwrap_or_default()
    }

    fn length(&self) -> u64 {
        self.end - self.begin
    }

    /// A part of the axis in per cent, as SVG has it.
    fn share(&self, part: u64) -> String {
        let hundredths = u128::from(part) * 10_000 / u128::from(self.length().max(1));
        format!("{}.{:02}%", hundredths / 100, hundredths % 100)
    }
}

fn push_legend(out: &mut String, lanes: &[Lane<'_>]) {
    let all = lanes.iter().flat_map(|lane| &lane.rows).flat_map(|(_, steps)| steps);
    let used: BTreeSet<(usize, &str)> = all
        .map(|step| step.action.verb())
        .map(|verb| (GATES.iter().position(|gate| *gate == verb).unwrap_or(GATES.len()), verb))
        .collect();
    out.push_str("<ul class=\"legend\">\n");
    for (_, verb) in used {
        let class = class(verb);
        out.push_str(&format!(
            "<li><svg width=\"12\" height=\"12\" aria-hidden=\"true\"><rect class=\"gate {class}\" width=\"12\" \
             height=\"12\" rx=\"2\"/></svg> {}</li>\n",
            markup::text(verb)
        ));
    }
    out.push_str("</ul>\n");
}

/// The times at the ends and at the quarters of the axis, counted from the start of the plan.
fn push_scale(out: &mut String, axis: &Axis) {
    if axis.length() == 0 {
        return;
    }
    out.push_str("<p class=\"scale\" aria-hidden=\"true\">");
    for quarter in 0..=4 {
        let at = axis.begin + axis.length() * quarter / 4;
        out.push_str(&format!("<span>{}</span>", duration(at)));
    }
    out.push_str("</p>\n");
}

fn push_lane(out: &mut String, lane: &Lane<'_>, axis: &Axis) {
    let turns = plural(lane.rows.len(), "turn", "turns");
    out.push_str(&format!(
        "<details class=\"lane\" open><summary><span class=\"name\">{}</span> <span class=\"count\">{turns}</span></summary>\n",
        markup::text(&lane.title)
    ));
    for title in &lane.first {
        out.push_str(&format!("<p class=\"first\">first {}</p>\n", markup::text(title)));
    }
    let (shown, folded) = lane.rows.split_at(ROWS.min(lane.rows.len()));
    push_rows(out, shown, 1, axis);
    if !folded.is_empty() {
        out.push_str(&format!("<details class=\"rest\"><summary>{} more</summary>\n", folded.len()));
        push_rows(out, folded, ROWS + 1, axis);
        out.push_str("</details>\n");
    }
    out.push_str("</details>\n");
}

fn push_rows(out: &mut String, rows: &[(String, Vec<&Step>)], start: usize, axis: &Axis) {
    out.push_str(&format!("<ol class=\"rows\" start=\"{start}\">\n"));
    for (subject, steps) in rows {
        let work: u64 = steps.iter().map(|step| step.estimate_ms).fold(0, u64::saturating_add);
        let gates: Vec<&str> = steps.iter().map(|step| step.action.verb()).collect();
        let gates = markup::text(&gates.join(", "));
        out.push_str(&format!(
            "<li><span class=\"who\">{}</span> <svg class=\"track\" width=\"100%\" height=\"16\" role=\"img\" \
             aria-label=\"{gates}\">",
            markup::text(subject)
        ));
        steps.iter().for_each(|step| push_bar(out, step, axis));
        out.push_str(&format!("</svg> <span class=\"took\">{}</span></li>\n", duration(work)));
    }
    out.push_str("</ol>\n");
}

fn push_bar(out: &mut String, step: &Step, axis: &Axis) {
    let (begin, end) = axis.time(step);
    let verb = step.action.verb();
    out.push_str(&format!(
        "<rect class=\"gate {}\" x=\"{}\" width=\"{}\" height=\"16\"><title>{}: {}, from {}</title></rect>",
        class(verb),
        axis.share(begin.saturating_sub(axis.begin)),
        axis.share(end.saturating_sub(begin)),
        markup::text(verb),
        duration(step.estimate_ms),
        duration(begin),
    ));
}

/// The class of a gate: only known names become a part of the page's structure.
fn class(verb: &str) -> &'static str {
    GATES.iter().find(|gate| **gate == verb).copied().unwrap_or("other")
}
