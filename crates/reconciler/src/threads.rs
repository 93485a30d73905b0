//! Threads for work that keeps a processor busy.
//!
//! All jobs of a controller run on one thread, which also renews leases and gives signs of life. What reads specs of others, plans
//! or renders may take long, so it has threads of its own. They are bounded by source: what is slow in one source keeps no other one
//! waiting.

mod slots;

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, Span};

use slots::Common;
pub(crate) use slots::{Slot, Slots};

/// How many pieces of work of one kind run at once for one source.
const AT_ONCE: usize = 2;

/// How many clusters are planned at once, and how many runs are in progress at once, whatever the number of workers. The runtime has
/// 512 threads in all.
const MOST: usize = 128;

/// How many pull requests are planned at once on threads that all sources share.
const COMMON_REVIEWS: usize = 8;

/// The threads that sources share, beside those that each of them has for itself. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct CommonThreads {
    workers: usize,
    review: Common,
    plan: Common,
}

impl CommonThreads {
    /// The common threads of a controller with so many workers.
    pub fn new(workers: usize) -> Self {
        let plan = Common::new(workers.min(MOST / 2));
        Self { workers, review: Common::new(COMMON_REVIEWS), plan }
    }
}

/// The threads of one source.
#[derive(Clone, Debug)]
pub(crate) struct SourceThreads {
    /// They read the source and its specs.
    pub read: Threads,
    /// They plan and render its pull requests. Strangers cannot keep the source from being read.
    pub review: Slots,
    /// They plan its clusters.
    pub plan: Slots,
}

impl SourceThreads {
    /// The threads of one of some sources. Planning waits for networks most of the time, so all workers may plan for one source. Others of
    /// the source wait only when planning that was given up keeps all its threads, and all common ones.
    pub fn new(sources: usize, common: &CommonThreads) -> Self {
        let most = common.workers.min(MOST / 2 / sources.max(1));
        Self {
            read: Threads::default(),
            review: Slots::new(AT_ONCE, &common.review),
            plan: Slots::new(most, &common.plan),
        }
    }
}

/// The threads for one kind of work. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Threads(Arc<Semaphore>);

/// The work has no result: it panicked, or the runtime ends.
#[derive(Debug, thiserror::Error)]
#[error("a thread of the controller ended without a result")]
pub(crate) struct Lost(#[source] Option<JoinError>);

impl Default for Threads {
    fn default() -> Self {
        Self::new(AT_ONCE)
    }
}

impl Threads {
    /// Some threads, but at least one.
    pub fn new(most: usize) -> Self {
        Self(Arc::new(Semaphore::new(most.clamp(1, MOST))))
    }

    /// Runs work on a thread as soon as one is free. Work whose caller is dropped keeps its thread until it ends.
    ///
    /// # Errors
    /// When the work panics.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Lost> {
        // Nobody closes the semaphore, so this is always a permit.
        let place = self.0.clone().acquire_owned().await;
        keeping(place, work).await
    }

    /// Runs asynchronous work on a thread, as [`Self::run`] does. If its caller is dropped, the work ends at its next await.
    ///
    /// # Errors
    /// When the work panics.
    pub async fn run_async<W>(&self, work: impl FnOnce() -> W + Send + 'static) -> Result<W::Output, Lost>
    where
        W: Future,
        W::Output: Send + 'static,
    {
        let place = self.0.clone().acquire_owned().await;
        keeping_async(place, work).await
    }
}

/// Runs work on a thread, which keeps something until the work ends, whoever waits for it.
async fn keeping<T: Send + 'static>(
    kept: impl Send + 'static,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Lost> {
    let work = move || {
        let done = work();
        drop(kept);
        done
    };
    tokio::task::spawn_blocking(work).await.map_err(|error| Lost(Some(error)))
}

/// The same for asynchronous work. If the caller is dropped, the work ends at its next await. Its spans are those of the caller.
async fn keeping_async<W>(
    kept: impl Send + 'static,
    work: impl FnOnce() -> W + Send + 'static,
) -> Result<W::Output, Lost>
where
    W: Future,
    W::Output: Send + 'static,
{
    let given_up = CancellationToken::new();
    let _ends_with_this = given_up.clone().drop_guard();
    let (runtime, span) = (Handle::current(), Span::current());
    let work = move || {
        let work = span.in_scope(work);
        runtime.block_on(given_up.run_until_cancelled(Box::pin(work.instrument(span))))
    };
    keeping(kept, work).await?.ok_or(Lost(None))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn the_thread_of_the_controller_goes_on_while_work_is_done() {
        let threads = Threads::default();
        let (sender, receiver) = mpsc::channel();
        // On the same thread, the text would never be sent.
        let work = threads.run(move || receiver.recv_timeout(LONG));
        let (done, ()) = tokio::join!(work, async { sender.send("text").unwrap() });
        assert_eq!(done.unwrap().unwrap(), "text");
    }

    #[tokio::test]
    async fn only_some_pieces_of_work_run_at_once() {
        let threads = Threads::default();
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let piece = || {
            let (running, most) = (running.clone(), most.clone());
            threads.run(move || {
                let now = running.fetch_add(1, Ordering::SeqCst) + 1;
                most.fetch_max(now, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(20));
                running.fetch_sub(1, Ordering::SeqCst);
            })
        };
        futures_util::future::join_all((0..8).map(|_| piece())).await;
        assert!(most.load(Ordering::SeqCst) <= AT_ONCE);
    }

    #[tokio::test]
    async fn work_that_nobody_waits_for_ends_and_frees_its_thread() {
        /// Notes that it was dropped.
        struct Noted(Arc<AtomicBool>);
        impl Drop for Noted {
            fn drop(&mut self) {
                self.0.store(true, Ordering::SeqCst);
            }
        }
        let threads = Threads::default();
        let is_over = Arc::new(AtomicBool::new(false));
        for _ in 0..AT_ONCE {
            let noted = Noted(is_over.clone());
            let endless = threads.run_async(move || async move {
                let _noted = noted;
                std::future::pending::<()>().await;
            });
            assert!(timeout(Duration::from_millis(50), endless).await.is_err());
        }
        let next = timeout(LONG, threads.run_async(|| async { 7 })).await;
        assert_eq!(next.unwrap().unwrap(), 7);
        assert!(is_over.load(Ordering::SeqCst));
    }

    #[tokio::test]
    async fn a_panic_is_an_error() {
        let threads = Threads::default();
        for _ in 0..=AT_ONCE {
            let lost: Result<(), Lost> = threads.run(|| panic!("as a bug would do")).await;
            assert!(lost.is_err());
        }
    }
}
