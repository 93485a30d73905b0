//! How long a plan will take: its steps played through the executor's own queue.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use slipway_resource::provider::RateClass;

use crate::queue::ReadyQueue;
use crate::step::{Step, StepId};

/// Expected duration of some steps in milliseconds, under the pace limits.
#[must_use]
pub fn estimate_ms(steps: &[Step], rate_classes: &BTreeMap<String, RateClass>) -> u64 {
    schedule(steps, rate_classes).iter().map(|(_, end)| *end).max().unwrap_or(0)
}

/// The times at which each step is expected to begin and to end, in milliseconds from the start.
#[must_use]
pub fn schedule(steps: &[Step], rate_classes: &BTreeMap<String, RateClass>) -> Vec<(u64, u64)> {
    let mut times = vec![(0, 0); steps.len()];
    let mut queue = ReadyQueue::new(steps, rate_classes);
    let mut running: BinaryHeap<Reverse<(u64, u32)>> = BinaryHeap::new();
    let mut pace = Pace::new(rate_classes);
    let mut now = 0;
    loop {
        while let Some(id) = queue.pop(&mut |_| true) {
            let (Some(step), Some(time)) = (steps.get(id.index()), times.get_mut(id.index())) else {
                continue;
            };
            let begin = pace.admit(&step.rate_class, now);
            *time = (begin, begin.saturating_add(step.estimate_ms));
            running.push(Reverse((time.1, id.0)));
        }
        let Some(Reverse((end, id))) = running.pop() else {
            return times;
        };
        now = now.max(end);
        queue.finish(StepId(id));
    }
}

/// When each class may begin its next call, in microseconds.
struct Pace<'a> {
    classes: &'a BTreeMap<String, RateClass>,
    next_us: BTreeMap<&'a str, u64>,
}

impl<'a> Pace<'a> {
    fn new(classes: &'a BTreeMap<String, RateClass>) -> Self {
        Self { classes, next_us: BTreeMap::new() }
    }

    /// When a call of a class that is ready at `now` begins, in milliseconds.
    fn admit(&mut self, class: &str, now: u64) -> u64 {
        let Some((name, limits)) = self.classes.get_key_value(class) else {
            return now;
        };
        let Some(per_second) = limits.per_second.filter(|rate| *rate > 0.0) else {
            return now;
        };
        let begin = self.next_us.get(name.as_str()).copied().unwrap_or(0).max(now.saturating_mul(1000));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a pause between two calls"
        )]
        let pause = (1_000_000.0 / per_second) as u64;
        self.next_us.insert(name, begin.saturating_add(pause));
        begin / 1000
    }
}
