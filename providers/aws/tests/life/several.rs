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
    in_turns(cases, |next| {
        let cloud = Arc::new(Cloud::start()?);
        next.each(|case| World::on(Arc::clone(&cloud)).and_then(|world| live(&world, case)));
        Ok(())
    })
}

/// Runs each case in a new cloud, because a cloud after a reset is not quite a new one.
pub fn each_anew<T: Sync>(cases: &[T], live: impl Fn(&World, &T) -> Result<()> + Sync) -> Result<()> {
    in_turns(cases, |next| {
        next.each(|case| World::new().and_then(|world| live(&world, case)));
        Ok(())
    })
}

/// Does something for each of some cases, each from the same beginning.
pub fn each_from<T: Sync>(
    begin: impl Fn(&World) -> Result<()> + Sync,
    cases: &[T],
    live: impl Fn(&World, &T) -> Result<()> + Sync,
) -> Result<()> {
    in_turns(cases, |next| {
        let mut world = World::new()?;
        begin(&world)?;
        world.keep()?;
        next.each(|case| world.restore().and_then(|()| live(&world, case)));
        Ok(())
    })
}

/// The cases that were not started yet.
struct Next<'a, T> {
    cases: &'a [T],
    begun: AtomicUsize,
    failed: Mutex<Vec<String>>,
}

impl<T> Next<'_, T> {
    /// Takes cases, one after the other, as long as there are any.
    fn each(&self, mut live: impl FnMut(&T) -> Result<()>) {
        while let Some(case) = self.cases.get(self.begun.fetch_add(1, Ordering::Relaxed)) {
            if let Err(error) = live(case) {
                self.fail(&error);
            }
        }
    }

    fn fail(&self, error: &anyhow::Error) {
        let text = format!("{error:?}");
        eprintln!("failed: {text}");
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }
}

fn in_turns<T: Sync>(cases: &[T], take: impl Fn(&Next<'_, T>) -> Result<()> + Sync) -> Result<()> {
    let next = Next { cases, begun: AtomicUsize::new(0), failed: Mutex::new(Vec::new()) };
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME.min(cases.len()) {
            scope.spawn(|| {
                if let Err(error) = take(&next) {
                    next.fail(&error);
                }
            });
        }
    });
    let failed = next.failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    ensure!(failed.is_empty(), "{} of {} failed:\n{}", failed.len(), cases.len(), failed.join("\n\n"));
    Ok(())
}
