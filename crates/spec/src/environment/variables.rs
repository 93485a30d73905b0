//! Variables of environments, and references to them.
//!
//! A reference is a mapping with the one key `fromVariable`, in the place of a value. It is replaced by the value of the
//! variable, which has a type: no text is pasted into another one.

use std::collections::BTreeMap;

use slipway_limits::count;

use super::{allowed, budget::Budget, graph::Environment, listed, meant};
use crate::{
    diagnostic::{Diagnostic, code},
    reader::Document,
    source::{SourceFile, Span},
    v1alpha1::{VariableDeclaration, VariableType},
    yaml::{Node, Value},
};

/// The key of references.
const KEY: &str = "fromVariable";

/// The longest name of a variable, in bytes.
const LONGEST_NAME: usize = 63;

/// Values by the names of variables.
pub(super) type Values<'a> = BTreeMap<&'a str, &'a Node>;

/// The variables of an environment.
pub(super) struct Variables<'a> {
    file: &'a SourceFile,
    by_name: BTreeMap<&'a str, Variable<'a>>,
}

/// A variable.
struct Variable<'a> {
    /// Its value; `None` when it has none, or a wrong one, which was reported.
    value: Option<&'a Node>,
    /// Its allowed values; empty when all values of its type are allowed.
    allowed: &'a [Node],
    /// Whether its value is an allowed one; if not, this was reported.
    is_allowed: bool,
    /// The span of its declaration.
    span: Span,
    is_used: bool,
}

impl<'a> Variables<'a> {
    /// The variables that an environment declares, with their values.
    pub(super) fn of(
        environment: &'a Environment,
        declared: &'a [VariableDeclaration],
        values: &Values<'a>,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Self {
        let file: &SourceFile = &environment.document.file;
        let nodes = environment.part("variables").map(Node::items).unwrap_or_default();
        if declared.len() > count::VARIABLES {
            let message = format!(
                "an environment has {} variables, and {} is the most",
                declared.len(),
                count::VARIABLES
            );
            let diagnostic = Diagnostic::error(code::VARIABLE, message)
                .at(file, environment.span())
                .hint("declare variables in the environments whose bases use them");
            diagnostics.push(diagnostic);
        }
        let mut variables = Self { file, by_name: BTreeMap::new() };
        for (declaration, node) in declared.iter().zip(nodes).take(count::VARIABLES) {
            variables.declare(declaration, node, values, diagnostics);
        }
        variables
    }

    fn declare(
        &mut self,
        declaration: &'a VariableDeclaration,
        node: &'a Node,
        values: &Values<'a>,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        let name = declaration.name.as_str();
        let span = node.get("name").map_or(node.span, |name| name.span);
        let file = self.file;
        let is_name = |letter: u8| letter.is_ascii_alphanumeric() || letter == b'-' || letter == b'_';
        if name.is_empty() || name.len() > LONGEST_NAME || !name.bytes().all(is_name) {
            let diagnostic = Diagnostic::error(code::BAD_NAME, format!("`{name}` is no name of a variable"))
                .at(file, span)
                .hint(format!("use 1 to {LONGEST_NAME} letters, digits, `-` and `_`"));
            diagnostics.push(diagnostic);
            return;
        }
        if let Some(first) = self.by_name.get(name) {
            let diagnostic =
                Diagnostic::error(code::DUPLICATE_NAME, format!("there are two variables named `{name}`"))
                    .at(file, span)
                    .hint("give one of them another name, or remove it")
                    .related("the first one", Some(&file.location(first.span)));
            diagnostics.push(diagnostic);
            return;
        }
        let default = node.get("default").filter(|default| !default.is_null());
        let mut is_right = true;
        let allowed = node.get("allowed").map(Node::items).unwrap_or_default();
        for (what, value) in allowed
            .iter()
            .map(|value| ("an allowed value", value))
            .chain(default.map(|value| ("the default", value)))
        {
            let kind = match declaration.kind {
                // The allowed values of a list are its items.
                VariableType::List if what == "an allowed value" => None,
                kind => Some(kind),
            };
            is_right &= check(file, what, (name, kind), value, diagnostics);
        }
        let value = values.get(name).copied();
        if let Some(value) = value {
            is_right &= check(file, "the value", (name, Some(declaration.kind)), value, diagnostics);
        }
        let value = value.or(default);
        if value.is_none() {
            let diagnostic = Diagnostic::error(code::VARIABLE, format!("the variable `{name}` has no value"))
                .at(file, span)
                .hint(format!(
                    "set it in `values` of the environment, as in `{name}: …`, or declare a `default`"
                ));
            diagnostics.push(diagnostic);
        }
        let value = value.filter(|_| is_right);
        let is_allowed = value
            .is_none_or(|value| allowed.is_empty() || check_allowed(file, name, value, allowed, diagnostics));
        self.by_name.insert(name, Variable { value, allowed, is_allowed, span, is_used: false });
    }

