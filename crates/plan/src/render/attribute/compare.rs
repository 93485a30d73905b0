//! Unified diffs of texts.

use similar::{ChangeTag, TextDiff};
use slipway_resource::Digest;

use super::super::clean::plural;
use super::super::line::{Line, Mark, Style};

/// Texts with more lines than this together are only counted: comparing them could take quadratic time.
const COMPARABLE: usize = 6_000;

/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;

/// Number of hexadecimal digits that are shown of the digest of a text.
const DIGITS: usize = 16;

/// One line of a diff.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in super::super) enum Compared {
    /// The position of the next lines, or a remark.
    Place(String),
    /// On both sides.
    Same(String),
    /// Only before.
    Removed(String),
    /// Only after.
    Added(String),
}

/// The first digits of the SHA-256 of lines that are not shown: two plans with other lines never look the same.
pub(super) fn digest(lines: &[String]) -> String {
    let digest = Digest::of_bytes(lines.join("\n").as_bytes());
    format!("sha256:{}", digest.hex().get(..DIGITS).unwrap_or_default())
}

impl Compared {
    /// The line as plain text.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Place(text) => text.clone(),
            Self::Same(text) => format!("  {text}"),
            Self::Removed(text) => format!("- {text}"),
            Self::Added(text) => format!("+ {text}"),
        }
    }

    /// The line as it is shown.
    pub(super) fn line(&self, indent: usize) -> Line {
        let line = Line::at(indent);
        match self {
            Self::Place(text) => line.with(Style::Faint, text.as_str()).marked(Mark::Remark),
            Self::Same(text) => line.text("  ").text(text.as_str()),
            Self::Removed(text) => line.with(Style::Removed, format!("- {text}")).marked(Mark::Removed),
            Self::Added(text) => line.with(Style::Added, format!("+ {text}")).marked(Mark::Added),
        }
    }
}

/// The unified diff of two texts.
pub(super) fn compare(before: &[String], after: &[String]) -> Vec<Compared> {
    if before.is_empty() {
        return after.iter().cloned().map(Compared::Added).collect();
    }
    if before.len() + after.len() > COMPARABLE {
        return vec![Compared::Place(format!(
            "({} before, {} after with {}: too long to compare here)",
            plural(before.len(), "line", "lines"),
            plural(after.len(), "line", "lines"),
            digest(after),
        ))];
    }
    if before == after {
        return vec![Compared::Place("(only spacing differs)".to_owned())];
    }
    let before: Vec<&str> = before.iter().map(String::as_str).collect();
    let after: Vec<&str> = after.iter().map(String::as_str).collect();
    let diff = TextDiff::from_slices(&before, &after);
    let mut out = Vec::new();
    let groups = diff.grouped_ops(CONTEXT);
    let is_part = |covered: usize| covered < before.len().max(after.len());
    for group in &groups {
        let covered: usize = group.iter().map(|op| op.old_range().len().max(op.new_range().len())).sum();
        if groups.len() > 1 || is_part(covered) {
            out.push(Compared::Place(place(group)));
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let text = change.value().to_owned();
            out.push(match change.tag() {
                ChangeTag::Equal => Compared::Same(text),
                ChangeTag::Delete => Compared::Removed(text),
                ChangeTag::Insert => Compared::Added(text),
            });
        }
    }
    out
}

fn place(group: &[similar::DiffOp]) -> String {
    similar::udiff::UnifiedHunkHeader::new(group).to_string()
}
