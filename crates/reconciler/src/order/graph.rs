//! Sorting things that wait for others, and circles among them.

use std::collections::{BTreeMap, BTreeSet};

/// The things that each thing waits for.
pub(crate) type Waits<N> = BTreeMap<N, BTreeSet<N>>;

/// Things in an order in which none comes before one that it waits for.
#[derive(Debug)]
pub(crate) struct Sorted<N> {
    /// The things; the smaller one first where there is a choice.
    pub order: Vec<N>,
    /// The things that are in a circle, or wait for one that is.
    pub left: BTreeSet<N>,
}

/// Sorts things. A thing that is only waited for, and has no entry of its own, is left out.
pub(crate) fn sort<N: Ord + Clone>(waits: &Waits<N>) -> Sorted<N> {
    let mut open: BTreeMap<&N, usize> = BTreeMap::new();
    let mut waiting: BTreeMap<&N, Vec<&N>> = BTreeMap::new();
    for (one, others) in waits {
        let mut count = 0_usize;
        for other in others.iter().filter(|other| waits.contains_key(*other)) {
            waiting.entry(other).or_default().push(one);
            count += 1;
        }
        open.insert(one, count);
    }
    let free = open.iter().filter(|(_, count)| **count == 0);
    let mut ready: BTreeSet<&N> = free.map(|(one, _)| *one).collect();
    let mut order = Vec::new();
    while let Some(one) = ready.pop_first() {
        order.push(one.clone());
        for other in waiting.remove(one).unwrap_or_default() {
            if let Some(count) = open.get_mut(other) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    ready.insert(other);
                }
            }
        }
    }
    let done: BTreeSet<&N> = order.iter().collect();
    let left = waits.keys().filter(|one| !done.contains(*one)).cloned().collect();
    Sorted { order, left }
}

/// The circle that a thing is in or waits for, as `[a, b, a]`: each waits for the next one. `left` are the things that
/// [`sort`] left. Empty for a thing that is not among them.
pub(crate) fn circle<N: Ord + Clone>(waits: &Waits<N>, left: &BTreeSet<N>, from: &N) -> Vec<N> {
    let mut way: Vec<&N> = Vec::new();
    let mut one = from;
    loop {
        if let Some(at) = way.iter().position(|seen| *seen == one) {
            return way.split_off(at).into_iter().chain([one]).cloned().collect();
        }
        way.push(one);
        let next = waits.get(one).and_then(|others| others.iter().find(|other| left.contains(*other)));
        match next {
            Some(next) => one = next,
            None => return Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(pairs: &[(u32, &[u32])]) -> Waits<u32> {
        pairs.iter().map(|(one, others)| (*one, others.iter().copied().collect())).collect()
    }

    #[test]
    fn nothing_comes_before_what_it_waits_for() {
        let graph = waits(&[(1, &[3]), (2, &[]), (3, &[2, 9]), (4, &[])]);
        let sorted = sort(&graph);
        assert_eq!(sorted.order, [2, 3, 1, 4]);
        assert!(sorted.left.is_empty());
        assert!(circle(&graph, &sorted.left, &1).is_empty());
    }

    #[test]
    fn a_circle_is_found_from_all_that_wait_for_it() {
        let graph = waits(&[(1, &[2]), (2, &[3]), (3, &[2, 4]), (4, &[]), (5, &[5])]);
        let sorted = sort(&graph);
        assert_eq!(sorted.order, [4]);
        assert_eq!(sorted.left.iter().copied().collect::<Vec<_>>(), [1, 2, 3, 5]);
        assert_eq!(circle(&graph, &sorted.left, &1), [2, 3, 2]);
        assert_eq!(circle(&graph, &sorted.left, &5), [5, 5]);
    }

    /// A small generator of numbers; the same seed gives the same ones.
    fn next(seed: &mut u64) -> u64 {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *seed >> 33
    }

    #[test]
    fn any_graph_is_sorted_or_has_a_circle() {
        let mut seed = 7;
        for _ in 0..500 {
            let count = next(&mut seed) % 8 + 1;
            let mut graph = Waits::new();
            for one in 0..count {
                let others = (0..next(&mut seed) % 3).map(|_| next(&mut seed) % count).collect();
                graph.insert(one, others);
            }
            let sorted = sort(&graph);
            assert_eq!(sorted.order.len() + sorted.left.len(), graph.len());
            for (at, one) in sorted.order.iter().enumerate() {
                assert!(graph[one].iter().all(|other| sorted.order[..at].contains(other)), "{graph:?}");
            }
            for one in &sorted.left {
                let found = circle(&graph, &sorted.left, one);
                assert!(found.len() > 1 && found.first() == found.last(), "{graph:?}");
                assert!(found.windows(2).all(|pair| graph[&pair[0]].contains(&pair[1])), "{graph:?}");
            }
        }
    }
}
