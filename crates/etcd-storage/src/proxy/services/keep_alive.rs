//! Leases that are kept alive: a stream to the core for each stream of a client.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::codegen::BoxStream;
use tonic::{Request, Response, Status, Streaming};

use crate::api::etcdserverpb::lease_client::LeaseClient;
use crate::api::etcdserverpb::{LeaseKeepAliveRequest, LeaseKeepAliveResponse};
use crate::proxy::refusal;

use super::{Parts, Place, WAITING, driven, run_session, with_leader};

type Answer = Result<LeaseKeepAliveResponse, Status>;

/// Opens a stream.
pub fn open(
    parts: &Arc<Parts>,
    request: Request<Streaming<LeaseKeepAliveRequest>>,
) -> Result<Response<BoxStream<LeaseKeepAliveResponse>>, Status> {
    let place = parts.streams.take()?;
    let (answers, receiver) = mpsc::channel(WAITING);
    let (to_core, requests) = mpsc::channel(WAITING);
    let requests = with_leader(&request, ReceiverStream::new(requests));
    let session = Session { parts: Arc::clone(parts), answers, asked: Mutex::default(), _place: place };
    Ok(Response::new(driven(session.run(request.into_inner(), to_core, requests), receiver)))
}

struct Session {
    parts: Arc<Parts>,
    answers: mpsc::Sender<Answer>,
    /// The tenant's ids of the requests that are not answered. The core answers in the order of requests.
    asked: Mutex<VecDeque<i64>>,
    _place: Place,
}

impl Session {
    async fn run(
        self,
        client: Streaming<LeaseKeepAliveRequest>,
        to_core: mpsc::Sender<LeaseKeepAliveRequest>,
        requests: Request<ReceiverStream<LeaseKeepAliveRequest>>,
    ) {
        let (ask, answer) = (self.ask(client, to_core), self.answer(requests));
        run_session(&self.parts, &self.answers, ask, answer).await;
    }

    async fn ask(
        &self,
        mut client: Streaming<LeaseKeepAliveRequest>,
        to_core: mpsc::Sender<LeaseKeepAliveRequest>,
    ) -> Result<(), Status> {
        while let Some(request) = client.message().await? {
            self.parts.pace.take().await?;
            let id = self.parts.leases.outer(request.id).await.map_err(|status| refusal::shown(&status))?;
            self.asked.lock().unwrap_or_else(PoisonError::into_inner).push_back(request.id);
            to_core.send(LeaseKeepAliveRequest { id }).await.map_err(|_| refusal::stopping())?;
        }
        Ok(())
    }

    async fn answer(&self, requests: Request<ReceiverStream<LeaseKeepAliveRequest>>) -> Result<(), Status> {
        let shown = |status| refusal::shown(&status);
        let channel = self.parts.core.channel();
        let mut core =
            LeaseClient::new(channel).lease_keep_alive(requests).await.map_err(shown)?.into_inner();
        while let Some(answer) = core.message().await.map_err(shown)? {
            let id =
                self.asked.lock().unwrap_or_else(PoisonError::into_inner).pop_front().unwrap_or_default();
            let answer = LeaseKeepAliveResponse { id, ..answer };
            self.answers.send(Ok(answer)).await.map_err(|_| refusal::stopping())?;
        }
        Ok(())
    }
}
