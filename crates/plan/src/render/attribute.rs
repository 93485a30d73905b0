//! The attribute lines of a change: `path: before → after`, and diffs of long texts.

mod compare;

use std::collections::HashSet;

use slipway_resource::diff::Change;
use slipway_resource::{Path, Value};

use super::clean::{clean, columns, plural, shorten};
use super::decoded::decoded;
use super::line::{Line, Mark, Style};
use super::screen::Screen;
use super::text::TextOptions;
use super::value::{is_long_text, lines, value};
use compare::{compare, digest};

pub(super) use compare::Compared;

/// The longest path that other lines are aligned with.
const ALIGNED: usize = 32;

/// Values of more columns together than this are compared line by line, however wide the terminal is.
const WIDEST: usize = 160;

/// Maximum number of lines of one diff without `--verbose`.
const DIFF_LINES: usize = 60;

/// One attribute as it is shown; two that look the same are equal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Attribute {
    path: String,
    body: Body,
    forces: bool,
}

/// The value of an attribute, or its difference.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Body {
    /// A value that is set.
    Value(String),
    /// Both values on one line.
    Change(String, String),
    /// A diff, and the remark on its lines that are left out, if any are.
    Lines(Vec<Compared>, Option<String>),
}

impl Attribute {
    /// Its path.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Its value or difference.
    pub(super) fn body(&self) -> &Body {
        &self.body
    }

    /// Whether it forces the replacement of the resource.
    pub(super) fn forces(&self) -> bool {
        self.forces
    }

    /// Removes the mark of a forced replacement, for a change that is only reported.
    pub(super) fn report(&mut self) {
        self.forces = false;
    }

    /// The attribute of several resources at once: the value where all have the same, else the first, the last
    /// and how many there are.
    pub(super) fn common(same: &[&Self]) -> Option<Self> {
        let (first, last) = (*same.first()?, *same.last()?);
        let different: HashSet<&Body> = same.iter().map(|attribute| &attribute.body).collect();
        let body = match (&first.body, &last.body) {
            _ if different.len() == 1 => first.body.clone(),
            (Body::Value(first), Body::Value(last)) => {
                Body::Value(format!("{first} … {last} ({} different)", different.len()))
            }
            _ => Body::Value(format!("({} different values)", different.len())),
        };
        Some(Self { path: first.path.clone(), body, forces: first.forces })
    }
}

/// The changed attributes, in the order given.
pub(super) fn changed(changes: &[Change], sensitive: &[Path], options: &TextOptions) -> Vec<Attribute> {
    changes
        .iter()
        .map(|change| {
            let own = [change.path.clone()];
            let screen = Screen::new(if change.sensitive { &own } else { sensitive }, &change.path);
            let before = screen.veil(&change.before);
            let after = screen.veil(&change.after);
            let path = clean(&change.path.to_string()).into_owned();
            let room = options.width.min(WIDEST).saturating_sub(columns(&path).max(12) + 10);
            Attribute {
                body: difference(&decoded(&before), &decoded(&after), room, options.verbose),
                forces: change.replaces,
                path,
            }
        })
        .collect()
}

fn difference(before: &Value, after: &Value, room: usize, verbose: bool) -> Body {
    let long = is_long_text(before) || is_long_text(after);
    let comparable = |value: &Value| {
        !matches!(value, Value::Unknown | Value::Reference(_) | Value::Secret(_) | Value::Bool(_))
    };
    if !long || !comparable(before) || !comparable(after) {
        let (before, after) = (summary(before, long), summary(after, long));
        if long || columns(&before) + columns(&after) + 3 <= room {
            return Body::Change(before, after);
        }
    }
    let escape = matches!(before, Value::Template(_)) || matches!(after, Value::Template(_));
    let whole = |value: &Value| match lines(value, escape) {
        // A text that fits on one line nevertheless is shown with its quotes.
        short if short.len() == 1 => vec![self::value(value)],
        long => long,
    };
    limited(compare(&whole(before), &whole(after)), verbose)
}

fn summary(value: &Value, long: bool) -> String {
    if long && is_long_text(value) { text_summary(value) } else { self::value(value) }
}

