//! Lines that are shared with the text, as paragraphs.

use super::super::line::{Line, Style};
use super::super::{markup, section};
use super::section::Section;

/// A section of important lines in a box; `None` without lines.
pub(super) fn callout(id: &'static str, section: &section::Section) -> Option<Section> {
    Some(Section { is_urgent: true, ..listing(id, section)? })
}

/// A section of lines; `None` without lines.
pub(super) fn listing(id: &'static str, section: &section::Section) -> Option<Section> {
    if section.lines.is_empty() {
        return None;
    }
    let mut body = String::from("<div class=\"lines\">\n");
    push(&mut body, &section.lines, 0);
    body.push_str("</div>\n");
    Some(Section {
        id,
        title: section.title.to_owned(),
        count: (section.count > 1).then_some(section.count),
        is_urgent: false,
        body,
    })
}

/// Appends lines as paragraphs; those behind more than `indent` columns belong to the one before.
pub(super) fn push(out: &mut String, lines: &[Line], indent: usize) {
    for line in lines {
        out.push_str(if line.indent() > indent { "<p class=\"below\">" } else { "<p>" });
        for (style, text) in line.spans() {
            push_span(out, *style, text);
        }
        out.push_str("</p>\n");
    }
}

fn push_span(out: &mut String, style: Style, text: &str) {
    if style == Style::Plain {
        return markup::push_text(out, text);
    }
    out.push_str(&format!("<span class=\"{}\">", style.name()));
    markup::push_text(out, text);
    out.push_str("</span>");
}
