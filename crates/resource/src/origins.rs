//! The fields of the spec that attributes come from.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Path;

/// The field of the spec that each attribute of a resource comes from, sorted by path. A list: most resources have one or two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins(Vec<(Path, String)>);

impl Origins {
    /// Sets the field of an attribute, and returns the one that it had.
    pub fn insert(&mut self, path: Path, field: String) -> Option<String> {
        match self.place(&path) {
            Ok(place) => self.0.get_mut(place).map(|(_, old)| std::mem::replace(old, field)),
            Err(place) => {
                self.0.reserve_exact(1);
                self.0.insert(place, (path, field));
                None
            }
        }
    }

    /// The field of an attribute.
    #[must_use]
    pub fn get(&self, path: &Path) -> Option<&String> {
        self.0.get(self.place(path).ok()?).map(|(_, field)| field)
    }

    /// Whether an attribute has a field.
    #[must_use]
    pub fn contains_key(&self, path: &Path) -> bool {
        self.place(path).is_ok()
    }

    /// Whether no attribute has a field.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes all fields.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The attributes and their fields, by path.
    pub fn iter(&self) -> impl Iterator<Item = (&Path, &String)> {
        self.0.iter().map(|(path, field)| (path, field))
    }

    /// The fields.
    pub fn values(&self) -> impl Iterator<Item = &String> {
        self.0.iter().map(|(_, field)| field)
    }

    fn place(&self, path: &Path) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| known.cmp(path))
    }
}

impl FromIterator<(Path, String)> for Origins {
    /// Of equal paths, the last one counts.
    fn from_iter<I: IntoIterator<Item = (Path, String)>>(fields: I) -> Self {
        let sorted: BTreeMap<Path, String> = fields.into_iter().collect();
        let mut fields = Vec::with_capacity(sorted.len());
        fields.extend(sorted);
        Self(fields)
    }
}

impl IntoIterator for Origins {
    type Item = (Path, String);
    type IntoIter = std::vec::IntoIter<(Path, String)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl Serialize for Origins {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Origins {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(BTreeMap::<Path, String>::deserialize(deserializer)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_written_and_compared_as_a_map() {
        let pairs = || {
            [("b", "two"), ("", "whole"), ("a", "one"), ("b", "three")]
                .map(|(path, field)| (path.parse::<Path>().unwrap(), field.to_owned()))
        };
        let collected: Origins = pairs().into_iter().collect();
        let mut inserted = Origins::default();
        pairs().into_iter().for_each(|(path, field)| drop(inserted.insert(path, field)));
        assert_eq!(inserted, collected);
        assert_eq!(inserted.get(&Path::key("b")).map(String::as_str), Some("three"));
        assert!(!inserted.contains_key(&Path::key("c")));
        let text = serde_json::to_string(&inserted).unwrap();
        assert_eq!(text, serde_json::to_string(&BTreeMap::from(pairs())).unwrap());
        assert_eq!(serde_json::from_str::<Origins>(&text).unwrap(), inserted);
    }
}
