//! The services that a tenant's clients call.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{StreamExt as _, stream};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::codegen::BoxStream;
use tonic::{Request, Status};

use super::core::Core;
use super::leases::Leases;
use super::pace::Pace;
use super::records::Records;
use super::refusal;
use super::settings::Limits;
use super::translate::Translator;
use super::usage::Usage;

mod cluster;
mod keep_alive;
mod kv;
mod lease;
mod maintenance;
mod watch;

/// A tenant's server: every service of etcd that is allowed.
#[derive(Clone, Debug)]
pub struct Server(pub Arc<Parts>);

/// The shared parts of the services.
#[derive(Debug)]
pub struct Parts {
    /// The core.
    pub core: Arc<Core>,
    /// Requests and answers.
    pub translator: Translator,
    /// The tenant's leases.
    pub leases: Leases,
    /// The tenant's keys and bytes.
    pub usage: Arc<Usage>,
    /// The records in the core.
    pub records: Arc<Records>,
    /// The rate of requests.
    pub pace: Pace,
    /// The limits.
    pub limits: Limits,
    /// The URL in the answer to `MemberList`.
    pub advertise: Option<String>,
    /// The streams that are open.
    pub streams: Places,
    /// The watches that are open.
    pub watches: Places,
    /// Ends all streams.
    pub stop: CancellationToken,
}

/// A number of places, of which some are taken.
#[derive(Debug)]
pub struct Places {
    taken: Arc<AtomicUsize>,
    all: usize,
}

/// A place that is taken until this is dropped.
#[derive(Debug)]
pub struct Place(Arc<AtomicUsize>);

impl Places {
    /// All places are free.
    pub fn new(all: usize) -> Self {
        Self { taken: Arc::default(), all }
    }

    /// Takes a place.
    pub fn take(&self) -> Result<Place, Status> {
        let more = |taken| (taken < self.all).then_some(taken + 1);
        self.taken
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .map_err(|_| refusal::too_many_requests())?;
        Ok(Place(Arc::clone(&self.taken)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The answers of a stream. Reading them drives the session, which ends when the client no longer reads.
pub fn driven<T: Send + 'static>(
    session: impl Future<Output = ()> + Send + 'static,
    answers: mpsc::Receiver<Result<T, Status>>,
) -> BoxStream<T> {
    let session = stream::once(session).filter_map(|()| std::future::ready(None));
    Box::pin(stream::select(ReceiverStream::new(answers), session))
}

/// Runs both directions of a session until one ends with an error, both have ended, or the proxy stops. The client gets
/// the error.
async fn run_session<T>(
    parts: &Parts,
    answers: &mpsc::Sender<Result<T, Status>>,
    ask: impl Future<Output = Result<(), Status>>,
    answer: impl Future<Output = Result<(), Status>>,
) {
    let both = async { tokio::try_join!(ask, answer) };
    let error = match parts.stop.run_until_cancelled(both).await {
        Some(Ok(_)) => return,
        Some(Err(status)) => status,
        None => refusal::stopping(),
    };
    // A client that has gone reads no error.
    let _ = answers.send(Err(error)).await;
}

/// Messages that wait on a stream, in one direction. More than that waits at the sender.
pub const WAITING: usize = 64;

/// A request for the core with what matters of the metadata: whether the client wants an error when there is no leader.
pub fn with_leader<A, B>(from: &Request<A>, message: B) -> Request<B> {
    const HAS_LEADER: &str = "hasleader";
    let mut request = Request::new(message);
    if let Some(value) = from.metadata().get(HAS_LEADER) {
        request.metadata_mut().insert(HAS_LEADER, value.clone());
    }
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_taken_and_given_back() {
        let places = Places::new(1);
        let place = places.take().unwrap();
        assert!(places.take().is_err());
        drop(place);
        assert!(places.take().is_ok());
    }
}