    /// The names of the variables.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.by_name.keys().copied()
    }

    /// The allowed values of a variable, with its name. `None` where it has no valid and allowed value, or all values are allowed.
    pub(super) fn allowed(&self, name: &str) -> Option<(&'a str, &'a [Node])> {
        let (name, variable) = self.by_name.get_key_value(name)?;
        let is_restricted = variable.value.is_some() && variable.is_allowed && !variable.allowed.is_empty();
        is_restricted.then_some((*name, variable.allowed))
    }

    /// Replaces the references inside of a value by the values of the variables. Returns whether each of them has a value; the
    /// others are replaced by null, and why was reported.
    pub(super) fn fill(
        &mut self,
        node: &mut Node,
        file: &SourceFile,
        budget: &mut Budget,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> bool {
        match reference(node) {
            Reference::None => {}
            Reference::Wrong(span) => {
                diagnostics.push(wrong(file, span));
                node.value = Value::Null;
                return false;
            }
            Reference::Name(name) => {
                let Some(variable) = self.by_name.get_mut(name) else {
                    diagnostics.push(self.undeclared(file, (name, node.span), diagnostics.len()));
                    node.value = Value::Null;
                    return false;
                };
                variable.is_used = true;
                let value = variable.value.filter(|value| budget.take(value.size()));
                match value {
                    Some(value) => *node = value.clone(),
                    None => node.value = Value::Null,
                }
                return value.is_some();
            }
        }
        let mut is_whole = true;
        match &mut node.value {
            Value::Sequence(items) => {
                for item in items {
                    is_whole &= self.fill(item, file, budget, diagnostics);
                }
            }
            Value::Mapping(entries) => {
                for entry in entries {
                    is_whole &= self.fill(&mut entry.value, file, budget, diagnostics);
                }
            }
            _ => {}
        }
        is_whole
    }

    fn undeclared(&self, file: &SourceFile, (name, span): (&str, Span), problems: usize) -> Diagnostic {
        let hint = match meant(name, self.by_name.keys().copied(), problems) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!(
                "declare `{name}` in `variables` of the environment that has the reference, or names its file as a base"
            ),
        };
        Diagnostic::error(code::VARIABLE, format!("the variable `{name}` is not declared"))
            .at(file, span)
            .hint(hint)
    }

    /// The errors of variables that nothing refers to.
    pub(super) fn unused(&self) -> impl Iterator<Item = Diagnostic> + '_ {
        let unused = self.by_name.iter().filter(|(_, variable)| !variable.is_used);
        unused.map(move |(name, variable)| {
            Diagnostic::error(code::VARIABLE, format!("the variable `{name}` is not used"))
                .at(self.file, variable.span)
                .hint(format!(
                    "write `{{ {KEY}: {name} }}` in a base or in a patch of this environment, or remove the variable"
                ))
        })
    }
}

