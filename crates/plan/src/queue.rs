//! The ready-queue: which step may run next, and which of those first.
//!
//! A step's priority is the length of the longest chain of steps that begins with it. The executor and the
//! estimate of time use the same queue.

use std::collections::{BTreeMap, BinaryHeap};

use slipway_resource::provider::RateClass;

use crate::step::{Step, StepId};

/// Steps by readiness. Memory and time are linear in steps and dependencies, up to a logarithm.
#[derive(Debug)]
pub struct ReadyQueue {
    dependents: Vec<Vec<u32>>,
    waiting_for: Vec<u32>,
    remaining_ms: Vec<u64>,
    class_of: Vec<usize>,
    classes: Vec<Class>,
    class_names: Vec<String>,
    skipped: Vec<bool>,
}

#[derive(Debug)]
struct Class {
    ready: BinaryHeap<(u64, std::cmp::Reverse<u32>)>,
    running: u32,
    limit: u32,
}

/// How many calls of a class run at once when the provider does not say.
const DEFAULT_CONCURRENCY: u32 = 10;

impl ReadyQueue {
    /// A queue of all steps of a plan; a step's dependencies must come before it.
    #[must_use]
    pub fn new(steps: &[Step], rate_classes: &BTreeMap<String, RateClass>) -> Self {
        let mut dependents = vec![Vec::new(); steps.len()];
        let mut waiting_for = vec![0; steps.len()];
        let mut class_names: Vec<String> = Vec::new();
        let mut index: BTreeMap<&str, usize> = BTreeMap::new();
        let mut class_of = Vec::with_capacity(steps.len());
        for (position, step) in steps.iter().enumerate() {
            for needed in &step.depends_on {
                if let (Some(list), Some(count)) =
                    (dependents.get_mut(needed.index()), waiting_for.get_mut(position))
                {
                    list.push(step.id.0);
                    *count += 1;
                }
            }
            let class = *index.entry(&step.rate_class).or_insert_with(|| {
                class_names.push(step.rate_class.clone());
                class_names.len() - 1
            });
            class_of.push(class);
        }
        let classes = class_names
            .iter()
            .map(|name| Class {
                ready: BinaryHeap::new(),
                running: 0,
                limit: rate_classes.get(name).map_or(DEFAULT_CONCURRENCY, |class| class.concurrency.max(1)),
            })
            .collect();
        let remaining_ms = remaining(steps, &dependents);
        let mut queue = Self {
            dependents,
            waiting_for,
            remaining_ms,
            class_of,
            classes,
            class_names,
            skipped: vec![false; steps.len()],
        };
        for step in steps {
            if step.depends_on.is_empty() {
                queue.push_ready(step.id);
            }
        }
        queue
    }

    /// Length of the longest chain of steps in milliseconds.
    #[must_use]
    pub fn critical_path_ms(&self) -> u64 {
        self.remaining_ms.iter().copied().max().unwrap_or(0)
    }

    /// Takes the next step that may run: among the classes with room that `may_start` lets through, the one
    /// that the most depends on. It counts as running from now on.
    pub fn pop(&mut self, may_start: &mut dyn FnMut(&str) -> bool) -> Option<StepId> {
        let mut best: Option<(u64, std::cmp::Reverse<u32>, usize)> = None;
        self.drop_skipped();
        for (position, class) in self.classes.iter().enumerate() {
            let Some(&(remaining, id)) = class.ready.peek() else {
                continue;
            };
            let better = best.is_none_or(|(other, other_id, _)| (remaining, id) > (other, other_id));
            let name = self.class_names.get(position).map_or("", String::as_str);
            if class.running < class.limit && better && may_start(name) {
                best = Some((remaining, id, position));
            }
        }
        let class = self.classes.get_mut(best?.2)?;
        class.running += 1;
        class.ready.pop().map(|(_, id)| StepId(id.0))
    }

    /// Takes skipped steps off the top of the heaps, each once.
    fn drop_skipped(&mut self) {
        for class in &mut self.classes {
            while let Some((_, id)) = class.ready.peek()
                && self.skipped.get(id.0 as usize).copied().unwrap_or(false)
            {
                class.ready.pop();
            }
        }
    }

