//! JSON patches, RFC 6902, on values with places.

use slipway_limits::count;

use super::budget::Budget;
use crate::{
    v1alpha1::{OperationKind, PatchOperation},
    yaml::{Entry, Key, Node, Value},
};

/// Why an operation does not apply, and the way out.
pub(super) type Failure = (String, String);

/// Applies an operation to a document. `value` is that of the operation, with references replaced.
///
/// # Errors
/// The operation does not fit the document.
pub(super) fn apply(
    document: &mut Node,
    operation: &PatchOperation,
    value: Option<Node>,
    budget: &mut Budget,
) -> Result<(), Failure> {
    let path = pointer(&operation.path)?;
    let needed = || {
        value.clone().ok_or_else(|| {
            let message = format!("the operation `{}` has no `value`", name(operation.op));
            (message, "add `value: …`".to_owned())
        })
    };
    let from = || {
        let from = operation.from.as_deref().ok_or_else(|| {
            let message = format!("the operation `{}` has no `from`", name(operation.op));
            (message, "add the JSON pointer of the value to take, as `from: /spec/zones`".to_owned())
        })?;
        pointer(from)
    };
    if !budget.search(width(document, &path)) {
        return Err(too_much());
    }
    match operation.op {
        OperationKind::Add => add(document, &path, needed()?),
        OperationKind::Remove => remove(document, &path).map(drop),
        OperationKind::Replace => {
            let value = needed()?;
            if path.is_empty() {
                return Err(whole());
            }
            fits(&path, &value)?;
            *get_mut(document, &path).ok_or_else(|| missing(&path))? = value;
            Ok(())
        }
        OperationKind::Test => {
            let expected = needed()?;
            let found = get(document, &path).ok_or_else(|| missing(&path))?;
            if !budget.take(found.size()) {
                return Err(too_much());
            }
            if found.to_json() == expected.to_json() {
                return Ok(());
            }
            let message = format!("the value at `{}` is another one than the test expects", operation.path);
            Err((message, "compare the value in the base with the one in the patch".to_owned()))
        }
        OperationKind::Copy => {
            let from = from()?;
            let copied = get(document, &from).ok_or_else(|| missing(&from))?;
            if !(budget.search(width(document, &from)) && budget.take(copied.size())) {
                return Err(too_much());
            }
            let copied = copied.clone();
            add(document, &path, copied)
        }
        OperationKind::Move => {
            let from = from()?;
            if path.len() > from.len() && path.starts_with(&from) {
                let message = format!("`{}` is inside of the value that is moved", operation.path);
                return Err((message, "move the value to a place outside of itself".to_owned()));
            }
            if !budget.search(width(document, &from)) {
                return Err(too_much());
            }
            let value = remove(document, &from)?;
            add(document, &path, value)
        }
    }
}

/// The name of an operation, as it is written.
const fn name(operation: OperationKind) -> &'static str {
    match operation {
        OperationKind::Add => "add",
        OperationKind::Remove => "remove",
        OperationKind::Replace => "replace",
        OperationKind::Move => "move",
        OperationKind::Copy => "copy",
        OperationKind::Test => "test",
    }
}

/// The steps of a JSON pointer, RFC 6901.
fn pointer(text: &str) -> Result<Vec<String>, Failure> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let Some(steps) = text.strip_prefix('/') else {
        let message = format!("`{text}` is no JSON pointer");
        return Err((message, "write a pointer that begins with `/`, as `/spec/zones/0`".to_owned()));
    };
    Ok(steps.split('/').map(|step| step.replace("~1", "/").replace("~0", "~")).collect())
}

/// The text of a pointer, for messages.
fn shown(path: &[String]) -> String {
    path.iter().map(|step| format!("/{step}")).collect()
}

fn missing(path: &[String]) -> Failure {
    let message = format!("there is no value at `{}`", shown(path));
    let hint =
        "check the path against the base; items of lists are counted from 0, and `add` sets a new field";
    (message, hint.to_owned())
}

