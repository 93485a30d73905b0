//! RFC 6902: JSON patch.

use serde_json::Value;

/// The value with all operations applied, or what is wrong with one.
pub(super) fn apply(mut value: Value, patch: &Value) -> Result<Value, String> {
    let operations = patch.as_array().ok_or("a JSON patch is a list of operations")?;
    for operation in operations {
        let text = |key: &str| operation.get(key).and_then(Value::as_str).map(str::to_owned);
        let name = text("op").ok_or("an operation has no op")?;
        let path = text("path").ok_or_else(|| format!("{name} has no path"))?;
        let given = || operation.get("value").cloned().ok_or_else(|| format!("{name} {path} has no value"));
        let from = || text("from").ok_or_else(|| format!("{name} {path} has no from"));
        match name.as_str() {
            "add" => add(&mut value, &path, given()?)?,
            "remove" => drop(remove(&mut value, &path)?),
            "replace" => *place(&mut value, &path)? = given()?,
            "move" => {
                let moved = remove(&mut value, &from()?)?;
                add(&mut value, &path, moved)?;
            }
            "copy" => {
                let copied = place(&mut value, &from()?)?.clone();
                add(&mut value, &path, copied)?;
            }
            "test" if *place(&mut value, &path)? == given()? => {}
            "test" => return Err(format!("{path} is not {}", given()?)),
            other => return Err(format!("{other:?} is not an operation")),
        }
    }
    Ok(value)
}

fn segments(path: &str) -> Result<Vec<String>, String> {
    match path.strip_prefix('/') {
        _ if path.is_empty() => Ok(Vec::new()),
        Some(rest) => Ok(rest.split('/').map(|part| part.replace("~1", "/").replace("~0", "~")).collect()),
        None => Err(format!("the path {path:?} does not begin with /")),
    }
}

fn place<'a>(value: &'a mut Value, path: &str) -> Result<&'a mut Value, String> {
    let missing = || format!("there is nothing at {path}");
    segments(path)?.iter().try_fold(value, |value, segment| {
        match value {
            Value::Object(entries) => entries.get_mut(segment),
            Value::Array(items) => segment.parse::<usize>().ok().and_then(|index| items.get_mut(index)),
            _ => None,
        }
        .ok_or_else(missing)
    })
}

fn parent(path: &str) -> Result<(&str, String), String> {
    let (parent, _) =
        path.rsplit_once('/').ok_or_else(|| format!("the path {path:?} does not begin with /"))?;
    let last = segments(path)?.pop().unwrap_or_default();
    Ok((parent, last))
}

fn add(value: &mut Value, path: &str, new: Value) -> Result<(), String> {
    if path.is_empty() {
        *value = new;
        return Ok(());
    }
    let (above, last) = parent(path)?;
    match place(value, above)? {
        Value::Object(entries) => {
            entries.insert(last, new);
            Ok(())
        }
        Value::Array(items) if last == "-" => {
            items.push(new);
            Ok(())
        }
        Value::Array(items) => match last.parse::<usize>() {
            Ok(index) if index <= items.len() => {
                items.insert(index, new);
                Ok(())
            }
            _ => Err(format!("{path} is not a place in a list of {}", items.len())),
        },
        _ => Err(format!("{above} has no entries")),
    }
}

fn remove(value: &mut Value, path: &str) -> Result<Value, String> {
    let (above, last) = parent(path)?;
    let removed = match place(value, above)? {
        Value::Object(entries) => entries.remove(&last),
        Value::Array(items) => {
            last.parse::<usize>().ok().filter(|index| *index < items.len()).map(|index| items.remove(index))
        }
        _ => None,
    };
    removed.ok_or_else(|| format!("there is nothing at {path}"))
}
