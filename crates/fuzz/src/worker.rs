//! One process that mutates and runs, until it is through or one input is too much for it.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;

use anyhow::{Context as _, Result};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

use crate::mutate::mutated;
use crate::random::Random;
use crate::target::Target;

/// The memory limit of one input.
pub const MEMORY: u64 = 256 << 20;

/// The processor time limit of one input, in milliseconds. Time of other processes is not counted.
pub const MILLISECONDS: u64 = 1_000;

/// Maximum size of a corpus in bytes; further inputs replace earlier ones.
const CORPUS: usize = 16 << 20;

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
    /// How many different outcomes there were.
    pub outcomes: usize,
    /// The longest that one took, in milliseconds of a processor.
    pub longest_milliseconds: u64,
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
    let mut corpus = (target.corpus)()?;
    anyhow::ensure!(!corpus.is_empty(), "{} has no corpus", target.name);
    limit_memory()?;
    panic::set_hook(Box::new(|_| {}));
    let mut last = std::fs::File::create(last).context("the file of the last input")?;
    let mut random = Random::new(work.seed);
    let mut seen = BTreeSet::new();
    let mut size: usize = corpus.iter().map(Vec::len).sum();
    let mut outcome = Outcome::default();
    let begun = corpus.len();
    while outcome.executions < work.executions {
        let number = usize::try_from(outcome.executions).unwrap_or(usize::MAX);
        // First everything as it is.
        let input = match corpus.get(number).filter(|_| number < begun) {
            Some(input) => input.clone(),
            None => {
                let (one, other) = (random.below(corpus.len()), random.below(corpus.len()));
                mutated(&mut random, &corpus[one], &corpus[other])
            }
        };
        last.seek(SeekFrom::Start(0))?;
        last.set_len(0)?;
        last.write_all(&input)?;
        let before = processor();
        let ran = panic::catch_unwind(AssertUnwindSafe(|| (target.run)(&input)));
        let took = processor().saturating_sub(before);
        outcome.executions += 1;
        outcome.longest_milliseconds = outcome.longest_milliseconds.max(took);
        let words = match ran {
            Ok(words) => words,
            Err(cause) => {
                outcome.finding = Some(format!("a panic: {}", message(&*cause)));
                break;
            }
        };
        if took > MILLISECONDS {
            outcome.finding = Some(format!("{took} ms"));
            break;
        }
        let mut hasher = DefaultHasher::new();
        shape(&words).hash(&mut hasher);
        if seen.insert(hasher.finish()) && number >= begun {
            size += input.len();
            corpus.push(input);
            while size > CORPUS && corpus.len() > begun + 1 {
                let index = begun + random.below(corpus.len() - begun);
                size -= corpus.swap_remove(index).len();
            }
        }
    }
    outcome.outcomes = seen.len();
    outcome.peak_kibibytes = status("VmHWM:");
    Ok(outcome)
}

/// An outcome without its quotations: `a key is given twice`, for any key.
fn shape(words: &str) -> String {
    let mut shape = String::with_capacity(words.len());
    for (number, part) in words.split(['`', '"', '\'']).enumerate() {
        if number % 2 == 0 {
            shape.extend(part.chars().filter(|letter| !letter.is_ascii_digit()));
        }
    }
    shape
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

/// The processor time of this thread so far, in milliseconds.
pub(crate) fn processor() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let milliseconds = time.tv_sec * 1_000 + time.tv_nsec / 1_000_000;
    u64::try_from(milliseconds).unwrap_or_default()
}

fn message(cause: &(dyn std::any::Any + Send)) -> String {
    let text = cause.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| cause.downcast_ref::<String>().cloned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_quoted_makes_no_other_outcome() {
        assert_eq!(super::shape("the key `a` on line 3"), super::shape("the key `b` on line 14"));
        assert_ne!(super::shape("the key `a`"), super::shape("the value `a`"));
    }
}
