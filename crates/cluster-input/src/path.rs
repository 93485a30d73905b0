//! Paths of fields as people read them: `pools[workers].rootVolume.key`.

/// The path of the field `name` of the value at `path`; a name with dots or brackets is put in brackets.
#[must_use]
pub fn join(path: &str, name: &str) -> String {
    if name.contains(['.', '[', ']', '/']) {
        format!("{path}[{name}]")
    } else if path.is_empty() {
        name.to_owned()
    } else {
        [path, ".", name].concat()
    }
}

/// The path of the item with this index, given the names of all items; those without a name have an empty one.
#[must_use]
pub fn item_path(path: &str, names: &[&str], index: usize) -> String {
    match names.get(index) {
        Some(name) if !name.is_empty() && !names.iter().take(index).any(|earlier| earlier == name) => {
            format!("{path}[{name}]")
        }
        _ => format!("{path}[{index}]"),
    }
}
