//! The entries of a map. A state, a plan and the observed objects hold the same maps, and most maps of a type have the same
//! keys: clones share their entries, and maps with equal keys share the list of the keys.

mod keys;

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::iter::Zip;
use std::sync::Arc;
use std::{fmt, slice, vec};

use super::Value;

/// The entries of a [`Value::Map`], sorted by key.
///
/// It has the methods of a `BTreeMap<String, Value>`, and costs less memory. Cloning is cheap: clones share their entries
/// until one of them changes.
#[derive(Clone, Default)]
pub struct Entries(Arc<Content>);

/// One value for each key, in the order of the keys.
#[derive(Clone, Default)]
struct Content {
    keys: Arc<Vec<String>>,
    values: Vec<Value>,
}

impl Content {
    /// The place of a key, or the place where it would be.
    fn place(&self, key: &str) -> Result<usize, usize> {
        self.keys.binary_search_by(|known| known.as_str().cmp(key))
    }

    /// Puts a new key at its place.
    fn put(&mut self, place: usize, key: String, value: Value) {
        keys::put(&mut self.keys, place, key);
        // Most maps get a few more entries at most: twice the room would stay empty.
        if self.values.len() == self.values.capacity() {
            self.values.reserve_exact(2 + self.values.len() / 4);
        }
        self.values.insert(place, value);
    }
}

impl Entries {
    /// No entries.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.values.len()
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.values.is_empty()
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.values.get(self.0.place(key).ok()?)
    }

    /// The value of a key, to change it.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        let place = self.0.place(key).ok()?;
        Arc::make_mut(&mut self.0).values.get_mut(place)
    }

    /// Whether there is a key.
    #[must_use]
    pub fn contains_key(&self, key: &str) -> bool {
        self.0.place(key).is_ok()
    }

    /// Sets the value of a key, and returns the one that it had.
    pub fn insert(&mut self, key: String, value: Value) -> Option<Value> {
        let content = Arc::make_mut(&mut self.0);
        match content.place(&key) {
            Ok(place) => content.values.get_mut(place).map(|old| std::mem::replace(old, value)),
            Err(place) => {
                content.put(place, key, value);
                None
            }
        }
    }

    /// Removes a key, and returns its value.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let place = self.0.place(key).ok()?;
        let content = Arc::make_mut(&mut self.0);
        Arc::make_mut(&mut content.keys).remove(place);
        Some(content.values.remove(place))
    }

    /// The place of a key, for a value that is set only where there is none.
    pub fn entry(&mut self, key: String) -> Entry<'_> {
        Entry { entries: self, key }
    }

    /// Keeps the entries for which `keep` returns true.
    pub fn retain(&mut self, mut keep: impl FnMut(&String, &mut Value) -> bool) {
        let content = Arc::make_mut(&mut self.0);
        let kept: Vec<bool> =
            content.keys.iter().zip(&mut content.values).map(|(key, value)| keep(key, value)).collect();
        if kept.iter().all(|kept| *kept) {
            return;
        }
        let mut of_keys = kept.iter();
        Arc::make_mut(&mut content.keys).retain(|_| of_keys.next() == Some(&true));
        let mut of_values = kept.iter();
        content.values.retain(|_| of_values.next() == Some(&true));
    }

    /// The keys and values, by key.
    pub fn iter(&self) -> Zip<slice::Iter<'_, String>, slice::Iter<'_, Value>> {
        self.0.keys.iter().zip(&self.0.values)
    }

    /// The keys and values, by key, to change the values.
    pub fn iter_mut(&mut self) -> Zip<slice::Iter<'_, String>, slice::IterMut<'_, Value>> {
        let content = Arc::make_mut(&mut self.0);
        content.keys.iter().zip(&mut content.values)
    }

    /// The keys, sorted.
    pub fn keys(&self) -> slice::Iter<'_, String> {
        self.0.keys.iter()
    }

    /// The keys, sorted, without the values.
    pub fn into_keys(self) -> vec::IntoIter<String> {
        let keys = self.0.keys.clone();
        drop(self);
        Arc::unwrap_or_clone(keys).into_iter()
    }

    /// The values, by key.
    pub fn values(&self) -> slice::Iter<'_, Value> {
        self.0.values.iter()
    }

    /// The values, by key, to change them.
    pub fn values_mut(&mut self) -> slice::IterMut<'_, Value> {
        Arc::make_mut(&mut self.0).values.iter_mut()
    }

    /// The same keys with other values.
    #[must_use]
    pub fn map_values(&self, change: impl FnMut(&Value) -> Value) -> Self {
        let values = self.0.values.iter().map(change).collect();
        Self(Arc::new(Content { keys: self.0.keys.clone(), values }))
    }
}

