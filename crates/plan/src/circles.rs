//! The order of deletions where recorded dependencies close a circle.
//!
//! The desired resources of one spec never depend on each other in a circle. The records of a state come from several specs: a
//! record keeps its dependencies until its resource changes or a later plan records them again. After a machine was installed
//! again, a state may therefore have resources that depend on each other. They are deleted nevertheless.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use petgraph::algo::kosaraju_scc;
use slipway_resource::Address;

use crate::assemble::Decided;
use crate::change::ChangeAction;
use crate::topology;

/// The dependencies of each object.
type Needs = BTreeMap<Address, BTreeSet<Address>>;

/// The greatest number of dependencies that are tried whether one of them alone closes all circles.
const TRIED: usize = 100;

/// How many objects still wait to be deleted before an object: those that use it, and those that are only recorded to come before.
type Waits = (usize, usize);

/// The dependencies by which deletions are ordered: without some that close circles between objects that are deleted.
///
/// Where one dependency that is only recorded closes all circles, that one is left out. Otherwise the object of a circle is deleted
/// first that the fewest others use, then the one on which the fewest others depend, then the one with the first address. `is_used` says whether the first object uses the second one, and is not only recorded to depend on it.
pub(crate) fn opened<'a>(
    standing_on: &'a Needs,
    decided: &Decided,
    is_used: &dyn Fn(&Address, &Address) -> bool,
) -> Cow<'a, Needs> {
    let circles = Circles::of(standing_on, decided, is_used);
    if circles.needs.is_empty() { Cow::Borrowed(standing_on) } else { Cow::Owned(circles.open(standing_on)) }
}

/// The dependencies between objects of circles.
#[derive(Default)]
struct Circles<'a> {
    needs: BTreeMap<&'a Address, Vec<&'a Address>>,
    /// By object: those that depend on it, and whether they use it.
    dependents: BTreeMap<&'a Address, BTreeMap<&'a Address, bool>>,
}

impl<'a> Circles<'a> {
    fn of(standing_on: &'a Needs, decided: &Decided, is_used: &dyn Fn(&Address, &Address) -> bool) -> Self {
        let leaving: Vec<&Address> = standing_on.keys().filter(|address| leaves(decided, address)).collect();
        let places: HashMap<&Address, usize> =
            leaving.iter().enumerate().map(|(place, address)| (*address, place)).collect();
        let mut edges: Vec<(usize, usize)> = Vec::new();
        for (own, address) in leaving.iter().enumerate() {
            let needs = standing_on.get(*address).into_iter().flatten();
            let needs = needs.filter_map(|needed| places.get(needed).copied());
            edges.extend(needs.filter(|needed| *needed != own).map(|needed| (own, needed)));
        }
        let graph = topology::graph(leaving.len(), edges.iter().copied());
        let mut circles = Self::default();
        if topology::ordered(&graph).len() == leaving.len() {
            return circles;
        }
        let mut component = vec![0; leaving.len()];
        for (number, members) in kosaraju_scc(&graph).into_iter().enumerate() {
            for member in members {
                if let Some(place) = component.get_mut(member.index()) {
                    *place = number;
                }
            }
        }
        for (own, needed) in edges {
            if component.get(own) != component.get(needed) {
                continue;
            }
            if let (Some(own), Some(needed)) = (leaving.get(own).copied(), leaving.get(needed).copied()) {
                circles.needs.entry(own).or_default().push(needed);
                circles.dependents.entry(needed).or_default().insert(own, is_used(own, needed));
            }
        }
        circles
    }

    /// The only recorded dependency that closes all circles.
    fn only_one(&self) -> Option<(&'a Address, &'a Address)> {
        let recorded = self.dependents.iter().flat_map(|(needed, dependents)| {
            let recorded = dependents.iter().filter(|(_, uses)| !**uses);
            recorded.map(move |(own, _)| (*own, *needed))
        });
        recorded.take(TRIED).find(|left_out| self.is_open_without(*left_out))
    }

    fn is_open_without(&self, left_out: (&Address, &Address)) -> bool {
        let places: HashMap<&Address, usize> =
            self.needs.keys().enumerate().map(|(place, address)| (*address, place)).collect();
        let all = self.needs.iter().flat_map(|(own, needs)| needs.iter().map(move |needed| (*own, *needed)));
        let edges = all
            .filter(|edge| *edge != left_out)
            .filter_map(|(own, needed)| Some((*places.get(own)?, *places.get(needed)?)));
        let graph = topology::graph(self.needs.len(), edges);
        topology::ordered(&graph).len() == self.needs.len()
    }

