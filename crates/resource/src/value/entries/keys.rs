//! Lists of keys that maps share.

use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Weak};

/// How many lists a thread remembers at most.
const REMEMBERED: usize = 1024;

/// The length of the longest list that is remembered: a longer one is rarely that of a second map.
const LONGEST: usize = 64;

thread_local! {
    /// The lists that were used last, by their hash. A list that no map has any more is freed.
    static KNOWN: RefCell<Vec<Weak<Vec<String>>>> = const { RefCell::new(Vec::new()) };
}

/// The same keys, as the list of an earlier map of this thread where one is still in use.
pub(super) fn shared(keys: Vec<String>) -> Arc<Vec<String>> {
    if keys.len() > LONGEST {
        return Arc::new(keys);
    }
    let texts = || keys.iter().map(String::as_str);
    let place = place_of(texts());
    match found(place, texts()) {
        Some(found) => found,
        None => {
            let keys = Arc::new(keys);
            remember(place, &keys);
            keys
        }
    }
}

/// Puts a key into a list, or takes the list of an earlier map that has the same keys.
pub(super) fn put(keys: &mut Arc<Vec<String>>, place: usize, key: String) {
    if keys.len() >= LONGEST {
        return Arc::make_mut(keys).insert(place, key);
    }
    let (before, after) = keys.split_at(place);
    let texts = || before.iter().chain(std::iter::once(&key)).chain(after).map(String::as_str);
    let of_list = place_of(texts());
    match found(of_list, texts()) {
        Some(found) => *keys = found,
        None => {
            let own = Arc::make_mut(keys);
            own.reserve_exact(1);
            own.insert(place, key);
            remember(of_list, keys);
        }
    }
}

fn found<'a>(place: usize, mut keys: impl Iterator<Item = &'a str>) -> Option<Arc<Vec<String>>> {
    // Without the memory, as at the end of a thread, nothing is found.
    let known = KNOWN.try_with(|known| known.try_borrow().ok()?.get(place)?.upgrade()).ok()??;
    let is_same = known.iter().all(|key| keys.next() == Some(key)) && keys.next().is_none();
    is_same.then_some(known)
}

fn remember(place: usize, keys: &Arc<Vec<String>>) {
    let _ = KNOWN.try_with(|known| {
        let Ok(mut known) = known.try_borrow_mut() else { return };
        known.resize_with(REMEMBERED, Weak::new);
        if let Some(remembered) = known.get_mut(place) {
            *remembered = Arc::downgrade(keys);
        }
    });
}

fn place_of<'a>(keys: impl Iterator<Item = &'a str>) -> usize {
    let mut hasher = DefaultHasher::new();
    keys.for_each(|key| key.hash(&mut hasher));
    usize::try_from(hasher.finish() % REMEMBERED as u64).unwrap_or_default()
}