/// The place of a key in [`Entries`].
pub struct Entry<'a> {
    entries: &'a mut Entries,
    key: String,
}

impl<'a> Entry<'a> {
    /// The value, or this one, which is set if there is none.
    pub fn or_insert(self, value: Value) -> &'a mut Value {
        self.or_insert_with(|| value)
    }

    /// The value, or null, which is set if there is none.
    pub fn or_default(self) -> &'a mut Value {
        self.or_insert_with(Value::default)
    }

    /// The value, or the one that `make` returns, which is set if there is none.
    pub fn or_insert_with(self, make: impl FnOnce() -> Value) -> &'a mut Value {
        let Self { entries, key } = self;
        let content = Arc::make_mut(&mut entries.0);
        let place = match content.place(&key) {
            Ok(place) => place,
            Err(place) => {
                content.put(place, key, make());
                place
            }
        };
        &mut content.values[place]
    }
}

impl FromIterator<(String, Value)> for Entries {
    /// Of equal keys, the last one counts.
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(entries: I) -> Self {
        let mut pairs: Vec<(String, Value)> = entries.into_iter().collect();
        if !pairs.is_sorted_by(|(left, _), (right, _)| left < right) {
            pairs.sort_by(|(left, _), (right, _)| left.cmp(right));
            pairs.dedup_by(|later, earlier| {
                let is_same = later.0 == earlier.0;
                if is_same {
                    std::mem::swap(&mut later.1, &mut earlier.1);
                }
                is_same
            });
        }
        let mut keys = Vec::with_capacity(pairs.len());
        let mut values = Vec::with_capacity(pairs.len());
        for (key, value) in pairs {
            keys.push(key);
            values.push(value);
        }
        Self(Arc::new(Content { keys: keys::shared(keys), values }))
    }
}

impl Extend<(String, Value)> for Entries {
    fn extend<I: IntoIterator<Item = (String, Value)>>(&mut self, entries: I) {
        entries.into_iter().for_each(|(key, value)| drop(self.insert(key, value)));
    }
}

impl From<BTreeMap<String, Value>> for Entries {
    fn from(entries: BTreeMap<String, Value>) -> Self {
        entries.into_iter().collect()
    }
}

impl IntoIterator for Entries {
    type Item = (String, Value);
    type IntoIter = Zip<vec::IntoIter<String>, vec::IntoIter<Value>>;

    fn into_iter(self) -> Self::IntoIter {
        let Content { keys, values } = Arc::unwrap_or_clone(self.0);
        Arc::unwrap_or_clone(keys).into_iter().zip(values)
    }
}

impl<'a> IntoIterator for &'a Entries {
    type Item = (&'a String, &'a Value);
    type IntoIter = Zip<slice::Iter<'a, String>, slice::Iter<'a, Value>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a> IntoIterator for &'a mut Entries {
    type Item = (&'a String, &'a mut Value);
    type IntoIter = Zip<slice::Iter<'a, String>, slice::IterMut<'a, Value>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl fmt::Debug for Entries {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(self).finish()
    }
}

impl PartialEq for Entries {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entries {}

impl PartialOrd for Entries {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The order of a `BTreeMap`: entry by entry.
impl Ord for Entries {
    fn cmp(&self, other: &Self) -> Ordering {
        if Arc::ptr_eq(&self.0, &other.0) {
            return Ordering::Equal;
        }
        if Arc::ptr_eq(&self.0.keys, &other.0.keys) {
            return self.0.values.cmp(&other.0.values);
        }
        self.iter().cmp(other)
    }
}

#[cfg(test)]
mod tests;
