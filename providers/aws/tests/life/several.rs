//! Many lives, some of them at a time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, ensure};

use crate::cloud::Cloud;
use crate::world::World;

/// How many lives there are at a time.
const AT_A_TIME: usize = 3;

/// Does something for each of some cases, each in a world of its own.
pub fn each<T: Sync>(cases: &[T], live: impl Fn(&World, &T) -> Result<()> + Sync) -> Result<()> {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    let fail = |error: anyhow::Error| {
        failed.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{error:?}"))
    };
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME.min(cases.len()) {
            scope.spawn(|| {
                let cloud = match Cloud::start() {
                    Ok(cloud) => Arc::new(cloud),
                    Err(error) => return fail(error),
                };
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(error) = World::on(Arc::clone(&cloud)).and_then(|world| live(&world, case)) {
                        fail(error);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    ensure!(failed.is_empty(), "{} of {} failed:\n{}", failed.len(), cases.len(), failed.join("\n\n"));
    Ok(())
}