/// Checks the type of a value of a variable; without a type, that it is a scalar. Returns whether it is right.
fn check(
    file: &SourceFile,
    what: &str,
    (name, kind): (&str, Option<VariableType>),
    value: &Node,
    diagnostics: &mut Vec<Diagnostic>,
) -> bool {
    let is_scalar = |node: &Node| matches!(node.value, Value::Text(_) | Value::Bool(_)) || is_integer(node);
    let (is_right, noun) = match kind {
        Some(VariableType::String) => (value.as_str().is_some(), "a text"),
        Some(VariableType::Integer) => (is_integer(value), "a whole number"),
        Some(VariableType::Boolean) => (matches!(value.value, Value::Bool(_)), "`true` or `false`"),
        Some(VariableType::List) => (
            matches!(value.value, Value::Sequence(_)) && value.items().iter().all(is_scalar),
            "a list of texts, whole numbers and booleans",
        ),
        None => (is_scalar(value), "a text, a whole number or a boolean"),
    };
    if !is_right {
        let hint = match (kind, &value.value) {
            (Some(VariableType::String), Value::Number(_) | Value::Bool(_)) => {
                "put the value in quotes".to_owned()
            }
            (Some(VariableType::List), _) => "write a list, as `[a, b]`".to_owned(),
            _ => format!("write {noun}"),
        };
        let message = format!("{what} of the variable `{name}` is {}, not {noun}", value.noun());
        diagnostics.push(Diagnostic::error(code::VARIABLE, message).at(file, value.span).hint(hint));
    }
    is_right
}

fn is_integer(node: &Node) -> bool {
    matches!(&node.value, Value::Number(number) if number.is_i64() || number.is_u64())
}

/// Checks that a value, or each item of a list, is one of the allowed ones. Returns whether it is; if not, this was reported.
fn check_allowed(
    file: &SourceFile,
    name: &str,
    value: &Node,
    allowed: &[Node],
    diagnostics: &mut Vec<Diagnostic>,
) -> bool {
    let Some(refused) = allowed::refused(value, allowed) else { return true };
    let shown: Vec<String> = allowed.iter().map(|allowed| allowed.to_json().to_string()).collect();
    let diagnostic = Diagnostic::error(
        code::VARIABLE,
        format!("the value of the variable `{name}` is not an allowed one"),
    )
    .at(file, refused.span)
    .hint(format!("the allowed values are {}", listed(shown.iter().map(String::as_str))));
    diagnostics.push(diagnostic);
    false
}

/// A reference in the place of a value.
pub(super) enum Reference<'a> {
    /// The value is no reference.
    None,
    /// A reference to the variable with this name.
    Name(&'a str),
    /// It has other keys beside, or no name.
    Wrong(Span),
}

/// The reference that a value is, if it is one.
pub(super) fn reference(node: &Node) -> Reference<'_> {
    match (node.entries(), node.entry(KEY)) {
        (_, None) => Reference::None,
        ([only], Some(_)) => only.value.as_str().map_or(Reference::Wrong(only.key.span), Reference::Name),
        (_, Some(entry)) => Reference::Wrong(entry.key.span),
    }
}

fn wrong(file: &SourceFile, span: Span) -> Diagnostic {
    Diagnostic::error(code::VARIABLE, "a reference to a variable is a mapping with its name and nothing else")
        .at(file, span)
        .hint(format!("write `{{ {KEY}: NAME }}` in the place of the value"))
}

/// Reports the references in a document that belongs to no environment, and removes them. What is missing then is not reported.
pub(super) fn refuse(document: &mut Document, diagnostics: &mut Vec<Diagnostic>) {
    let mut spans = Vec::new();
    remove(&mut document.root, &mut spans);
    document.truncated |= !spans.is_empty();
    for span in spans {
        let diagnostic =
            Diagnostic::error(code::VARIABLE, "a reference to a variable outside of an environment")
                .at(&document.file, span)
                .hint("name the environment with `-f`, not its base; or write the value here");
        diagnostics.push(diagnostic);
    }
}

fn remove(node: &mut Node, spans: &mut Vec<Span>) {
    if !matches!(reference(node), Reference::None) {
        spans.push(node.span);
        node.value = Value::Null;
        return;
    }
    match &mut node.value {
        Value::Sequence(items) => items.iter_mut().for_each(|item| remove(item, spans)),
        Value::Mapping(entries) => entries.iter_mut().for_each(|entry| remove(&mut entry.value, spans)),
        _ => {}
    }
}
