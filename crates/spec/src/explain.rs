//! Explains a field of a document: its description, its type, its default, and the fields inside.

use std::fmt::Write as _;

use crate::{
    diagnostic::closest,
    shape::{Field, Kind, Shape},
    v1alpha1::{ClusterDocument, EnvironmentDocument, HostDocument, NodePoolDocument},
};

/// A path that leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The path begins with no kind of document.
    #[error("there is no kind `{name}`; {hint}")]
    UnknownKind {
        /// The requested name.
        name: String,
        /// The way out.
        hint: String,
    },
    /// A field on the path does not exist.
    #[error("`{parent}` has no field `{name}`; {hint}")]
    UnknownField {
        /// The part of the path that exists.
        parent: String,
        /// The requested name.
        name: String,
        /// The way out.
        hint: String,
    },
}

/// Explains a path such as `cluster.spec.network` or `nodepool.spec.size.bounds`: type, description, default,
/// allowed words, and the fields inside with a line each. List items and free keys need no step; `[]`, `[NAME]` and
/// `.*` are accepted. The first step is a kind in any case; after it `spec` may be left out. A path of a pool or a host is accepted
/// as plans print it, such as `pools[workers].size`.
///
/// # Errors
/// The path does not exist; the message names the probable one.
pub fn explain(path: &str) -> Result<String, Error> {
    let path = without_names(path.trim());
    let mut steps = path.split('.').filter(|step| !step.is_empty() && *step != "*");
    let name = steps.next().unwrap_or_default();
    let (kind, shape) = document(name)?;
    let mut walked = kind.to_lowercase();
    let mut field = Field { description: shape.description.clone(), shape, required: true, default: None };
    for (index, step) in steps.enumerate() {
        let inside = contents(&field.shape);
        let found = inside.fields().and_then(|fields| fields.get(step)).cloned();
        let in_spec = || {
            let spec = inside.fields()?.get("spec").filter(|_| index == 0)?;
            spec.shape.fields()?.get(step).cloned()
        };
        field = match found.or_else(|| in_spec().inspect(|_| walked.push_str(".spec"))) {
            Some(next) => next,
            None => return Err(unknown_field(&walked, step, inside, index == 0)),
        };
        let _ = write!(walked, ".{step}");
    }
    Ok(text(&walked, &field))
}

/// A path without the names of items in brackets. The pools and hosts of a cluster are documents of their own.
fn without_names(path: &str) -> String {
    let items = |list: &str| path.strip_prefix(list).filter(|rest| rest.starts_with('['));
    let mut rest = path;
    let mut plain = String::new();
    for (list, kind) in [("pools", "nodepool"), ("hosts", "host")] {
        if let Some(item) = items(list) {
            plain.push_str(kind);
            rest = item;
        }
    }
    while let Some((before, item)) = rest.split_once('[')
        && let Some((_, after)) = item.split_once(']')
    {
        plain.push_str(before);
        rest = after;
    }
    plain.push_str(rest);
    plain
}

fn document(name: &str) -> Result<(&'static str, Shape), Error> {
    match name.to_lowercase().as_str() {
        "cluster" | "clusters" => Ok(("Cluster", Shape::of::<ClusterDocument>())),
        "environment" | "environments" => Ok(("Environment", Shape::of::<EnvironmentDocument>())),
        "host" | "hosts" => Ok(("Host", Shape::of::<HostDocument>())),
        "nodepool" | "nodepools" | "pool" => Ok(("NodePool", Shape::of::<NodePoolDocument>())),
        _ => {
            let hint = match closest(name, ["cluster", "environment", "host", "nodepool"]) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None if name == "spec" => {
                    "a path starts with a kind, as in `cluster.spec.network`".to_owned()
                }
                None => "the kinds are `cluster`, `environment`, `host` and `nodepool`".to_owned(),
            };
            Err(Error::UnknownKind { name: name.to_owned(), hint })
        }
    }
}

/// The shape of what is inside: the items of a list, the values of a map.
fn contents(shape: &Shape) -> &Shape {
    match &shape.kind {
        Kind::List(item) | Kind::Map(item) => contents(item),
        _ => shape,
    }
}

fn unknown_field(walked: &str, step: &str, inside: &Shape, at_top: bool) -> Error {
    let names = |shape: &Shape| -> Vec<String> {
        shape.fields().map(|fields| fields.keys().cloned().collect()).unwrap_or_default()
    };
    let mut known = names(inside);
    if at_top && let Some(spec) = inside.fields().and_then(|fields| fields.get("spec")) {
        known.extend(names(&spec.shape));
    }
    let hint = match closest(step, known.iter().map(String::as_str)) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if known.is_empty() => "it holds no fields".to_owned(),
        None => format!("its fields are {}", known.join(", ")),
    };
    Error::UnknownField { parent: walked.to_owned(), name: step.to_owned(), hint }
}

