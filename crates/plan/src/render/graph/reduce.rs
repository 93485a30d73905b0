//! Transitive reduction.

/// Graphs with more nodes than this keep all their edges: the sets of what each node reaches would need more
/// than 50 MB.
const REDUCIBLE: usize = 20_000;

/// Leaves out every edge that a longer way implies. Edges come from lower positions to higher ones; for each
/// node those before it are sorted.
///
/// Takes time in proportion to edges × nodes ÷ 64.
pub(in super::super) fn reduce(before: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
    if before.len() > REDUCIBLE {
        return before;
    }
    let words = before.len().div_ceil(64);
    // All that must be done before each node, as bits.
    let mut reach: Vec<Vec<u64>> = Vec::with_capacity(before.len());
    before
        .into_iter()
        .map(|direct| {
            let mut all = vec![0_u64; words];
            // The nearest first: any node that implies an edge is between its ends.
            let mut kept: Vec<usize> = direct
                .into_iter()
                .rev()
                .filter(|earlier| {
                    let (word, bit) = (earlier / 64, earlier % 64);
                    if all.get(word).is_some_and(|bits| bits >> bit & 1 == 1) {
                        return false;
                    }
                    for (into, from) in all.iter_mut().zip(reach.get(*earlier).into_iter().flatten()) {
                        *into |= from;
                    }
                    if let Some(bits) = all.get_mut(word) {
                        *bits |= 1 << bit;
                    }
                    true
                })
                .collect();
            kept.reverse();
            reach.push(all);
            kept
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reachable(before: &[Vec<usize>]) -> Vec<Vec<bool>> {
        let mut all: Vec<Vec<bool>> = Vec::new();
        for direct in before {
            let mut own = vec![false; before.len()];
            for earlier in direct {
                own[*earlier] = true;
                for (into, from) in own.iter_mut().zip(&all[*earlier]) {
                    *into |= from;
                }
            }
            all.push(own);
        }
        all
    }

    #[test]
    fn a_shortcut_goes() {
        assert_eq!(reduce(vec![vec![], vec![0], vec![0, 1]]), [vec![], vec![0], vec![1]]);
    }

    proptest! {
        #[test]
        fn keeps_what_is_reachable_and_no_edge_too_many(
            dense in prop::collection::vec(prop::collection::btree_set(0_usize..40, 0..8), 0..40)
        ) {
            let before: Vec<Vec<usize>> = dense
                .iter()
                .enumerate()
                .map(|(position, set)| set.iter().copied().filter(|earlier| *earlier < position).collect())
                .collect();
            let reduced = reduce(before.clone());
            let reach = reachable(&before);
            prop_assert_eq!(reachable(&reduced), reach.clone());
            for direct in &reduced {
                for edge in direct {
                    prop_assert!(!direct.iter().any(|other| reach[*other][*edge]));
                }
            }
        }
    }
}
