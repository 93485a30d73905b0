//! One process that mutates and runs, until it is through or one input is too much for it.

use std::hash::{DefaultHasher, Hasher as _};
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;

use anyhow::{Context as _, Result};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

use crate::corpus::Corpus;
use crate::last::Last;
use crate::mutate::{Dictionary, Mutator};
use crate::random::Random;
use crate::target::{Reached, Target};

/// The memory limit of one input.
pub const MEMORY: u64 = 256 << 20;

/// The processor time limit of one input, in microseconds. Time of other processes is not counted.
pub const LIMIT: u64 = 1_000_000;

/// At most one of so many executions has a large input.
const LARGE: u64 = 10;

/// The number of different outcomes that are counted.
const OUTCOMES: usize = 1 << 22;

/// The work of a worker.
#[derive(Clone, Debug)]
pub struct Work {
    /// How many inputs are run.
    pub executions: u64,
    /// Decides which.
    pub seed: u64,
}

/// The result of the work.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Outcome {
    /// How many inputs were run.
    pub executions: u64,
    /// How many inputs had the right syntax.
    pub formed: u64,
    /// How many inputs were taken.
    pub taken: u64,
    /// How many different outcomes there were.
    pub outcomes: usize,
    /// The longest that one took, in microseconds of a processor.
    pub longest_microseconds: u64,
    /// The most memory that the process had, in KiB.
    pub peak_kibibytes: u64,
    /// The problem of the last input.
    pub finding: Option<String>,
}

/// Runs a target. Before each execution its input is written to `last`, so that it is known when the process dies.
///
/// # Errors
/// When the corpus or a file cannot be used.
pub fn run(target: &Target, work: &Work, last: &Path) -> Result<Outcome> {
    let first = (target.corpus)()?;
    anyhow::ensure!(!first.is_empty(), "{} has no corpus", target.name);
    let mut mutator = Mutator::new(Random::new(work.seed), target.form, Dictionary::of(&first));
    limit_memory()?;
    panic::set_hook(Box::new(|_| {}));
    let mut last = Last::create(last)?;
    let mut seen = Seen::default();
    let mut corpus = Corpus::default();
    let mut outcome = Outcome::default();
    // First everything as it is.
    let mut first = first.into_iter();
    let most = usize::try_from(work.executions / LARGE).unwrap_or(usize::MAX);
    let mut large_ones = some_of((target.large)()?, most);
    while outcome.executions < work.executions {
        let given = first.next();
        let is_given = given.is_some();
        let large = if is_given { None } else { large_ones.next() };
        let is_large = large.is_some();
        let input = given.or_else(|| large.map(|large| large.input())).unwrap_or_else(|| {
            let (one, other) = corpus.pick_two(&mut mutator.random);
            mutator.mutated(one, other)
        });
        last.write(&input)?;
        let before = processor();
        let ran = panic::catch_unwind(AssertUnwindSafe(|| (target.run)(&input)));
        let took = processor().saturating_sub(before);
        outcome.executions += 1;
        outcome.longest_microseconds = outcome.longest_microseconds.max(took);
        let verdict = match ran {
            Ok(verdict) => verdict,
            Err(cause) => {
                outcome.finding = Some(format!("a panic: {}", message(&*cause)));
                break;
            }
        };
        if took > LIMIT {
            outcome.finding = Some(format!("{} ms", took / 1_000));
            break;
        }
        match verdict.reached {
            Reached::Syntax => {}
            Reached::Content => outcome.formed += 1,
            Reached::Taken => {
                outcome.formed += 1;
                outcome.taken += 1;
            }
            Reached::Unlawful => {
                outcome.finding = Some(verdict.words);
                break;
            }
        }
        if !is_large && (seen.is_new(&verdict.words) || is_given) {
            corpus.add(&mut mutator.random, verdict.reached, input, is_given);
        }
    }
    outcome.outcomes = seen.count;
    outcome.peak_kibibytes = status("VmHWM:");
    Ok(outcome)
}

/// Not more than so many of all, from the first to the last.
fn some_of<T>(all: Vec<T>, most: usize) -> impl Iterator<Item = T> {
    let step = all.len().div_ceil(most.max(1)).max(1);
    all.into_iter().step_by(step)
}

/// The outcomes that were seen, as a bit for each hash of one: it does not grow, however many there are.
struct Seen {
    bits: Vec<u64>,
    count: usize,
}

impl Default for Seen {
    fn default() -> Self {
        Self { bits: vec![0; OUTCOMES / 64], count: 0 }
    }
}

impl Seen {
    fn is_new(&mut self, words: &str) -> bool {
        let place = usize::try_from(shape(words)).unwrap_or_default() % OUTCOMES;
        let Some(bits) = self.bits.get_mut(place / 64) else { return false };
        let is_new = *bits & (1 << (place % 64)) == 0;
        *bits |= 1 << (place % 64);
        self.count += usize::from(is_new);
        is_new
    }
}

/// The hash of an outcome without its quotations and numbers: `a key is given twice`, for any key.
fn shape(words: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    for (number, part) in words.split(['`', '"', '\'']).enumerate() {
        if number % 2 == 0 {
            part.split(|letter: char| letter.is_ascii_digit()).for_each(|part| hasher.write(part.as_bytes()));
        }
    }
    hasher.finish()
}

/// Limits the additional memory of the process from now on.
fn limit_memory() -> Result<()> {
    let now = status("VmSize:") << 10;
    let most = now + MEMORY;
    let maximum = getrlimit(Resource::As).maximum;
    setrlimit(Resource::As, Rlimit { current: Some(most), maximum }).context("the limit of memory")
}

/// A number of `/proc/self/status`, in KiB.
fn status(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// The processor time of this thread so far, in microseconds.
pub(crate) fn processor() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let microseconds = time.tv_sec * 1_000_000 + time.tv_nsec / 1_000;
    u64::try_from(microseconds).unwrap_or_default()
}

fn message(cause: &(dyn std::any::Any + Send)) -> String {
    let text = cause.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| cause.downcast_ref::<String>().cloned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_makes_no_other_outcome() {
        assert_eq!(shape("the key `a` on line 3"), shape("the key `b` on line 14"));
        assert_ne!(shape("the key `a`"), shape("the value `a`"));
    }

    #[test]
    fn some_are_spread_over_all() {
        assert_eq!(some_of((0..10).collect(), 3).collect::<Vec<_>>(), [0, 4, 8]);
        assert_eq!(some_of((0..3).collect(), 50).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(some_of(Vec::<u8>::new(), 0).count(), 0);
    }

    #[test]
    fn an_outcome_is_new_once() {
        let mut seen = Seen::default();
        assert!(seen.is_new("one") && !seen.is_new("one") && seen.is_new("another"));
        assert_eq!(seen.count, 2);
    }
}