    /// Takes a ready step out of turn, without counting it as running: one that was done in an earlier run.
    pub fn skip(&mut self, id: StepId) {
        if let Some(mark) = self.skipped.get_mut(id.index()) {
            *mark = true;
        }
        self.unlock(id);
    }

    /// Whether a step could run if its class had room.
    pub fn has_ready(&mut self) -> bool {
        self.drop_skipped();
        self.classes.iter().any(|class| !class.ready.is_empty())
    }

    /// Gives nothing out any more.
    pub fn close(&mut self) {
        for class in &mut self.classes {
            class.limit = 0;
        }
    }

    /// Counts a running step as done; what waited for it alone becomes ready.
    pub fn finish(&mut self, id: StepId) {
        self.release(id);
        self.unlock(id);
    }

    /// Counts a running step as failed: its dependents never become ready.
    pub fn fail(&mut self, id: StepId) {
        self.release(id);
    }

    /// Every step that depends on one, directly or not, sorted.
    #[must_use]
    pub fn dependents_of(&self, id: StepId) -> Vec<StepId> {
        let mut seen = vec![false; self.dependents.len()];
        let mut stack = vec![id.0];
        let mut found = Vec::new();
        while let Some(next) = stack.pop() {
            for dependent in self.dependents.get(next as usize).into_iter().flatten() {
                if let Some(mark) = seen.get_mut(*dependent as usize)
                    && !std::mem::replace(mark, true)
                {
                    found.push(StepId(*dependent));
                    stack.push(*dependent);
                }
            }
        }
        found.sort();
        found
    }

    fn release(&mut self, id: StepId) {
        if let Some(class) = self.class_of.get(id.index()).and_then(|class| self.classes.get_mut(*class)) {
            class.running = class.running.saturating_sub(1);
        }
    }

    fn unlock(&mut self, id: StepId) {
        let dependents = self.dependents.get(id.index()).cloned().unwrap_or_default();
        for dependent in dependents {
            let Some(count) = self.waiting_for.get_mut(dependent as usize) else {
                continue;
            };
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.push_ready(StepId(dependent));
            }
        }
    }

    fn push_ready(&mut self, id: StepId) {
        let remaining = self.remaining_ms.get(id.index()).copied().unwrap_or(0);
        if let Some(class) = self.class_of.get(id.index()).and_then(|class| self.classes.get_mut(*class)) {
            class.ready.push((remaining, std::cmp::Reverse(id.0)));
        }
    }
}

/// For each step, its own duration and that of the longest chain after it. Dependents come after their step,
/// so one pass from the end is enough.
fn remaining(steps: &[Step], dependents: &[Vec<u32>]) -> Vec<u64> {
    let mut remaining = vec![0u64; steps.len()];
    for (position, step) in steps.iter().enumerate().rev() {
        let behind = dependents
            .get(position)
            .into_iter()
            .flatten()
            .filter_map(|dependent| remaining.get(*dependent as usize))
            .copied()
            .max()
            .unwrap_or(0);
        if let Some(place) = remaining.get_mut(position) {
            *place = behind.saturating_add(step.estimate_ms);
        }
    }
    remaining
}

#[cfg(test)]
mod tests {
    use slipway_resource::Address;

    use super::*;
    use crate::step::StepAction;

    #[test]
    fn the_sum_of_the_longest_estimates_does_not_overflow() {
        let step = |id: u32, depends_on: Vec<StepId>| Step {
            id: StepId(id),
            address: Address::new("sim_network", "a"),
            action: StepAction::Create,
            identity: None,
            roll: None,
            depends_on,
            rate_class: String::new(),
            estimate_ms: u64::MAX,
            timeout_ms: 0,
        };
        let steps = [step(0, Vec::new()), step(1, vec![StepId(0)])];
        assert_eq!(remaining(&steps, &[vec![1], Vec::new()]), [u64::MAX, u64::MAX]);
    }
}
