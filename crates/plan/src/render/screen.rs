//! The visible parts of a value.

use std::borrow::Cow;

use slipway_resource::{Entries, Path, Secret, Segment, Value};

use crate::change::ResourceChange;

/// The sensitive paths that lie at or below one place of a value.
///
/// It rather hides too much: a path that does not fit the value's form, as one without positions into a list,
/// hides all that it may mean.
#[derive(Clone, Debug, Default)]
pub(super) struct Screen<'a> {
    rests: Vec<&'a [Segment]>,
    /// Whether this is all of a resource's attributes: a path begins with the name of one, never with a key of
    /// some map.
    is_top: bool,
}

impl<'a> Screen<'a> {
    /// The screen for the value at `base`.
    pub(super) fn new(sensitive: &'a [Path], base: &Path) -> Self {
        let base = base.segments();
        let is_top = base.is_empty();
        let rests = sensitive
            .iter()
            .map(Path::segments)
            .filter_map(|path| {
                if base.starts_with(path) { Some(&path[path.len()..]) } else { path.strip_prefix(base) }
            })
            .collect();
        Self { rests, is_top }
    }

    /// Whether nothing here is hidden.
    pub(super) fn is_clear(&self) -> bool {
        self.rests.is_empty()
    }

    /// Whether a value here is hidden as a whole: by its path, or because it is no map or list that the path
    /// could lead into.
    pub(super) fn hides(&self, value: &Value) -> bool {
        match value {
            Value::Secret(_) => true,
            Value::Null | Value::Unknown => false,
            Value::Map(_) | Value::List(_) => self.rests.iter().any(|rest| rest.is_empty()),
            _ => !self.is_clear(),
        }
    }

    /// Whether the path itself is sensitive, whatever its value is.
    pub(super) fn is_shut(&self) -> bool {
        self.rests.iter().any(|rest| rest.is_empty())
    }

    /// The screen for one entry of a map. A key that the map does not have may match each of its nested
    /// values: paths by a schema omit the keys of maps.
    pub(super) fn entry(&self, entries: &Entries, key: &str) -> Self {
        let is_nested = || !self.is_top && matches!(entries.get(key), Some(Value::Map(_) | Value::List(_)));
        self.further(|segment| match segment {
            Segment::Key(other) if other == key => Step::Down,
            Segment::Key(other) if !entries.contains_key(other) && is_nested() => Step::Stay,
            Segment::Key(_) => Step::Away,
            Segment::Index(_) => Step::Down,
        })
    }

    /// The screen one list position further; a path without positions means every one.
    pub(super) fn index(&self, index: usize) -> Self {
        self.further(|segment| match segment {
            Segment::Index(other) if *other == index => Step::Down,
            Segment::Index(_) => Step::Away,
            Segment::Key(_) => Step::Stay,
        })
    }

    fn further(&self, step: impl Fn(&Segment) -> Step) -> Self {
        let rests = self
            .rests
            .iter()
            .filter_map(|rest| match rest.split_first() {
                None => Some(*rest),
                Some((segment, below)) => match step(segment) {
                    Step::Down => Some(below),
                    Step::Stay => Some(*rest),
                    Step::Away => None,
                },
            })
            .collect();
        Self { rests, is_top: false }
    }

    /// The value with a nameless secret in place of all that is hidden.
    pub(super) fn veil<'v>(&self, value: &'v Value) -> Cow<'v, Value> {
        if self.is_clear() {
            return Cow::Borrowed(value);
        }
        if self.hides(value) {
            return Cow::Owned(Value::from(Secret::new("")));
        }
        match value {
            Value::Map(entries) => Cow::Owned(Value::Map(
                entries
                    .iter()
                    .map(|(key, value)| (key.clone(), self.entry(entries, key).veil(value).into_owned()))
                    .collect(),
            )),
            Value::List(items) => Cow::Owned(Value::List(
                items
                    .iter()
                    .enumerate()
                    .map(|(index, value)| self.index(index).veil(value).into_owned())
                    .collect(),
            )),
            other => Cow::Borrowed(other),
        }
    }
}

/// The effect of one step into a value on a path.
enum Step {
    Down,
    Stay,
    Away,
}

/// Every path of a change that is never shown: those of the resource and those that the diff found.
pub(super) fn sensitive_paths(change: &ResourceChange) -> Cow<'_, [Path]> {
    let mut found = change
        .changes
        .iter()
        .filter(|attribute| attribute.sensitive)
        .map(|attribute| &attribute.path)
        .peekable();
    if found.peek().is_none() {
        return Cow::Borrowed(&change.sensitive);
    }
    Cow::Owned(change.sensitive.iter().chain(found).cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn veiled(sensitive: &[&str], value: &Value) -> Value {
        let paths: Vec<Path> = sensitive.iter().map(|path| path.parse().unwrap()).collect();
        Screen::new(&paths, &Path::root()).veil(value).into_owned()
    }

    #[test]
    fn hides_at_and_below_its_paths_only() {
        let value = Value::map([
            ("name", Value::from("a")),
            ("login", Value::map([("user", "u"), ("password", "p")])),
            ("keys", Value::list(["k", "l"])),
        ]);
        let secret = || Value::from(Secret::new(""));
        let expected = Value::map([
            ("name", Value::from("a")),
            ("login", Value::map([("user", Value::from("u")), ("password", secret())])),
            ("keys", Value::List(vec![Value::from("k"), secret()])),
        ]);
        assert_eq!(veiled(&["login.password", "keys[1]"], &value), expected);
        assert_eq!(veiled(&[""], &value), secret());
    }

    #[test]
    fn a_path_that_does_not_fit_hides_more_rather_than_less() {
        let value = Value::map([("users", Value::list([Value::map([("password", "p"), ("name", "n")])]))]);
        let hidden = veiled(&["users.password"], &value);
        assert_eq!(hidden.at(&"users[0].name".parse().unwrap()), Some(&"n".into()));
        assert!(matches!(hidden.at(&"users[0].password".parse().unwrap()), Some(Value::Secret(_))));
        let by_name =
            Value::map([("users", Value::map([("a", Value::map([("password", "p"), ("name", "n")]))]))]);
        let hidden = veiled(&["users.password"], &by_name);
        assert_eq!(hidden.at(&"users.a.name".parse().unwrap()), Some(&"n".into()));
        assert!(matches!(hidden.at(&"users.a.password".parse().unwrap()), Some(Value::Secret(_))));
        let named_alike =
            Value::map([("zones", Value::list(["a"])), ("labels", Value::map([("team", "t")]))]);
        assert_eq!(veiled(&["password", "login.password"], &named_alike), named_alike);
        let flat = Value::map([("config", "password = p")]);
        let hidden = veiled(&["config.password"], &flat);
        assert!(matches!(hidden.get("config"), Some(Value::Secret(_))));
    }
}
