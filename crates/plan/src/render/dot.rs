//! The steps' graph for Graphviz.

use super::clean::clean;
use super::graph::Drawing;
use super::line::Style;
use crate::file::Plan;

/// The graph of all steps in Graphviz' DOT language, without the edges that others imply.
#[must_use]
pub fn dot(plan: &Plan) -> String {
    let drawing = Drawing::of(plan);
    let mut out = String::from("digraph plan {\n");
    out.push_str(&format!("  label={};\n", quoted(&clean(&plan.cluster))));
    out.push_str("  rankdir=LR;\n");
    out.push_str("  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\", fontsize=11];\n");
    out.push_str("  edge [color=\"#8b949e\"];\n");
    for (position, node) in drawing.nodes.iter().enumerate() {
        let (fill, line) = colors(node.style);
        let remark =
            if node.remark.is_empty() { String::new() } else { format!("\\n{}", inside(&node.remark)) };
        out.push_str(&format!(
            "  s{position} [label=\"{}\\n{}{remark}\", fillcolor=\"{fill}\", color=\"{line}\"];\n",
            inside(&node.verb),
            inside(&node.subject),
        ));
    }
    for (position, before) in drawing.before.iter().enumerate() {
        for earlier in before {
            out.push_str(&format!("  s{earlier} -> s{position};\n"));
        }
    }
    out.push_str("}\n");
    out
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", inside(text))
}

/// The inside of a quoted text of DOT, where a backslash begins an escape of the label.
fn inside(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// Fill and border of a box whose text is dark.
pub(super) fn colors(style: Style) -> (&'static str, &'static str) {
    match style {
        Style::Added => ("#dafbe1", "#1a7f37"),
        Style::Removed | Style::Warning => ("#ffebe9", "#cf222e"),
        Style::Changed => ("#fff8c5", "#9a6700"),
        Style::Replaced => ("#fbefff", "#8250df"),
        Style::Rolled => ("#ddf4ff", "#0969da"),
        Style::Plain | Style::Strong | Style::Faint => ("#f6f8fa", "#6e7781"),
    }
}
