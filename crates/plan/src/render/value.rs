//! Values on one line, and as a text of many lines to compare.

use std::fmt::Write;

use slipway_resource::{Reference, TemplatePart, Value};

use super::clean::{clean, push_clean};

/// A value on one line for people: texts quoted, `(known after apply)`, `(secret)`, references as
/// `${type.name.attribute}`.
///
/// # Caveats
/// Only [`Value::Secret`] is hidden; a caller that knows sensitive paths hides those first.
#[must_use]
pub fn value(value: &Value) -> String {
    let mut out = String::new();
    push_value(&mut out, value);
    out
}

fn push_value(out: &mut String, value: &Value) {
    // Writing into a String cannot fail.
    match value {
        Value::Null => out.push_str("(none)"),
        Value::Bool(value) => {
            let _ = write!(out, "{value}");
        }
        Value::Integer(number) => {
            let _ = write!(out, "{number}");
        }
        Value::Float(number) => {
            let _ = write!(out, "{number}");
        }
        Value::String(text) => {
            out.push('"');
            push_text(out, text);
            out.push('"');
        }
        Value::List(items) => {
            out.push('[');
            for (position, item) in items.iter().enumerate() {
                if position > 0 {
                    out.push_str(", ");
                }
                push_value(out, item);
            }
            out.push(']');
        }
        Value::Map(entries) => {
            out.push('{');
            for (position, (name, value)) in entries.iter().enumerate() {
                if position > 0 {
                    out.push_str(", ");
                }
                out.push_str(&key(name));
                out.push_str(": ");
                push_value(out, value);
            }
            out.push('}');
        }
        Value::Unknown => out.push_str("(known after apply)"),
        Value::Reference(reference) => push_reference(out, reference),
        Value::Template(parts) => {
            out.push('"');
            for part in parts {
                match part {
                    TemplatePart::Text(text) => push_text(out, text),
                    TemplatePart::Reference(reference) => push_reference(out, reference),
                }
            }
            out.push('"');
        }
        Value::Secret(_) => out.push_str("(secret)"),
    }
}

fn push_reference(out: &mut String, reference: &Reference) {
    out.push_str(&clean(&reference.to_string()));
}

/// The inside of a quoted text: quotes and backslashes escaped, `${` as `$${` since it is no reference.
fn push_text(out: &mut String, text: &str) {
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '$' if rest.peek() == Some(&'{') => out.push_str("$$"),
            c => push_clean(out, c),
        }
    }
}

/// A key of a map as it is, or quoted when it is not a plain word.
pub(super) fn key(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    if !name.is_empty() && name.chars().all(plain) {
        return name.to_owned();
    }
    let mut out = String::from("\"");
    push_text(&mut out, name);
    out.push('"');
    out
}

/// Whether a value has a text of many lines in it, so that one line does not do.
pub(super) fn is_long_text(value: &Value) -> bool {
    match value {
        Value::String(text) => text.trim_end().contains('\n'),
        Value::Template(parts) => parts
            .iter()
            .any(|part| matches!(part, TemplatePart::Text(text) if text.trim_end().contains('\n'))),
        _ => false,
    }
}

/// The value in lines: long texts as they are, JSON in texts laid out, maps and lists one entry a line.
///
/// `escape` writes `${` in texts as `$${`, for comparison with a template.
pub(super) fn lines(value: &Value, escape: bool) -> Vec<String> {
    let mut out = Vec::new();
    match value {
        Value::String(text) => match laid_out_json(text) {
            Some(json) => nested(&mut out, &json, 0),
            None => text_lines(&mut out, &if escape { text.replace("${", "$${") } else { text.clone() }),
        },
        Value::Template(parts) => {
            let text: String = parts
                .iter()
                .map(|part| match part {
                    TemplatePart::Text(text) => text.replace("${", "$${"),
                    TemplatePart::Reference(reference) => reference.to_string(),
                })
                .collect();
            text_lines(&mut out, &text);
        }
        Value::Null => {}
        other => nested(&mut out, other, 0),
    }
    out
}

/// The value of a text that is a JSON object or array, as policies are.
fn laid_out_json(text: &str) -> Option<Value> {
    if !text.starts_with(['{', '[']) {
        return None;
    }
    let json = serde_json::from_str(text).ok()?;
    Some(Value::from_json(&json))
}

fn text_lines(out: &mut Vec<String>, text: &str) {
    // Tabs are kept readable, everything else that moves the cursor is escaped.
    out.extend(text.lines().map(|line| clean(&line.replace('\t', "    ")).into_owned()));
}

fn nested(out: &mut Vec<String>, value: &Value, depth: usize) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Map(entries) if !entries.is_empty() => {
            for (name, value) in entries {
                if is_nested(value) {
                    out.push(format!("{indent}{}:", key(name)));
                    nested(out, value, depth + 1);
                } else {
                    out.push(format!("{indent}{}: {}", key(name), self::value(value)));
                }
            }
        }
        Value::List(items) if !items.is_empty() => {
            for item in items {
                if is_nested(item) {
                    let start = out.len();
                    nested(out, item, depth + 1);
                    if let Some(first) = out.get_mut(start) {
                        *first = format!("{indent}- {}", first.trim_start());
                    }
                } else {
                    out.push(format!("{indent}- {}", self::value(item)));
                }
            }
        }
        scalar => out.push(format!("{indent}{}", self::value(scalar))),
    }
}

fn is_nested(value: &Value) -> bool {
    match value {
        Value::Map(entries) => !entries.is_empty(),
        Value::List(items) => !items.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use slipway_resource::{Address, Secret};

    use super::*;

    #[test]
    fn a_literal_never_looks_like_a_reference() {
        let reference = Value::reference(Address::new("sim_network", "main"), "id");
        assert_eq!(value(&reference), "${sim_network.main.id}");
        assert_eq!(value(&"${sim_network.main.id}".into()), "\"$${sim_network.main.id}\"");
        assert_eq!(value(&"say \"hi\"\u{1b}".into()), r#""say \"hi\"\u{1b}""#);
    }

    #[test]
    fn kinds_of_values_differ_to_the_eye() {
        let all = Value::List(vec![
            true.into(),
            "true".into(),
            Value::Unknown,
            Value::from(Secret::new("env:PASSWORD")),
            Value::map([("a b", 1.5)]),
        ]);
        assert_eq!(value(&all), r#"[true, "true", (known after apply), (secret), {"a b": 1.5}]"#);
    }

    #[test]
    fn nested_values_become_lines() {
        let policy = Value::from(r#"{"Statement":[{"Effect":"Allow","Action":["a","b"]}]}"#);
        assert_eq!(
            lines(&policy, false),
            ["Statement:", "  - Action:", "      - \"a\"", "      - \"b\"", "    Effect: \"Allow\""]
        );
    }
}