    /// The dependencies without those that close a circle. Takes time in proportion to their number.
    fn open(mut self, standing_on: &Needs) -> Needs {
        let mut opened = standing_on.clone();
        if let Some((own, needed)) = self.only_one() {
            if let Some(needs) = opened.get_mut(own) {
                needs.remove(needed);
            }
            return opened;
        }
        let waits = |dependents: &BTreeMap<&Address, bool>| -> Waits {
            let uses = dependents.values().filter(|uses| **uses).count();
            (uses, dependents.len() - uses)
        };
        let mut left: BTreeMap<&Address, Waits> =
            self.dependents.iter().map(|(address, dependents)| (*address, waits(dependents))).collect();
        let mut queue: BTreeSet<(Waits, &Address)> =
            left.iter().map(|(address, waits)| (*waits, *address)).collect();
        while let Some((_, next)) = queue.pop_first() {
            left.remove(next);
            for needed in self.needs.remove(next).into_iter().flatten() {
                let Some(waits) = left.get_mut(needed) else { continue };
                queue.remove(&(*waits, needed));
                let uses = self.dependents.get(needed).and_then(|dependents| dependents.get(next));
                match uses {
                    Some(true) => waits.0 = waits.0.saturating_sub(1),
                    _ => waits.1 = waits.1.saturating_sub(1),
                }
                queue.insert((*waits, needed));
            }
            // Those that are deleted later do not hold it any more.
            let later = self.dependents.remove(next).into_iter().flatten();
            for (dependent, _) in later.filter(|(dependent, _)| left.contains_key(*dependent)) {
                if let Some(needs) = opened.get_mut(dependent) {
                    needs.remove(next);
                }
            }
        }
        opened
    }
}

/// Whether an object of the address is deleted.
fn leaves(decided: &Decided, address: &Address) -> bool {
    decided.by_address.get(address).is_some_and(|decision| {
        let action = decision.change.action;
        action == ChangeAction::Delete || action.is_replace() || !decision.surplus.is_empty()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assemble::plain;
    use crate::change::ResourceChange;

    fn address(name: &str) -> Address {
        Address::new("any", name)
    }

    /// The dependencies by which a deletion is ordered, as `dependent needed`. A dependency `one needed!` is one that uses the other.
    fn order(action: ChangeAction, dependencies: &[&str]) -> Vec<String> {
        let mut decided = Decided::default();
        let mut standing_on = Needs::new();
        let mut used = BTreeSet::new();
        for dependency in dependencies {
            let (own, needed) = dependency.split_once(' ').unwrap();
            if let Some(needed) = needed.strip_suffix('!') {
                used.insert((address(own), address(needed)));
            }
            let (own, needed) = (address(own), address(needed.trim_end_matches('!')));
            for address in [&own, &needed] {
                let change = ResourceChange { action, ..ResourceChange::bare(address, "any", 1) };
                decided.by_address.insert(address.clone(), Box::new(plain(change)));
                standing_on.entry(address.clone()).or_default();
            }
            standing_on.entry(own).or_default().insert(needed);
        }
        let is_used = |own: &Address, needed: &Address| used.contains(&(own.clone(), needed.clone()));
        let opened = opened(&standing_on, &decided, &is_used);
        let lines = opened.iter().flat_map(|(own, needs)| {
            needs.iter().map(move |needed| format!("{} {}", own.name(), needed.name()))
        });
        lines.collect()
    }

    #[test]
    fn dependencies_without_a_circle_stay() {
        let straight = ["a b", "b c", "d c"];
        assert_eq!(order(ChangeAction::Delete, &straight), straight);
    }

    #[test]
    fn a_circle_is_opened_at_the_object_that_nothing_uses() {
        let circle = ["kubelet token", "pod kubelet!", "token pod!"];
        assert_eq!(order(ChangeAction::Delete, &circle), ["pod kubelet", "token pod"]);
    }

    #[test]
    fn only_the_dependency_that_closes_the_circle_is_left_out() {
        let circle =
            ["masters subnet!", "network workers", "subnet network!", "workers masters", "workers subnet!"];
        let wanted = ["masters subnet", "subnet network", "workers masters", "workers subnet"];
        assert_eq!(order(ChangeAction::Delete, &circle), wanted);
    }

    #[test]
    fn a_circle_of_equals_is_opened_at_the_first_address() {
        assert_eq!(order(ChangeAction::Delete, &["a b", "b c", "c a"]), ["a b", "b c"]);
        assert_eq!(order(ChangeAction::Delete, &["a b!", "b a!", "c a"]), ["a b", "c a"]);
    }

    #[test]
    fn only_deletions_are_ordered() {
        let circle = ["a b", "b a"];
        assert_eq!(order(ChangeAction::Update, &circle), circle);
        assert_eq!(order(ChangeAction::ReplaceDeleteFirst, &circle).len(), 1);
    }
}
