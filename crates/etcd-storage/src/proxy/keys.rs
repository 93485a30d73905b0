//! Keys and ranges of a tenant, in the core.

use bytes::{Bytes, BytesMut};

use super::tenant::Tenant;

/// The `range_end` that means "every key from `key` on".
const FROM_KEY: &[u8] = b"\0";

/// Maps keys of a tenant to keys of the core: a prefix before each.
#[derive(Clone, Debug)]
pub struct Keys {
    prefix: Bytes,
    end: Bytes,
}

impl Keys {
    /// The keys of a tenant.
    pub fn of(tenant: &Tenant) -> Self {
        Self::below(tenant.prefix())
    }

    /// The keys below a prefix that ends with `/`.
    pub fn below(prefix: String) -> Self {
        // The first text that does not begin with the prefix: `0` follows `/`.
        let end = format!("{}0", prefix.trim_end_matches('/'));
        Self { prefix: prefix.into(), end: end.into() }
    }

    /// All keys, as a range of the core.
    pub fn all(&self) -> (Bytes, Bytes) {
        (self.prefix.clone(), self.end.clone())
    }

    /// The key of the core. An empty key stays empty: the core refuses it with etcd's own words.
    pub fn outer(&self, key: &[u8]) -> Bytes {
        if key.is_empty() {
            return Bytes::new();
        }
        let mut outer = BytesMut::with_capacity(self.prefix.len() + key.len());
        outer.extend_from_slice(&self.prefix);
        outer.extend_from_slice(key);
        outer.freeze()
    }

    /// The range of the core. An empty end means one key, [`FROM_KEY`] every key from the first on.
    pub fn outer_range(&self, key: &[u8], end: &[u8]) -> (Bytes, Bytes) {
        let outer_end = match end {
            [] => Bytes::new(),
            FROM_KEY => self.end.clone(),
            end => self.outer(end),
        };
        (self.outer(key), outer_end)
    }

    /// The range of the core that a watch follows. For a watch, and for no other request, an empty key means the
    /// lowest possible one.
    pub fn outer_watch(&self, key: &[u8], end: &[u8]) -> (Bytes, Bytes) {
        self.outer_range(if key.is_empty() { b"\0" } else { key }, end)
    }

    /// The tenant's key, or nothing if the core's key is not the tenant's.
    pub fn inner(&self, outer: &Bytes) -> Option<Bytes> {
        outer.starts_with(&self.prefix).then(|| outer.slice(self.prefix.len()..))
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn keys() -> Keys {
        Keys::of(&"one".parse().unwrap())
    }

    /// etcd's own rule: whether a key is in a range.
    fn contains(key: &[u8], (first, end): (&[u8], &[u8])) -> bool {
        match end {
            [] => key == first,
            FROM_KEY => key >= first,
            end => key >= first && key < end,
        }
    }

    fn key() -> impl Strategy<Value = Vec<u8>> {
        vec(prop_oneof![Just(0_u8), Just(b'/'), Just(b'0'), Just(0xff), any::<u8>()], 1..5)
    }

    proptest! {
        #[test]
        fn a_range_has_the_same_keys_inside_and_outside(key in key(), first in key(), end in vec(any::<u8>(), 0..5)) {
            let (outer_first, outer_end) = keys().outer_range(&first, &end);
            let outer = keys().outer(&key);
            prop_assert_eq!(contains(&key, (&first, &end)), contains(&outer, (&outer_first, &outer_end)));
            prop_assert_eq!(keys().inner(&outer), Some(Bytes::from(key)));
        }

        #[test]
        fn no_range_has_a_key_of_others(other in vec(any::<u8>(), 0..12), first in key(), end in vec(any::<u8>(), 0..5)) {
            let other = Bytes::from(other);
            let (outer_first, outer_end) = keys().outer_range(&first, &end);
            if keys().inner(&other).is_none() {
                prop_assert!(!contains(&other, (&outer_first, &outer_end)));
            }
        }
    }

    #[test]
    fn neighbours_in_the_order_of_keys_are_not_the_tenants() {
        for other in ["/one", "/one.", "/one0", "/oneself/x", "/on", "/two/x"] {
            assert_eq!(keys().inner(&Bytes::from(other)), None, "{other}");
        }
    }
}
