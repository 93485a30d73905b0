//! Reads of objects before steps change them: batched, and shared by the steps of a run.
//!
//! A read of one object also reads the other objects of its type that later steps will check: providers answer for many
//! objects of a type with few calls. The number of calls of a slow run then depends on its types, not on its objects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use slipway_resource::provider::ReadRequest;
use slipway_resource::{Address, ErrorClass, Identity, Observation, ProviderError, Session};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tracing::Instrument as _;

/// How long the reader waits for more questions for the same call.
const GATHER: Duration = Duration::from_millis(5);

/// Reads objects of one provider in batches.
#[derive(Clone)]
pub(crate) struct Reader {
    questions: mpsc::UnboundedSender<Question>,
    known: Arc<Mutex<Known>>,
    age: Duration,
}

struct Question {
    request: ReadRequest,
    answer: oneshot::Sender<Observation>,
}

/// The objects of one provider in a run.
struct Known {
    /// The objects that steps will check, each with the number of these steps.
    upcoming: BTreeMap<Address, (Identity, usize)>,
    /// The objects that were read, each with the time at which the read was sent.
    found: BTreeMap<Address, (Instant, Identity, Observation)>,
    /// How old a read may be.
    age: Duration,
}

impl Reader {
    /// Starts the reader of a session, whose reads may be used for a time; its task ends when the last clone is dropped.
    pub fn start(session: Arc<dyn Session>, batch: usize, age: Duration) -> (Self, JoinHandle<()>) {
        let (sender, mut receiver) = mpsc::unbounded_channel::<Question>();
        let known = Known { upcoming: BTreeMap::new(), found: BTreeMap::new(), age };
        let known = Arc::new(Mutex::new(known));
        let reader = Self { questions: sender, known: Arc::clone(&known), age };
        let read = async move {
            while let Some(first) = receiver.recv().await {
                let mut questions = vec![first];
                tokio::time::sleep(GATHER).await;
                while questions.len() < batch.max(1)
                    && let Ok(next) = receiver.try_recv()
                {
                    questions.push(next);
                }
                answer(&*session, questions, &known, batch).await;
            }
        };
        (reader, tokio::spawn(read.in_current_span()))
    }

    /// How old a read may be.
    pub fn age(&self) -> Duration {
        self.age
    }

    /// Announces that a step will check an object.
    pub fn expect(&self, address: &Address, identity: &Identity) {
        let mut known = lock(&self.known);
        known.upcoming.entry(address.clone()).or_insert_with(|| (identity.clone(), 0)).1 += 1;
    }

    /// Takes the announcement of one step back: the step has begun, or never will.
    pub fn begun(&self, address: &Address) {
        let mut known = lock(&self.known);
        if let Some((_, steps)) = known.upcoming.get_mut(address) {
            *steps = steps.saturating_sub(1);
            if *steps == 0 {
                known.upcoming.remove(address);
            }
        }
    }

    /// An object as a read shows it that is not too old.
    pub async fn read(&self, address: &Address, identity: &Identity) -> Observation {
        let (answer, receive) = oneshot::channel();
        let request = ReadRequest { address: address.clone(), identity: identity.clone() };
        let gone = || {
            Observation::Unreadable(ProviderError::new(
                ErrorClass::Cancelled,
                "the run was stopped before it was read",
            ))
        };
        if self.questions.send(Question { request, answer }).is_err() {
            return gone();
        }
        receive.await.unwrap_or_else(|_| gone())
    }
}

impl Known {
    /// The result of a read that is recent enough.
    fn fresh(&self, request: &ReadRequest) -> Option<&Observation> {
        let (sent, identity, observation) = self.found.get(&request.address)?;
        (*identity == request.identity && sent.elapsed() < self.age).then_some(observation)
    }

    /// Reads of objects of the same types that steps will check later.
    fn companions(&self, requests: &[ReadRequest]) -> Vec<ReadRequest> {
        let kinds: BTreeSet<&str> = requests.iter().map(|request| request.address.kind()).collect();
        let asked: BTreeSet<&Address> = requests.iter().map(|request| &request.address).collect();
        let of_kind = |address: &Address| kinds.contains(address.kind()) && !asked.contains(address);
        let others = self.upcoming.iter().filter(|(address, _)| of_kind(address));
        others
            .map(|(address, (identity, _))| ReadRequest {
                address: address.clone(),
                identity: identity.clone(),
            })
            .filter(|request| self.fresh(request).is_none())
            .collect()
    }
}

fn lock(known: &Mutex<Known>) -> MutexGuard<'_, Known> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn answer(session: &dyn Session, questions: Vec<Question>, known: &Mutex<Known>, batch: usize) {
    let mut open = Vec::new();
    for question in questions {
        // A read for another step may have brought the answer meanwhile.
        let found = lock(known).fresh(&question.request).cloned();
        match found {
            // The requester may have been dropped because the run was stopped.
            Some(found) => drop(question.answer.send(found)),
            None => open.push(question),
        }
    }
    if open.is_empty() {
        return;
    }
    let mut requests: Vec<ReadRequest> = open.iter().map(|question| question.request.clone()).collect();
    let companions = lock(known).companions(&requests);
    let room = batch.saturating_sub(requests.len());
    requests.extend(companions.into_iter().take(room));
    let sent = Instant::now();
    match session.read(requests.clone()).await {
        Ok(answers) => {
            let found: Vec<Observation> = answers.into_iter().map(|observed| observed.observation).collect();
            {
                let mut known = lock(known);
                for (request, observation) in requests.into_iter().zip(&found) {
                    // A failed read is repeated.
                    if !matches!(observation, Observation::Unreadable(_)) {
                        let entry = (sent, request.identity, observation.clone());
                        known.found.insert(request.address, entry);
                    }
                }
            }
            for (question, observation) in open.into_iter().zip(found) {
                drop(question.answer.send(observation));
            }
        }
        Err(error) => {
            for question in open {
                drop(question.answer.send(Observation::Unreadable(error.clone())));
            }
        }
    }
}

#[cfg(test)]
mod tests;
