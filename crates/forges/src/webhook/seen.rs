//! Deliveries that were received before.

use std::collections::{HashSet, VecDeque};

use slipway_limits::count;

/// The deliveries that were received last, a bounded number of them.
///
/// A delivery is known by its id and by its proof: the proof of a signed body cannot be changed, and whoever records a
/// delivery could send it again with another id.
#[derive(Debug, Default)]
pub(super) struct Seen {
    known: HashSet<String>,
    order: VecDeque<String>,
}

impl Seen {
    /// Remembers keys. Returns whether none of them was known.
    pub(super) fn is_new(&mut self, keys: &[String]) -> bool {
        if keys.iter().any(|key| self.known.contains(key)) {
            return false;
        }
        for key in keys {
            if self.known.insert(key.clone()) {
                self.order.push_back(key.clone());
            }
        }
        while self.order.len() > 2 * count::DELIVERIES {
            if let Some(oldest) = self.order.pop_front() {
                self.known.remove(&oldest);
            }
        }
        true
    }

    /// Forgets keys that could not be passed on, so that the sender can try again.
    pub(super) fn forget(&mut self, keys: &[String]) {
        for key in keys {
            self.known.remove(key);
        }
        self.order.retain(|key| !keys.contains(key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(number: usize) -> [String; 2] {
        [format!("id {number}"), format!("proof {number}")]
    }

    #[test]
    fn a_delivery_is_new_once() {
        let mut seen = Seen::default();
        assert!(seen.is_new(&keys(1)) && !seen.is_new(&keys(1)));
        assert!(!seen.is_new(&["id 2".to_owned(), "proof 1".to_owned()]), "the same proof with another id");
        assert!(seen.is_new(&keys(2)), "a refused id is not remembered");
        seen.forget(&keys(2));
        assert!(seen.is_new(&keys(2)));
    }

    #[test]
    fn the_memory_is_bounded() {
        let mut seen = Seen::default();
        for number in 0..2 * count::DELIVERIES {
            assert!(seen.is_new(&keys(number)));
        }
        assert_eq!(seen.known.len(), 2 * count::DELIVERIES);
        assert_eq!(seen.order.len(), 2 * count::DELIVERIES);
        assert!(!seen.is_new(&keys(count::DELIVERIES)), "the latest are known");
        assert!(seen.is_new(&keys(0)), "the earliest are not");
    }
}