fn text(path: &str, field: &Field) -> String {
    let mut text =
        format!("{path}: {}{}\n", type_name(&field.shape), if field.required { ", required" } else { "" });
    let mut paragraph = |words: &str| {
        text.push('\n');
        text.push_str(&wrap(words, "  "));
    };
    paragraph(&field.description);
    let inside = contents(&field.shape);
    // One sentence on the type says what the field has said already, except on what a list or a map has.
    let says_more = !std::ptr::eq(inside, &field.shape)
        || field.description.is_empty()
        || inside.description.contains(". ");
    if says_more && !inside.description.is_empty() && inside.description != field.description {
        paragraph(&inside.description);
    }
    if let Some(default) = &field.default
        && !default.is_object()
    {
        let _ = write!(text, "\n  Default: {}\n", shown(default));
    }
    match &inside.kind {
        Kind::Enum(words) => {
            let rows = words.iter().map(|word| (word.value.clone(), word.description.clone())).collect();
            table(&mut text, "One of", rows);
        }
        Kind::Object(fields) | Kind::OneOf(fields) if !fields.is_empty() => {
            let title = if matches!(inside.kind, Kind::OneOf(_)) { "Exactly one of" } else { "Fields" };
            let rows = fields
                .iter()
                .map(|(name, field)| {
                    let required = if field.required { " (required)" } else { "" };
                    let sentence = field.description.split(". ").next().unwrap_or_default();
                    (
                        name.clone(),
                        format!("{}{required}: {}.", type_name(&field.shape), sentence.trim_end_matches('.')),
                    )
                })
                .collect();
            table(&mut text, title, rows);
        }
        _ => {}
    }
    text
}

fn table(text: &mut String, title: &str, rows: Vec<(String, String)>) {
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    let _ = write!(text, "\n  {title}:\n");
    for (name, words) in rows {
        let indent = " ".repeat(width + 6);
        let _ = write!(text, "    {name:width$}  {}", wrap(&words, &indent).trim_start());
    }
}

/// The type in one or two words: `list of mappings`.
fn type_name(shape: &Shape) -> String {
    match &shape.kind {
        Kind::Object(_) => "mapping".to_owned(),
        Kind::OneOf(_) => "mapping with one key".to_owned(),
        Kind::Map(values) => format!("mapping of {}", plural(&type_name(values))),
        Kind::List(items) => format!("list of {}", plural(&type_name(items))),
        Kind::Enum(_) => "word".to_owned(),
        Kind::Text(None) | Kind::Constant(_) => "text".to_owned(),
        Kind::Text(Some(format)) => noun(*format),
        Kind::Boolean => "boolean".to_owned(),
        Kind::Integer { min: Some(min), max: Some(max) } => format!("number {min} to {max}"),
        Kind::Integer { .. } => "number".to_owned(),
        Kind::Amount => noun(crate::value::Format::Amount),
        Kind::Opaque => "anything".to_owned(),
    }
}

fn noun(format: crate::value::Format) -> String {
    let noun = format.noun();
    noun.strip_prefix("an ").or_else(|| noun.strip_prefix("a ")).unwrap_or(noun).to_owned()
}

fn plural(noun: &str) -> String {
    match noun.split_once(' ') {
        Some((first, rest)) if rest.starts_with("with") || rest.starts_with("of") => {
            format!("{first}s {rest}")
        }
        _ if noun == "anything" => noun.to_owned(),
        _ if noun.ends_with('s') => format!("{noun}es"),
        Some(("address", rest)) => format!("address {}", rest.replace("range", "ranges")),
        _ => format!("{noun}s"),
    }
}

fn shown(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Array(items) if items.is_empty() => "none".to_owned(),
        other => other.to_string(),
    }
}

/// The words in lines of at most 100 characters, each after `indent`.
fn wrap(words: &str, indent: &str) -> String {
    let mut text = String::new();
    let mut line = indent.to_owned();
    for word in words.split_whitespace() {
        if line.chars().count() + word.chars().count() > 100 && line.trim() != "" {
            text.push_str(line.trim_end());
            text.push('\n');
            line = indent.to_owned();
        }
        line.push_str(word);
        line.push(' ');
    }
    text.push_str(line.trim_end());
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explains_groups_words_and_values() {
        let network = explain("cluster.spec.network").unwrap();
        assert!(network.starts_with("cluster.spec.network: mapping\n"), "{network}");
        assert!(network.contains("topology"), "{network}");
        let topology = explain("Cluster.network.topology").unwrap();
        assert!(topology.contains("Default: private"), "{topology}");
        assert!(topology.contains("public   Nodes live in public subnets"), "{topology}");
        let subnets = explain("cluster.spec.network.subnets[].egress").unwrap();
        assert!(subnets.contains("Exactly one of"), "{subnets}");
        assert!(explain("nodepool.spec.taints.effect").unwrap().contains("required"));
    }

    #[test]
    fn explains_paths_as_plans_print_them() {
        let fixed = explain("nodepool.spec.size.fixed").unwrap();
        assert_eq!(explain("pools[workers].size.fixed").unwrap(), fixed);
        assert!(explain("hosts[m1.example.com].addresses").unwrap().starts_with("host.spec.addresses: "));
        let egress = explain("cluster.spec.network.subnets[a].egress").unwrap();
        assert_eq!(egress, explain("cluster.spec.network.subnets[].egress").unwrap());
        assert!(explain("pools[").is_err());
    }

    #[test]
    fn says_nothing_twice() {
        let blocked = explain("nodepool.spec.rollout.drain.onBlocked").unwrap();
        assert_eq!(blocked.matches("What to do if a node is not drained").count(), 1, "{blocked}");
        let drain = explain("nodepool.spec.rollout.drain").unwrap();
        assert!(drain.contains("before they are removed") && !drain.contains("before it is"), "{drain}");
    }

    #[test]
    fn says_what_was_meant() {
        let hint = |path: &str| explain(path).unwrap_err().to_string();
        assert_eq!(
            hint("cluster.spec.netwrk"),
            "`cluster.spec` has no field `netwrk`; did you mean `network`?"
        );
        assert_eq!(hint("clster"), "there is no kind `clster`; did you mean `cluster`?");
        assert!(hint("nodepool.spec.role.x").contains("holds no fields"));
    }
}
