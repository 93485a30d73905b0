//! The attributes of a change: values, before and after, and differences of long texts.

use super::super::attribute::{Attribute, Body, Compared};
use super::super::markup;
use super::words::marked;

/// Differences with more lines than this get a frame of their own that scrolls.
const TALL: usize = 24;

/// Appends the attributes as a list of paths and values.
pub(super) fn push<'a>(out: &mut String, attributes: impl Iterator<Item = &'a Attribute>) {
    let mut attributes = attributes.peekable();
    if attributes.peek().is_none() {
        return;
    }
    out.push_str("<dl>\n");
    for attribute in attributes {
        let class = if matches!(attribute.body(), Body::Lines(..)) { " class=\"long\"" } else { "" };
        out.push_str(&format!("<dt{class}>{}</dt><dd{class}>", markup::text(attribute.path())));
        push_body(out, attribute.body());
        if attribute.forces() {
            out.push_str(" <strong class=\"forces\">forces replacement</strong>");
        }
        out.push_str("</dd>\n");
    }
    out.push_str("</dl>\n");
}

/// Appends one value on a line, or both and the arrow between them.
pub(super) fn push_body(out: &mut String, body: &Body) {
    match body {
        Body::Value(value) => markup::push_text(out, value),
        Body::Change(before, after) => {
            let (before, after) = marked(before, after);
            out.push_str(&format!("<del>{before}</del> → <ins>{after}</ins>"));
        }
        Body::Lines(lines, left_out) => push_lines(out, lines, left_out.as_deref()),
    }
}

fn push_lines(out: &mut String, lines: &[Compared], left_out: Option<&str>) {
    let tall = if lines.len() > TALL { " class=\"tall\" tabindex=\"0\"" } else { "" };
    out.push_str(&format!("<pre{tall}>"));
    let mut rest = lines;
    while let Some((first, others)) = rest.split_first() {
        let (removed, added) = run(rest);
        if removed > 0 && removed == added {
            push_pairs(out, rest, removed);
            rest = rest.get(removed * 2..).unwrap_or_default();
            continue;
        }
        match first {
            Compared::Place(text) => push_line(out, "i", "", &markup::text(text)),
            Compared::Same(text) => {
                out.push_str("  ");
                markup::push_text(out, text);
                out.push('\n');
            }
            Compared::Removed(text) => push_line(out, "del", "- ", &markup::text(text)),
            Compared::Added(text) => push_line(out, "ins", "+ ", &markup::text(text)),
        }
        rest = others;
    }
    if let Some(text) = left_out {
        push_line(out, "i", "", &markup::text(text));
    }
    out.push_str("</pre>");
}

/// How many removed lines the lines begin with, and how many added ones follow.
fn run(lines: &[Compared]) -> (usize, usize) {
    let removed = lines.iter().take_while(|line| matches!(line, Compared::Removed(_))).count();
    let added = lines.iter().skip(removed).take_while(|line| matches!(line, Compared::Added(_))).count();
    (removed, added)
}

/// As many removed lines as added ones: the first was changed into the first, and so on.
fn push_pairs(out: &mut String, lines: &[Compared], count: usize) {
    let text = |line: &Compared| match line {
        Compared::Place(text) | Compared::Same(text) | Compared::Removed(text) | Compared::Added(text) => {
            text.clone()
        }
    };
    let texts: Vec<String> = lines.iter().take(count * 2).map(text).collect();
    let (before, after) = texts.split_at(count);
    let pairs: Vec<(String, String)> =
        before.iter().zip(after).map(|(before, after)| marked(before, after)).collect();
    pairs.iter().for_each(|(before, _)| push_line(out, "del", "- ", before));
    pairs.iter().for_each(|(_, after)| push_line(out, "ins", "+ ", after));
}

fn push_line(out: &mut String, element: &str, mark: &str, text: &str) {
    out.push_str(&format!("<{element}>{mark}{text}</{element}>\n"));
}
