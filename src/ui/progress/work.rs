//! The steps of a run as progress shows them, and how long the open ones take.

use slipway_plan::{Plan, StepId, Titles};

/// The steps of a run.
pub(super) struct Work {
    /// All steps; a step comes after those that it waits for.
    pub steps: Vec<Title>,
    /// Expected duration of the whole in milliseconds.
    pub estimate_ms: u64,
    /// Length of the longest chain of steps in milliseconds.
    pub longest_ms: u64,
}

/// One step.
pub(super) struct Title {
    /// Its position.
    pub id: StepId,
    /// What it does, in the words of the plan.
    pub text: String,
    /// The steps before it.
    pub waits_for: Vec<StepId>,
    /// Expected duration in milliseconds.
    pub estimate_ms: u64,
}

impl Work {
    /// The steps of a plan.
    pub fn of(plan: &Plan) -> Self {
        let titles = Titles::of(plan);
        let steps = plan.steps.iter().map(|step| Title {
            id: step.id,
            text: titles.title(step),
            waits_for: step.depends_on.clone(),
            estimate_ms: step.estimate_ms,
        });
        Self { steps: steps.collect(), estimate_ms: plan.estimate_ms, longest_ms: plan.critical_path_ms }
    }

    /// What a step does; empty for a step that does not exist.
    pub fn title(&self, id: StepId) -> &str {
        self.steps.get(id.index()).map_or("", |step| step.text.as_str())
    }

    /// Milliseconds until the last step is done: the longest chain of open steps, as much longer as the limits of rates make the
    /// whole run longer than its longest chain. `is_done` is by position; `ran_ms` is how long a running step has run.
    pub fn remaining_ms(&self, is_done: &[bool], ran_ms: impl Fn(StepId) -> u64) -> u64 {
        let mut ends: Vec<u64> = Vec::with_capacity(self.steps.len());
        for (position, step) in self.steps.iter().enumerate() {
            if is_done.get(position).copied().unwrap_or(false) {
                ends.push(0);
                continue;
            }
            let begins = step.waits_for.iter().filter_map(|id| ends.get(id.index())).copied().max();
            let takes = step.estimate_ms.saturating_sub(ran_ms(step.id));
            ends.push(begins.unwrap_or(0).saturating_add(takes));
        }
        let chain = ends.into_iter().max().unwrap_or(0);
        if self.longest_ms == 0 || self.estimate_ms <= self.longest_ms {
            return chain;
        }
        let paced = u128::from(chain) * u128::from(self.estimate_ms) / u128::from(self.longest_ms);
        u64::try_from(paced).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two steps one after the other, and one beside them.
    fn work(estimate_ms: u64) -> Work {
        let step = |position: u32, waits_for: &[u32], estimate_ms| Title {
            id: StepId(position),
            text: String::new(),
            waits_for: waits_for.iter().copied().map(StepId).collect(),
            estimate_ms,
        };
        let steps = vec![step(0, &[], 10), step(1, &[0], 30), step(2, &[], 15)];
        Work { steps, estimate_ms, longest_ms: 40 }
    }

    #[test]
    fn the_longest_open_chain_remains() {
        let none = |_: StepId| 0;
        assert_eq!(work(40).remaining_ms(&[false; 3], none), 40);
        assert_eq!(work(40).remaining_ms(&[true, false, false], none), 30);
        assert_eq!(work(40).remaining_ms(&[true, false, false], |id| if id.0 == 1 { 20 } else { 0 }), 15);
        assert_eq!(work(40).remaining_ms(&[true, false, true], |_| 60), 0);
        assert_eq!(work(40).remaining_ms(&[true; 3], none), 0);
    }

    #[test]
    fn limits_of_rates_make_the_rest_longer_too() {
        assert_eq!(work(80).remaining_ms(&[false; 3], |_| 0), 80);
        assert_eq!(work(80).remaining_ms(&[true, false, true], |_| 0), 60);
    }
}
