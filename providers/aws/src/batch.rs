//! Reads of single objects, gathered into calls for many.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use slipway_resource::{ErrorClass, ProviderError};
use tokio::sync::oneshot;

use crate::cloud::Cloud;
use crate::error::error;
use crate::peers::Peers;

/// Objects of which one call can read many.
#[async_trait]
pub(crate) trait Family: Send + Sync + 'static {
    /// The object that is read under one key.
    type Item: Send + Sync + 'static;

    /// How many keys one call takes.
    const LIMIT: usize;

    /// Reads objects; a key without an entry in the answer does not exist.
    ///
    /// # Errors
    /// As the call says.
    async fn fetch(cloud: &Cloud, keys: &[String]) -> Result<BTreeMap<String, Self::Item>, ProviderError>;
}

/// Reads many objects if one that does not exist fails the call for all: then each object is read alone.
///
/// # Errors
/// As the calls say, except for `not-found`.
pub(crate) async fn fetch_existing<T, F>(
    keys: &[String],
    fetch: impl Fn(Vec<String>) -> F + Send + Sync,
) -> Result<BTreeMap<String, T>, ProviderError>
where
    T: Send,
    F: Future<Output = Result<BTreeMap<String, T>, ProviderError>> + Send,
{
    let alone = match fetch(keys.to_vec()).await {
        Err(error) if error.class == ErrorClass::NotFound && keys.len() > 1 => {
            futures_util::future::join_all(keys.iter().map(|key| fetch(vec![key.clone()]))).await
        }
        result => vec![result],
    };
    let mut found = BTreeMap::new();
    for result in alone {
        match result {
            Ok(items) => found.extend(items),
            Err(error) if error.class == ErrorClass::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// How long urgent reads are gathered.
const SHORTLY: Duration = Duration::from_millis(3);
/// How long confirming reads are gathered.
const PATIENTLY: Duration = Duration::from_millis(80);
/// How long confirming reads wait for actions that will read the same objects.
const FOR_PEERS: Duration = Duration::from_secs(2);

/// The other reads for which a read waits, to share its call with them.
#[derive(Clone, Debug)]
pub(crate) enum Gather {
    /// Reads that start at the same time.
    Shortly,
    /// Reads that start while another such call runs, and those of parallel actions.
    Patiently(Option<Peers>),
}

type Answer<F> = Result<Option<Arc<<F as Family>::Item>>, ProviderError>;
type Waiters<F> = HashMap<String, Vec<oneshot::Sender<Answer<F>>>>;

/// Gathers the reads of one family. A read is answered by a call that began after the read was requested.
pub(crate) struct Batcher<F: Family> {
    waiting: Mutex<Waiting<F>>,
    /// Held during a call for patient reads: reads requested meanwhile are sent in the next call, however
    /// slow AWS is.
    turn: tokio::sync::Mutex<()>,
}

/// The reads that wait for the next call.
struct Waiting<F: Family> {
    reads: Waiters<F>,
    /// Whether one of them is urgent: its call includes all waiting reads.
    is_urgent: bool,
}

impl<F: Family> Default for Batcher<F> {
    fn default() -> Self {
        let waiting = Waiting { reads: HashMap::new(), is_urgent: false };
        Self { waiting: Mutex::new(waiting), turn: tokio::sync::Mutex::default() }
    }
}

impl<F: Family> Batcher<F> {
    /// Reads one object, together with all reads requested meanwhile.
    pub async fn get(self: &Arc<Self>, cloud: &Cloud, key: &str, gather: &Gather) -> Answer<F> {
        let (sender, receiver) = oneshot::channel();
        let is_urgent = matches!(gather, Gather::Shortly);
        let needs_call = {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let needs_call = waiting.reads.is_empty() || (is_urgent && !waiting.is_urgent);
            waiting.is_urgent |= is_urgent;
            waiting.reads.entry(key.to_owned()).or_default().push(sender);
            needs_call
        };
        if needs_call {
            let (batcher, cloud, gather) = (Arc::clone(self), cloud.clone(), gather.clone());
            // The task ends with its calls, which have a time limit, and answers all waiting reads.
            tokio::spawn(async move {
                let _turn = batcher.gather(gather).await;
                batcher.answer(&cloud).await;
            });
        }
        match receiver.await {
            Ok(answer) => answer,
            Err(_) => Err(error(ErrorClass::Transient, "the read was given up")),
        }
    }

    /// Waits until the call may be sent; the result is held during the call.
    async fn gather(&self, gather: Gather) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        match gather {
            Gather::Shortly => {
                tokio::time::sleep(SHORTLY).await;
                None
            }
            Gather::Patiently(peers) => {
                tokio::time::sleep(PATIENTLY).await;
                let turn = self.turn.lock().await;
                if let Some(peers) = peers {
                    peers.at_rest(FOR_PEERS).await;
                    // The last of them is about to ask.
                    tokio::time::sleep(SHORTLY).await;
                }
                Some(turn)
            }
        }
    }

    async fn answer(&self, cloud: &Cloud) {
        let mut all: Vec<_> = {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.is_urgent = false;
            std::mem::take(&mut waiting.reads).into_iter().collect()
        };
        all.sort_by(|left, right| left.0.cmp(&right.0));
        let mut parts = Vec::new();
        while !all.is_empty() {
            let rest = all.split_off(all.len().min(F::LIMIT.max(1)));
            parts.push(std::mem::replace(&mut all, rest));
        }
        futures_util::future::join_all(parts.into_iter().map(|part| Self::answer_part(cloud, part))).await;
    }

    async fn answer_part(cloud: &Cloud, part: Vec<(String, Vec<oneshot::Sender<Answer<F>>>)>) {
        let keys: Vec<String> = part.iter().map(|(key, _)| key.clone()).collect();
        let mut found = F::fetch(cloud, &keys).await.map(|items| {
            items.into_iter().map(|(key, item)| (key, Arc::new(item))).collect::<BTreeMap<_, _>>()
        });
        for (key, senders) in part {
            let answer = match &mut found {
                Ok(items) => Ok(items.remove(&key)),
                Err(error) => Err(error.clone()),
            };
            for sender in senders {
                // The requester may be gone.
                let _ = sender.send(answer.clone());
            }
        }
    }
}
