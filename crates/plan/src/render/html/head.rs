//! The head of the page: what the plan is, the verdict on it, and its numbers.

use super::super::clean::plural;
use super::super::group::View;
use super::super::text::{estimate, nothing_to_do};
use super::super::verdict::{kind, verdict};
use super::super::{line::Style, markup};
use super::entry;
use crate::file::{Mode, Plan};

/// The title of the document, as HTML.
pub(super) fn title(plan: &Plan) -> String {
    format!("{} for {}", kind(plan.mode), markup::text(&plan.cluster))
}

/// The head.
pub(super) fn head(view: &View<'_>, dangerous: usize) -> String {
    let plan = view.plan;
    let cluster = markup::text(&plan.cluster);
    let mut out =
        format!("<header class=\"head\">\n<p class=\"kind\">{}</p>\n<h1>{cluster}</h1>\n", kind(plan.mode),);
    if let Some(sentence) = nothing_to_do(view, &plan.cluster) {
        let is_clean = plan.drift.is_empty() && plan.ignored.is_empty() && view.counts.deferred == 0;
        let style = if is_clean { Style::Added } else { Style::Changed };
        push_verdict(&mut out, &[(style, sentence)]);
    } else {
        push_verdict(&mut out, &verdict(view, dangerous));
        let time = estimate(plan).map(|time| format!(" {time}")).unwrap_or_default();
        out.push_str(&format!("<p class=\"sum\">{}.{}</p>\n", view.counts, markup::text(&time)));
    }
    if let Some(prices) = plan.prices.as_ref().filter(|_| plan.mode != Mode::Drift) {
        out.push_str(&format!("<p class=\"sum\">{}</p>\n", markup::text(&prices.sentence())));
    }
    push_facts(&mut out, plan);
    out.push_str("</header>\n");
    out
}

fn push_verdict(out: &mut String, sentences: &[(Style, String)]) {
    out.push_str("<ul class=\"verdict\">\n");
    for (style, sentence) in sentences {
        out.push_str(&format!("<li class=\"{}\">{}</li>\n", style.name(), markup::text(sentence)));
    }
    out.push_str("</ul>\n");
}

/// What the plan was made from, and its digest.
fn push_facts(out: &mut String, plan: &Plan) {
    let mut facts = Vec::new();
    let providers: Vec<String> = plan
        .binding
        .providers
        .iter()
        .map(|(name, pin)| format!("{} {}", markup::text(name), markup::text(&pin.version)))
        .collect();
    if !providers.is_empty() {
        facts.push((if providers.len() > 1 { "Providers" } else { "Provider" }, providers.join(", ")));
    }
    let generation = plan.binding.generation.map(|generation| format!("generation {generation}"));
    facts.push(("State", generation.unwrap_or_else(|| "none".to_owned())));
    if !plan.steps.is_empty() {
        facts.push(("Graph", plural(plan.steps.len(), "step", "steps")));
    }
    if let Ok(digest) = plan.digest() {
        facts.push(("Digest", format!("<code>{}</code>", markup::text(digest.as_str()))));
    }
    out.push_str("<dl class=\"facts\">\n");
    for (name, value) in facts {
        out.push_str(&format!("<div><dt>{name}</dt><dd>{value}</dd></div>\n"));
    }
    out.push_str("</dl>\n");
}

/// How many resources each group has. The script makes filters of these numbers.
pub(super) fn tiles(view: &View<'_>, dangerous: usize) -> String {
    let mut out = String::new();
    let mut push = |name: &str, word: &str, count: usize| {
        out.push_str(&format!(
            "<li><button type=\"button\" class=\"tile {name}\" data-filter=\"{name}\" aria-pressed=\"false\" disabled>\
             <b>{count}</b> {word}</button></li>\n"
        ));
    };
    if dangerous > 0 {
        push("danger", "dangerous", dangerous);
    }
    let mut groups: Vec<_> = view.shown().collect();
    groups.reverse();
    for (group, changes) in groups {
        push(entry::name(group), &entry::verb(group).to_lowercase(), changes.len());
    }
    if !view.plan.drift.is_empty() {
        push("drift", "changed outside", view.plan.drift.len());
    }
    if out.is_empty() {
        out
    } else {
        format!("<ul class=\"tiles\" aria-label=\"Resources by change\">\n{out}</ul>\n")
    }
}
