//! The inputs that a campaign begins with, and those that are mutated.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::random::Random;
use crate::target::Reached;

/// The largest file that is taken into a corpus.
const LARGEST: u64 = 256 << 10;

/// Maximum size of a pool in bytes; further inputs replace earlier ones.
const POOL: usize = 8 << 20;

/// Longer inputs are mutated seldom: a reader finds out the same in short ones, and in a fraction of the time.
const SHORT: usize = 8 << 10;

/// The inputs that are mutated, by how far their reader came with them.
#[derive(Default)]
pub(crate) struct Corpus {
    taken: Pool,
    refused: Pool,
    long: Pool,
}

impl Corpus {
    /// Adds an input. A given one is never replaced.
    pub(crate) fn add(&mut self, random: &mut Random, reached: Reached, input: Vec<u8>, is_given: bool) {
        let pool = match reached {
            _ if input.len() > SHORT => &mut self.long,
            Reached::Taken => &mut self.taken,
            _ => &mut self.refused,
        };
        pool.add(random, input, is_given);
    }

    /// Two inputs. Most are ones that were taken, since a change of a refused one is seldom looked at.
    pub(crate) fn pick_two(&self, random: &mut Random) -> (&[u8], &[u8]) {
        (self.pick(random), self.pick(random))
    }

    fn pick(&self, random: &mut Random) -> &[u8] {
        let pools = match random.below(64) {
            0 => [&self.long, &self.taken, &self.refused],
            1..=16 => [&self.refused, &self.taken, &self.long],
            _ => [&self.taken, &self.refused, &self.long],
        };
        pools.into_iter().find_map(|pool| pool.pick(random)).unwrap_or_default()
    }
}

/// Inputs in no order, the given ones first.
#[derive(Default)]
struct Pool {
    inputs: Vec<Vec<u8>>,
    given: usize,
    size: usize,
}

impl Pool {
    fn add(&mut self, random: &mut Random, input: Vec<u8>, is_given: bool) {
        self.size += input.len();
        self.inputs.push(input);
        if is_given {
            self.given = self.inputs.len();
        }
        while self.size > POOL && self.inputs.len() > self.given + 1 {
            let index = self.given + random.below(self.inputs.len() - self.given);
            self.size -= self.inputs.swap_remove(index).len();
        }
    }

    /// Of two inputs the shorter one, seven times of eight.
    fn pick(&self, random: &mut Random) -> Option<&[u8]> {
        let (one, other) = (random.pick(&self.inputs)?, random.pick(&self.inputs)?);
        let is_one = (one.len() <= other.len()) == (random.below(8) > 0);
        Some(if is_one { one } else { other })
    }
}

/// The folder of the workspace.
#[must_use]
pub fn workspace() -> &'static Path {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).unwrap_or(own)
}

/// Every file below some folders of the workspace that a rule accepts, in order. Findings of earlier
/// campaigns are in `fixtures/fuzz/<target>` and always included.
///
/// # Errors
/// When a folder cannot be read.
pub fn files(folders: &[&str], takes: impl Fn(&Path) -> bool) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut found = Vec::new();
    let mut open: Vec<PathBuf> = folders.iter().map(|folder| workspace().join(folder)).collect();
    while let Some(folder) = open.pop() {
        if !folder.is_dir() {
            continue;
        }
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if takes(&path) && path.metadata()?.len() <= LARGEST {
                found.push(path);
            }
        }
    }
    found.sort();
    found.into_iter().map(|path| Ok((path.clone(), fs::read(&path)?))).collect()
}

/// Whether a path ends with one of these.
pub(crate) fn ends(path: &Path, endings: &[&str]) -> bool {
    let name = path.to_string_lossy();
    endings.iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_pool_keeps_what_was_given() {
        let (mut pool, mut random) = (Pool::default(), Random::new(1));
        pool.add(&mut random, b"given".to_vec(), true);
        for _ in 0..20 {
            pool.add(&mut random, vec![0; POOL / 4], false);
        }
        assert_eq!(pool.inputs[0], b"given");
        assert!(pool.size <= POOL && pool.inputs.len() > 2, "{}", pool.size);
    }

    #[test]
    fn short_inputs_that_were_taken_are_changed_most_often() {
        let (mut corpus, mut random) = (Corpus::default(), Random::new(1));
        corpus.add(&mut random, Reached::Taken, b"short".to_vec(), true);
        corpus.add(&mut random, Reached::Taken, b"an input that is longer".to_vec(), false);
        corpus.add(&mut random, Reached::Content, b"refused".to_vec(), false);
        corpus.add(&mut random, Reached::Taken, vec![0; SHORT + 1], true);
        let mut picked = |input: &[u8]| (0..1_000).filter(|_| corpus.pick(&mut random) == input).count();
        let (short, longer, refused) =
            (picked(b"short"), picked(b"an input that is longer"), picked(b"refused"));
        assert!(short > longer && short > 400 && longer > 100 && refused > 150, "{short} {longer} {refused}");
        let long = picked(&[0; SHORT + 1]);
        assert!(long > 0 && long < 50, "{long}");
    }
}