fn text_summary(value: &Value) -> String {
    let lines = lines(value, false);
    format!("(text of {}, {})", plural(lines.len(), "line", "lines"), digest(&lines))
}

fn limited(mut compared: Vec<Compared>, verbose: bool) -> Body {
    let limit = if verbose { usize::MAX } else { DIFF_LINES };
    let rest = compared.split_off(limit.min(compared.len()));
    let rest: Vec<String> = rest.iter().map(Compared::text).collect();
    let left_out = || {
        let count = plural(rest.len(), "more line", "more lines");
        format!("… {count} of this diff, {}", digest(&rest))
    };
    Body::Lines(compared, (!rest.is_empty()).then(left_out))
}

/// The attributes of a new or a deleted object, leaf by leaf; nulls left out.
pub(super) fn leaves(object: &Value, sensitive: &[Path], options: &TextOptions) -> Vec<Attribute> {
    let screen = Screen::new(sensitive, &Path::root());
    let mut attributes = Vec::new();
    if !object.is_null() {
        leaf(&mut attributes, &Path::root(), &screen.veil(object), options);
    }
    attributes
}

fn leaf(out: &mut Vec<Attribute>, path: &Path, value: &Value, options: &TextOptions) {
    match value {
        Value::Map(entries) if !entries.is_empty() => {
            for (key, value) in entries.iter().filter(|(_, value)| !value.is_null()) {
                leaf(out, &path.child(key.as_str()), value, options);
            }
        }
        Value::List(items) if items.iter().any(|item| matches!(item, Value::Map(_) | Value::List(_))) => {
            for (index, item) in items.iter().enumerate() {
                leaf(out, &path.index(index), item, options);
            }
        }
        _ => {
            let path = clean(&path.to_string()).into_owned();
            let value = &*decoded(value);
            let body = if !is_long_text(value) {
                let text = self::value(value);
                let room = options.width.saturating_sub(columns(&path).max(12) + 8).max(24);
                if options.verbose || !options.fits {
                    Body::Value(text)
                } else {
                    Body::Value(shorten(&text, room).into_owned())
                }
            } else if options.verbose {
                limited(compare(&[], &lines(value, false)), true)
            } else {
                Body::Value(text_summary(value))
            };
            out.push(Attribute { path, body, forces: false });
        }
    }
}

/// The attributes as lines, their values aligned.
pub(super) fn layout(attributes: &[Attribute], indent: usize) -> Vec<Line> {
    let width = attributes
        .iter()
        .filter(|attribute| !matches!(attribute.body, Body::Lines(..)))
        .map(|attribute| columns(&attribute.path) + 1)
        .filter(|width| *width <= ALIGNED)
        .max()
        .unwrap_or(0);
    let mut out = Vec::new();
    for attribute in attributes {
        let label = format!("{}:", attribute.path);
        let line = Line::at(indent);
        let mut line = match &attribute.body {
            Body::Value(value) => line.text(format!("{label:width$} ")).text(value.as_str()),
            Body::Change(before, after) => line
                .text(format!("{label:width$} "))
                .with(Style::Removed, before.as_str())
                .with(Style::Faint, " → ")
                .with(Style::Added, after.as_str()),
            Body::Lines(..) => line.text(label),
        };
        if attribute.forces {
            line = line.with(Style::Replaced, "  forces replacement").marked(Mark::Attention);
        }
        out.push(line);
        if let Body::Lines(compared, left_out) = &attribute.body {
            out.extend(compared.iter().map(|line| line.line(indent + 2)));
            if let Some(text) = left_out {
                out.push(Line::at(indent + 2).with(Style::Faint, text.as_str()));
            }
        }
    }
    out
}

/// The attribute lines of some changes, as the text of a plan has them; for messages that show a difference.
///
/// `sensitive` are the paths whose values are never shown, beside those that the changes name themselves.
#[must_use]
pub fn change_lines(changes: &[Change], sensitive: &[Path], options: &TextOptions) -> String {
    let mut out = String::new();
    for line in layout(&changed(changes, sensitive, options), 0) {
        line.write(&mut out, options.color);
    }
    out
}
