//! The picture written down.

use std::fmt::Write;

use super::super::clean::plural;
use super::super::dot::colors;
use super::super::graph::{Drawing, Node};
use super::super::group::Counts;
use super::super::line::Style;
use super::super::markup;
use super::super::text::estimate;
use super::layer::Layers;
use super::place::{HEIGHT, PADDING, Picture, texts};
use crate::file::Plan;

/// Boxes are light with dark text on any background. Text outside of boxes is grey, which is readable on
/// white and on black.
const STYLE: &str = "\
text{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;font-size:11px;fill:#24292f}\
.heading{font-family:system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;font-size:16px;font-weight:600;fill:#7d8590}\
.counts{font-family:system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;font-size:12px;fill:#7d8590}\
.verb{font-weight:700}.remark{fill:#57606a}\
.edge{fill:none;stroke:#8b949e;stroke-width:1.2}";

/// Writes the document.
pub(super) fn draw(
    plan: &Plan,
    drawing: &Drawing,
    layers: &Layers,
    picture: &Picture,
    summary: &[String],
) -> String {
    let (width, height) = picture.size;
    let mut out = String::new();
    // Writing into a String cannot fail.
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\n<title>Plan for {cluster}</title>\n\
         <style>{STYLE}</style>\n\
         <defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" \
         orient=\"auto\"><path d=\"M0 0.5 L8 4 L0 7.5 z\" fill=\"#8b949e\"/></marker></defs>\n\
         <text class=\"heading\" x=\"20\" y=\"28\">Plan for {cluster}</text>\n",
        cluster = markup::text(&plan.cluster),
    );
    for (line, text) in summary.iter().enumerate() {
        let y = 48 + 16 * line;
        let _ = writeln!(out, "<text class=\"counts\" x=\"20\" y=\"{y}\">{}</text>", markup::text(text));
    }
    graph(&mut out, drawing, layers, picture, &Look::Alone);
    out.push_str("</svg>\n");
    out
}

/// Writes the picture as an element of a page, named by a label.
pub(super) fn element(
    drawing: &Drawing,
    layers: &Layers,
    picture: &Picture,
    label: &str,
    link: &Link<'_>,
) -> String {
    let (width, height) = picture.size;
    let mut out = format!(
        "<svg class=\"graph\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         role=\"group\" aria-label=\"{}\">\n",
        markup::text(label),
    );
    graph(&mut out, drawing, layers, picture, &Look::Page(link));
    out.push_str("</svg>\n");
    out
}

/// The name of the element of the page that a node leads to.
pub(in super::super) type Link<'l> = dyn Fn(usize) -> Option<String> + 'l;

/// Where the colours of a picture come from.
enum Look<'l> {
    /// The picture stands alone and has its own colours.
    Alone,
    /// The style of a page colours it by classes, and boxes lead to other parts of the page.
    Page(&'l Link<'l>),
}

impl Look<'_> {
    /// The attributes of the group, the rectangle and the first text of a box.
    fn paint(&self, style: Style) -> [String; 3] {
        match self {
            Self::Alone => {
                let (fill, line) = colors(style);
                let rectangle = format!(" fill=\"{fill}\" stroke=\"{line}\"");
                [String::new(), rectangle, format!(" style=\"fill:{line}\"")]
            }
            Self::Page(_) => [format!(" class=\"box {}\"", style.name()), String::new(), String::new()],
        }
    }

    fn link(&self, node: usize) -> Option<String> {
        match self {
            Self::Alone => None,
            Self::Page(link) => link(node),
        }
    }
}

fn graph(out: &mut String, drawing: &Drawing, layers: &Layers, picture: &Picture, look: &Look<'_>) {
    edges(out, layers, picture);
    for (index, layer) in layers.layers.iter().enumerate() {
        let (Some(left), Some(width)) = (picture.left.get(index), picture.width.get(index)) else { continue };
        for item in layer {
            let number = layers.items.get(*item).and_then(|item| item.node);
            let node = number.and_then(|number| Some((number, drawing.nodes.get(number)?)));
            if let (Some((number, node)), Some(middle)) = (node, picture.middle.get(*item)) {
                let link = look.link(number);
                if let Some(link) = &link {
                    let _ = write!(out, "<a href=\"#{}\">", markup::text(link));
                }
                boxed(out, node, look, (*left, *middle, *width));
                out.push_str(if link.is_some() { "</a>\n" } else { "\n" });
            }
        }
    }
}

/// The lines below the heading.
pub(super) fn summary(plan: &Plan, drawing: &Drawing) -> Vec<String> {
    let mut lines = vec![format!("{}.", Counts::of(plan))];
    lines.extend(estimate(plan));
    if drawing.nodes.len() < plan.steps.len() {
        let steps = plural(plan.steps.len(), "step", "steps");
        lines.push(format!("{steps} gathered in {}.", plural(drawing.nodes.len(), "box", "boxes")));
    }
    lines
}

fn boxed(out: &mut String, node: &Node, look: &Look<'_>, (left, middle, width): (f64, f64, f64)) {
    let [group, rectangle, first] = look.paint(node.style);
    let [verb, remark, subject] = texts(node);
    let top = middle - HEIGHT / 2.0;
    let _ = write!(
        out,
        "<g{group}><title>{title}</title><rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" \
         height=\"{HEIGHT}\" rx=\"6\"{rectangle}/>\
         <text class=\"verb\" x=\"{x:.1}\" y=\"{line:.1}\"{first}>{verb}</text>",
        title = markup::text(&format!("{} {} {}", node.verb, node.subject, node.remark)),
        x = left + PADDING,
        line = top + 16.0,
        verb = markup::text(&verb),
    );
    if !remark.is_empty() {
        let _ = write!(
            out,
            "<text class=\"remark\" text-anchor=\"end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            left + width - PADDING,
            top + 16.0,
            markup::text(&remark),
        );
    }
    let _ = write!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\">{}</text></g>",
        left + PADDING,
        top + 31.0,
        markup::text(&subject),
    );
}

/// Curves between the layers; where an edge passes a layer, it runs straight through.
fn edges(out: &mut String, layers: &Layers, picture: &Picture) {
    for (index, layer) in layers.layers.iter().enumerate() {
        let (Some(left), Some(width)) = (picture.left.get(index), picture.width.get(index)) else { continue };
        let next = picture.left.get(index + 1).copied().unwrap_or(left + width);
        for item in layer {
            let (Some(found), Some(from)) = (layers.items.get(*item), picture.middle.get(*item)) else {
                continue;
            };
            let start = left + width;
            if found.node.is_none() {
                let _ = writeln!(out, "<path class=\"edge\" d=\"M{left:.1} {from:.1}H{start:.1}\"/>");
            }
            for later in &found.after {
                let Some(to) = picture.middle.get(*later) else { continue };
                let is_end = layers.items.get(*later).is_some_and(|later| later.node.is_some());
                let end = if is_end { next - 1.0 } else { next };
                let bend = (end - start) * 0.5;
                let tip = if is_end { " marker-end=\"url(#tip)\"" } else { "" };
                let _ = writeln!(
                    out,
                    "<path class=\"edge\"{tip} d=\"M{start:.1} {from:.1}C{:.1} {from:.1} {:.1} {to:.1} {end:.1} {to:.1}\"/>",
                    start + bend,
                    end - bend,
                );
            }
        }
    }
}
