//! Watches: a stream to the core for each stream of a client. Order, progress and the end of a watch are the core's own.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::codegen::BoxStream;
use tonic::{Request, Response, Status, Streaming};

use crate::api::etcdserverpb::watch_client::WatchClient;
use crate::api::etcdserverpb::watch_request::RequestUnion;
use crate::api::etcdserverpb::watch_server::Watch;
use crate::api::etcdserverpb::{WatchCancelRequest, WatchCreateRequest, WatchRequest, WatchResponse};
use crate::proxy::refusal;

use super::{Parts, Place, Server, WAITING, driven, run_session, with_leader};

type Answer = Result<WatchResponse, Status>;

#[tonic::async_trait]
impl Watch for Server {
    async fn watch(
        &self,
        request: Request<Streaming<WatchRequest>>,
    ) -> Result<Response<BoxStream<WatchResponse>>, Status> {
        let parts = &self.0;
        let place = parts.streams.take()?;
        let (answers, receiver) = mpsc::channel(WAITING);
        let (to_core, requests) = mpsc::channel(WAITING);
        let requests = with_leader(&request, ReceiverStream::new(requests));
        let session = Session { parts: Arc::clone(parts), answers, watches: Mutex::default(), _place: place };
        Ok(Response::new(driven(session.run(request.into_inner(), to_core, requests), receiver)))
    }
}

struct Session {
    parts: Arc<Parts>,
    answers: mpsc::Sender<Answer>,
    watches: Mutex<Watches>,
    _place: Place,
}

/// The watches of a stream.
#[derive(Default)]
struct Watches {
    /// Those that the core has not answered, in the order in which it answers them.
    created: VecDeque<Verdict>,
    /// Those that run, by their ids.
    running: HashMap<i64, Place>,
    /// Those that the proxy ended and the core has not ended yet.
    ended: HashSet<i64>,
}

/// The decision about a new watch.
enum Verdict {
    /// It runs.
    Run(Place),
    /// It ends at once. The core creates it nevertheless, so that its id and its place in the order are
    /// right.
    End { compact_revision: i64, reason: Status },
}

impl Session {
    async fn run(
        self,
        client: Streaming<WatchRequest>,
        to_core: mpsc::Sender<WatchRequest>,
        requests: Request<ReceiverStream<WatchRequest>>,
    ) {
        // Cancellations of the proxy's own. They do not keep the stream open.
        let cancel = to_core.downgrade();
        let (ask, answer) = (self.ask(client, to_core), self.answer(requests, &cancel));
        run_session(&self.parts, &self.answers, ask, answer).await;
    }

    async fn ask(
        &self,
        mut client: Streaming<WatchRequest>,
        to_core: mpsc::Sender<WatchRequest>,
    ) -> Result<(), Status> {
        while let Some(request) = client.message().await? {
            self.parts.pace.take().await?;
            let union = match request.request_union {
                Some(RequestUnion::CreateRequest(create)) => RequestUnion::CreateRequest(self.create(create)),
                Some(other) => other,
                None => continue,
            };
            let request = WatchRequest { request_union: Some(union) };
            to_core.send(request).await.map_err(|_| refusal::stopping())?;
        }
        Ok(())
    }

    fn create(&self, create: WatchCreateRequest) -> WatchCreateRequest {
        let parts = &self.parts;
        let verdict = match (parts.records.check(create.start_revision), parts.watches.take()) {
            (Ok(()), Ok(place)) => Verdict::Run(place),
            (Err(reason), _) => Verdict::End { compact_revision: parts.records.compacted(), reason },
            (Ok(()), Err(reason)) => Verdict::End { compact_revision: 0, reason },
        };
        self.watches().created.push_back(verdict);
        parts.translator.watch(create)
    }

    async fn answer(
        &self,
        requests: Request<ReceiverStream<WatchRequest>>,
        cancel: &mpsc::WeakSender<WatchRequest>,
    ) -> Result<(), Status> {
        let shown = |status| refusal::shown(&status);
        let client = WatchClient::new(self.parts.core.channel()).max_decoding_message_size(usize::MAX);
        let mut core = { client }.watch(requests).await.map_err(shown)?.into_inner();
        while let Some(answer) = core.message().await.map_err(shown)? {
            let id = answer.watch_id;
            let (answers, end) = self.answers_to(answer);
            if end {
                let union = RequestUnion::CancelRequest(WatchCancelRequest { watch_id: id });
                let request = WatchRequest { request_union: Some(union) };
                // Waiting here while the core waits for its answers to be read would last forever.
                if let Some(to_core) = cancel.upgrade() {
                    to_core.try_send(request).map_err(|_| refusal::too_many_requests())?;
                }
            }
            for answer in answers {
                self.answers.send(Ok(answer)).await.map_err(|_| refusal::stopping())?;
            }
        }
        Ok(())
    }

    /// The client's answers for an answer of the core, and whether the watch is to end in the core.
    fn answers_to(&self, answer: WatchResponse) -> (Vec<WatchResponse>, bool) {
        let mut watches = self.watches();
        let id = answer.watch_id;
        if answer.created {
            match watches.created.pop_front() {
                Some(Verdict::Run(place)) if !answer.canceled => {
                    watches.running.insert(id, place);
                }
                Some(Verdict::End { compact_revision, reason }) if !answer.canceled => {
                    watches.ended.insert(id);
                    let ended = WatchResponse {
                        header: answer.header,
                        watch_id: id,
                        canceled: true,
                        compact_revision,
                        cancel_reason: reason.message().to_owned(),
                        ..WatchResponse::default()
                    };
                    return (vec![answer, ended], true);
                }
                _ => {}
            }
        } else if watches.ended.contains(&id) {
            if answer.canceled {
                watches.ended.remove(&id);
            }
            return (Vec::new(), false);
        } else if answer.canceled {
            watches.running.remove(&id);
        }
        (vec![self.translate(answer)], false)
    }

    fn translate(&self, mut answer: WatchResponse) -> WatchResponse {
        answer.events = self.parts.translator.events(answer.events);
        answer.cancel_reason = refusal::shown_reason(&answer.cancel_reason);
        answer
    }

    fn watches(&self) -> MutexGuard<'_, Watches> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
