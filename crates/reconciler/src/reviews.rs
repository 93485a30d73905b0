//! Reviews of pull requests: what a merge would do, shown on them, and approvals taken from them.
//!
//! A look compares what a pull request has with what was reviewed last. Only if something differs, it is planned again.

mod desk;
mod evidence;
mod planning;

use std::collections::BTreeSet;
use std::time::Duration;

pub(crate) use desk::Desk;
use tokio_util::sync::CancellationToken;

use crate::configuration::Source;
use crate::job::Done;
use crate::shared::Shared;
use crate::status::Problem;

/// Which pull requests are looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// All that are open.
    All,
    /// Some, by their numbers.
    Some(BTreeSet<u64>),
}

/// How a look ended.
#[derive(Debug, Default)]
pub(crate) struct Looked {
    /// Pull requests that are looked at again, and after how long.
    pub again: Vec<(u64, Duration)>,
    /// Why the forge could not be looked at, and how long it asks to be left alone.
    pub failed: Option<(Problem, Duration)>,
}

/// Looks at pull requests of a source.
pub(crate) async fn look(
    shared: Shared,
    (number, source): (usize, Source),
    mut desk: Box<Desk>,
    wanted: Wanted,
    stop: CancellationToken,
) -> Done {
    let looked = desk.look(&shared, &source, &wanted, &stop).await;
    Done::Reviewed { source: number, desk, wanted, looked }
}
