use serde_json::Value as Json;

use super::suggest;
use crate::{
    diagnostic::{Diagnostic, closest, code},
    shape::{Kind, Shape},
    value::Format,
    yaml::{Node, Style, Value},
};

/// The JSON of a single value. `excerpt` gives the value as it is written.
pub(super) fn check(
    shape: &Shape,
    node: &Node,
    excerpt: &dyn Fn() -> String,
    name: &str,
    default: Option<&Json>,
) -> Result<Json, Box<Diagnostic>> {
    match (&shape.kind, &node.value) {
        (Kind::Boolean, Value::Bool(value)) => Ok((*value).into()),
        (Kind::Integer { min, max }, Value::Number(number)) => {
            integer(number, *min, *max, excerpt, name, default).map(Json::from)
        }
        (Kind::Amount, Value::Number(number)) => {
            integer(number, Some(0), Some(i64::from(u32::MAX)), excerpt, name, default).map(Json::from)
        }
        (Kind::Amount, Value::Text(text)) => form(Format::Amount, text, name),
        (Kind::Text(None), Value::Text(text)) => Ok(text.as_str().into()),
        (Kind::Text(Some(format)), Value::Text(text)) => form(*format, text, name),
        // A version or an address that looks like a number gets its own words, not "a number".
        (Kind::Text(Some(format)), Value::Number(_)) => {
            form(*format, &excerpt(), name).and(Err(Box::new(wrong_type(shape, node, &excerpt(), name))))
        }
        (Kind::Enum(words), Value::Text(text)) => {
            if words.iter().any(|word| word.value == *text) {
                return Ok(text.as_str().into());
            }
            let all: Vec<&str> = words.iter().map(|word| word.value.as_str()).collect();
            let hint = match closest(text, all.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`? Allowed are {}", suggest::list(&all)),
                None => format!("allowed are {}", suggest::list(&all)),
            };
            let message = format!("`{name}` cannot be `{text}`");
            Err(Box::new(Diagnostic::error(code::UNKNOWN_VALUE, message).hint(hint)))
        }
        (Kind::Constant(constant), Value::Text(text)) if text == constant => Ok(text.as_str().into()),
        (Kind::Constant(constant), Value::Text(text)) => {
            let message = format!("`{name}` cannot be `{text}`");
            let hint = format!("write `{constant}`");
            Err(Box::new(Diagnostic::error(code::UNKNOWN_VALUE, message).hint(hint)))
        }
        _ => Err(Box::new(wrong_type(shape, node, &excerpt(), name))),
    }
}

fn form(format: Format, text: &str, name: &str) -> Result<Json, Box<Diagnostic>> {
    match format.check(text) {
        Ok(()) => Ok(text.into()),
        Err(malformed) => {
            let message = format!("`{name}` is {}, and `{text}` {malformed}", format.noun());
            Err(Box::new(Diagnostic::error(code::BAD_FORMAT, message).hint(malformed.hint)))
        }
    }
}

fn integer(
    number: &serde_json::Number,
    min: Option<i64>,
    max: Option<i64>,
    excerpt: &dyn Fn() -> String,
    name: &str,
    default: Option<&Json>,
) -> Result<i64, Box<Diagnostic>> {
    let Some(value) = number.as_i64() else {
        let message = format!("`{name}` is a whole number, not {}", excerpt());
        let hint = "write digits only, without a decimal point";
        return Err(Box::new(Diagnostic::error(code::WRONG_TYPE, message).hint(hint)));
    };
    let max = max.unwrap_or(i64::from(u32::MAX));
    let min = min.unwrap_or(i64::MIN);
    if (min..=max).contains(&value) {
        return Ok(value);
    }
    let usual = default.map(|default| format!("; the default is {default}")).unwrap_or_default();
    let bounds = if max == i64::from(u32::MAX) {
        format!("write a number of at least {min}{usual}")
    } else {
        format!("write a number of {min} to {max}{usual}")
    };
    let message = format!("`{name}` cannot be {value}");
    Err(Box::new(Diagnostic::error(code::OUT_OF_RANGE, message).hint(bounds)))
}

/// The complaint about a value of the wrong type, with the way out that fits how it was written.
pub(super) fn wrong_type(shape: &Shape, node: &Node, excerpt: &str, name: &str) -> Diagnostic {
    let written = match &node.value {
        Value::Text(text) if text.chars().count() <= 40 && !text.contains('\n') => {
            format!("the text `{text}`")
        }
        Value::Bool(_) | Value::Number(_) => format!("{} ({excerpt})", node.noun()),
        _ => node.noun().to_owned(),
    };
    let diagnostic =
        Diagnostic::error(code::WRONG_TYPE, format!("`{name}` is {}, not {written}", shape.noun()));
    let hint = match (&shape.kind, &node.value) {
        (Kind::Boolean, Value::Text(text)) => boolean_hint(text, node.style),
        (Kind::Boolean, _) => Some("write `true` or `false`".to_owned()),
        (Kind::Integer { .. }, Value::Text(text)) => number_hint(text, node.style),
        (Kind::Integer { .. } | Kind::Amount, _) => Some(format!("write a number, as in `{name}: 3`")),
        (Kind::Text(_) | Kind::Enum(_) | Kind::Constant(_), Value::Number(_) | Value::Bool(_)) => {
            Some(format!("put it in quotes to make it a text: `\"{excerpt}\"`"))
        }
        (Kind::Text(_) | Kind::Enum(_) | Kind::Constant(_), Value::Sequence(items)) if items.len() == 1 => {
            Some("write the one item without the hyphen or the brackets".to_owned())
        }
        (Kind::Text(_) | Kind::Enum(_) | Kind::Constant(_), _) => {
            let example = suggest::example(name, shape);
            Some(match example.split_once("]: ") {
                Some((_, item)) => format!("write one text, as in `- {item}`"),
                None => format!("write one text, as in `{example}`"),
            })
        }
        (Kind::List(item), _) if matches!(item.kind, Kind::Object(_)) => {
            let Kind::Object(fields) = &item.kind else { return diagnostic };
            let required: Vec<String> = fields
                .iter()
                .filter(|(_, field)| field.required)
                .map(|(name, field)| suggest::example(name, &field.shape))
                .collect();
            Some(format!("write a list, each item after a hyphen, as in `- {{ {} }}`", required.join(", ")))
        }
        (Kind::List(_), Value::Text(text)) if text.starts_with('-') => {
            Some("write a space between the hyphen and the item, as in `- item`".to_owned())
        }
        (Kind::List(_), Value::Text(_) | Value::Number(_) | Value::Bool(_)) => {
            Some(format!("write a list: `{name}: [{excerpt}]`"))
        }
        (Kind::List(_), _) => Some("write a list, each item after a hyphen".to_owned()),
        (Kind::Map(_), _) => Some(format!("write keys with values below `{name}`, as in `key: value`")),
        (Kind::Object(fields), Value::Text(_) | Value::Bool(_) | Value::Number(_))
            if suggest::only(fields, node).is_some() =>
        {
            let only = suggest::only(fields, node).unwrap_or_default();
            Some(if name.ends_with(']') {
                format!("write `- {{ {only}: {excerpt} }}`")
            } else {
                format!("write `{name}: {{ {only}: {excerpt} }}`")
            })
        }
        (Kind::Object(fields), Value::Bool(wanted)) if !fields.values().any(|field| field.required) => {
            Some(if *wanted {
                format!("write `{name}: {{}}` to take its defaults")
            } else {
                format!("leave `{name}` out")
            })
        }
        (Kind::Object(fields), _) => {
            let names: Vec<&str> = fields.keys().map(String::as_str).collect();
            Some(format!("write fields below `{name}`: {}", suggest::list(&names)))
        }
        _ => None,
    };
    diagnostic.maybe_hint(hint)
}

fn boolean_hint(text: &str, style: Style) -> Option<String> {
    let value = match text.to_ascii_lowercase().as_str() {
        "yes" | "y" | "on" | "true" | "enabled" | "1" => "true",
        "no" | "n" | "off" | "false" | "disabled" | "0" => "false",
        _ => return Some("write `true` or `false`".to_owned()),
    };
    if style == Style::Plain {
        Some(format!("write `{value}`: `{text}` is a text in YAML 1.2"))
    } else {
        Some(format!("write `{value}` without quotes"))
    }
}

fn number_hint(text: &str, style: Style) -> Option<String> {
    if style != Style::Plain && text.parse::<i64>().is_ok() {
        return Some(format!("write `{text}` without quotes"));
    }
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    if digits.is_empty() {
        Some("write a number in digits".to_owned())
    } else {
        Some(format!("write only the number: `{digits}`"))
    }
}
