//! Waiting for a condition.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// How long a condition may take. Machines of continuous integration are slow at times.
const PATIENCE: Duration = Duration::from_secs(300);

/// The longest pause between two questions.
const LONGEST: Duration = Duration::from_secs(2);

/// Asks until there is an answer, for five minutes at most.
///
/// # Errors
/// When there is none by then, or asking fails.
pub fn until<T>(what: &str, ask: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    until_within(PATIENCE, what, ask)
}

/// Asks until there is an answer, with pauses that are longer where asking takes long: two processors are shared with what is
/// waited for.
///
/// # Errors
/// When there is none in time, or asking fails.
pub fn until_within<T>(
    patience: Duration,
    what: &str,
    mut ask: impl FnMut() -> Result<Option<T>>,
) -> Result<T> {
    let end = Instant::now() + patience;
    let mut pause = Duration::from_millis(10);
    loop {
        let begin = Instant::now();
        if let Some(answer) = ask()? {
            return Ok(answer);
        }
        let took = begin.elapsed();
        if Instant::now() > end {
            bail!("{what}: not within {} s", patience.as_secs());
        }
        thread::sleep(pause.max((took * 3).min(LONGEST)));
        pause = (pause * 3 / 2).min(Duration::from_millis(200));
    }
}