fn too_much() -> Failure {
    let hint = "copy and test smaller values";
    (
        format!("the environments of this command render more than {} values", count::RENDERED_VALUES),
        hint.to_owned(),
    )
}

fn whole() -> Failure {
    let message = "an operation cannot set or delete a whole document".to_owned();
    (message, "use `merge: { $patch: delete }` to leave the document out".to_owned())
}

/// Checks that a value at a path is not nested deeper than a document may be.
fn fits(path: &[String], value: &Node) -> Result<(), Failure> {
    if path.len() + value.depth() <= count::DEPTH {
        return Ok(());
    }
    let message = format!("the value at `{}` is nested deeper than {} levels", shown(path), count::DEPTH);
    Err((message, "set a flatter value".to_owned()))
}

/// The index of an existing item.
fn index(step: &str, items: &[Node]) -> Option<usize> {
    number(step).filter(|index| *index < items.len())
}

/// An index as RFC 6901 writes it, without leading zeros and signs.
fn number(step: &str) -> Option<usize> {
    let is_number = step == "0" || !step.starts_with('0') && step.bytes().all(|byte| byte.is_ascii_digit());
    step.parse::<usize>().ok().filter(|_| is_number)
}

/// How many fields and items are looked through to find the value at a path.
fn width(mut node: &Node, path: &[String]) -> usize {
    let mut width = 0;
    for step in path {
        width += node.items().len() + node.entries().len();
        match get(node, std::slice::from_ref(step)) {
            Some(inner) => node = inner,
            None => break,
        }
    }
    width
}

fn get<'a>(node: &'a Node, path: &[String]) -> Option<&'a Node> {
    path.iter().try_fold(node, |node, step| match &node.value {
        Value::Sequence(items) => items.get(index(step, items)?),
        _ => node.get(step),
    })
}

fn get_mut<'a>(node: &'a mut Node, path: &[String]) -> Option<&'a mut Node> {
    path.iter().try_fold(node, |node, step| match &mut node.value {
        Value::Sequence(items) => {
            let index = index(step, items)?;
            items.get_mut(index)
        }
        Value::Mapping(entries) => {
            entries.iter_mut().find(|entry| entry.key.text == *step).map(|entry| &mut entry.value)
        }
        _ => None,
    })
}

fn add(document: &mut Node, path: &[String], value: Node) -> Result<(), Failure> {
    let Some((last, parents)) = path.split_last() else { return Err(whole()) };
    fits(path, &value)?;
    let parent = get_mut(document, parents).ok_or_else(|| missing(parents))?;
    match &mut parent.value {
        Value::Sequence(items) if last == "-" => items.push(value),
        Value::Sequence(items) => match index(last, items) {
            Some(index) => items.insert(index, value),
            None if number(last) == Some(items.len()) => items.push(value),
            None => return Err(missing(path)),
        },
        Value::Mapping(entries) => match entries.iter_mut().find(|entry| entry.key.text == *last) {
            Some(entry) => entry.value = value,
            None => {
                let key = Key { text: last.clone(), span: value.span };
                entries.push(Entry { key, value });
            }
        },
        _ => return Err(missing(path)),
    }
    Ok(())
}

fn remove(document: &mut Node, path: &[String]) -> Result<Node, Failure> {
    let Some((last, parents)) = path.split_last() else { return Err(whole()) };
    let parent = get_mut(document, parents).ok_or_else(|| missing(parents))?;
    let removed = match &mut parent.value {
        Value::Sequence(items) => index(last, items).map(|index| items.remove(index)),
        Value::Mapping(entries) => {
            let index = entries.iter().position(|entry| entry.key.text == *last);
            index.map(|index| entries.remove(index).value)
        }
        _ => None,
    };
    removed.ok_or_else(|| missing(path))
}
