//! The graph of steps: an overview whose boxes unfold into their steps, level by level.

use std::collections::BTreeMap;

use super::super::clean::plural;
use super::super::duration::duration;
use super::super::graph::{Drawing, chosen, edges, gathered, gathered_of, inner, levels};
use super::super::{markup, svg};
use super::section::Section;
use crate::file::Plan;
use crate::step::Step;
use crate::titles::Titles;

/// How many boxes the overview has at most before steps are gathered by machine, by resource, or by type.
const BOXES: usize = 48;

/// How many boxes a chain of the overview has at most before they are.
const CHAIN: usize = 10;

/// How many boxes the picture of one box of the overview has at most; with more, its steps are only listed.
const INNER: usize = 40;

/// Lists with at most this many steps are unfolded when their box is.
const SHORT: usize = 30;

/// The steps of a plan, with what is known of all of them.
struct Steps<'p> {
    all: Vec<&'p Step>,
    before: Vec<Vec<usize>>,
    levels: Vec<usize>,
    titles: Titles<'p>,
}

/// The section of the graph; `None` in a plan without steps.
pub(super) fn section(plan: &Plan) -> Option<Section> {
    if plan.steps.is_empty() {
        return None;
    }
    let before = edges(&plan.steps);
    let steps =
        Steps { all: plan.steps.iter().collect(), levels: levels(&before), before, titles: Titles::of(plan) };
    let drawing = gathered(plan, BOXES, CHAIN);
    let mut body = String::new();
    push_about(&mut body, &steps, &drawing);
    let link = |node: usize| {
        let is_folded = drawing.members.get(node).is_some_and(|members| members.len() > 1);
        is_folded.then(|| format!("step-{node}"))
    };
    push_picture(&mut body, &svg::element(&drawing, "Graph of steps", &link));
    let mut single = Vec::new();
    for (number, members) in drawing.members.iter().enumerate() {
        match members.as_slice() {
            [step] => single.push(*step),
            members => push_box(&mut body, number, members, &drawing, &steps),
        }
    }
    if !single.is_empty() {
        let title =
            if single.len() == steps.all.len() { "All steps, by level" } else { "Single steps, by level" };
        let count = single.len();
        body.push_str(&format!(
            "<details class=\"box-steps\"><summary>{title} <span class=\"count\">{count}</span></summary>\n"
        ));
        push_levels(&mut body, &single, &steps);
        body.push_str("</details>\n");
    }
    Some(Section {
        id: "graph",
        title: "Graph of steps".to_owned(),
        count: Some(steps.all.len()),
        is_urgent: false,
        body,
    })
}

fn push_about(out: &mut String, steps: &Steps<'_>, drawing: &Drawing) {
    let depth = steps.levels.iter().max().map_or(0, |level| level + 1);
    let mut text = format!(
        "{} on {}. A step waits for steps of the levels before its own.",
        plural(steps.all.len(), "step", "steps"),
        plural(depth, "level", "levels"),
    );
    if drawing.nodes.len() < steps.all.len() {
        let boxes = plural(drawing.nodes.len(), "box", "boxes");
        text.push_str(&format!(" They are gathered in {boxes}; a box with several steps unfolds below."));
    }
    out.push_str(&format!("<p>{text}</p>\n"));
}

/// A picture in a frame that scrolls, also by keyboard.
fn push_picture(out: &mut String, picture: &str) {
    out.push_str(
        "<div class=\"picture\" tabindex=\"0\" role=\"region\" aria-label=\"Picture of the graph\">\n",
    );
    out.push_str(picture);
    out.push_str("</div>\n");
}

/// One box of the overview, folded: the picture of its own graph where that is small, and its steps by level.
fn push_box(out: &mut String, number: usize, members: &[usize], drawing: &Drawing, steps: &Steps<'_>) {
    let Some(node) = drawing.nodes.get(number) else { return };
    out.push_str(&format!(
        "<details class=\"box-steps\"><summary><span class=\"{}\">{}</span> <span class=\"name\">{}</span> \
         <span class=\"count\">{}</span></summary>\n<div id=\"step-{number}\" class=\"inside\">\n",
        node.style.name(),
        markup::text(&node.verb),
        markup::text(&node.subject),
        markup::text(&plural(members.len(), "step", "steps")),
    ));
    let own =
        gathered_of(&chosen(&steps.all, members), inner(&steps.before, members), INNER, CHAIN, &steps.titles);
    let has_edges = own.before.iter().any(|before| !before.is_empty());
    if has_edges && own.nodes.len() <= INNER {
        push_picture(out, &svg::element(&own, &format!("Graph of {}", node.subject), &|_| None));
    }
    push_levels(out, members, steps);
    out.push_str("</div>\n</details>\n");
}

/// Steps as lists, one for each level of the whole graph.
fn push_levels(out: &mut String, members: &[usize], steps: &Steps<'_>) {
    let mut by_level: BTreeMap<usize, Vec<&Step>> = BTreeMap::new();
    for member in members {
        if let (Some(step), Some(level)) = (steps.all.get(*member), steps.levels.get(*member)) {
            by_level.entry(*level).or_default().push(step);
        }
    }
    let open = if members.len() <= SHORT { " open" } else { "" };
    for (level, own) in by_level {
        out.push_str(&format!(
            "<details class=\"level\"{open}><summary>Level {} <span class=\"count\">{}</span></summary>\n<ul>\n",
            level + 1,
            own.len()
        ));
        for step in own {
            out.push_str(&format!("<li>{}", markup::text(&steps.titles.title(step))));
            if step.estimate_ms > 0 {
                out.push_str(&format!(" <span class=\"took\">{}</span>", duration(step.estimate_ms)));
            }
            out.push_str("</li>\n");
        }
        out.push_str("</ul>\n</details>\n");
    }
}
