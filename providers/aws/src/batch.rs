//! Reads of single objects, gathered into calls for many.

use std::collections::{BTreeMap, HashMap};
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use slipway_resource::{ErrorClass, ProviderError};
use tokio::sync::oneshot;

use crate::cloud::Cloud;
use crate::error::error;

/// Objects that one call can read many of.
#[async_trait]
pub(crate) trait Family: Send + Sync + 'static {
    /// What is read under one key.
    type Item: Send + Sync + 'static;

    /// How many keys one call takes.
    const LIMIT: usize;

    /// Reads objects; a key without an entry in the answer does not exist.
    ///
    /// # Errors
    /// As the call says.
    async fn fetch(cloud: &Cloud, keys: &[String]) -> Result<BTreeMap<String, Self::Item>, ProviderError>;
}

type Answer<F> = Result<Option<Arc<<F as Family>::Item>>, ProviderError>;
type Waiters<F> = HashMap<String, Vec<oneshot::Sender<Answer<F>>>>;

/// Gathers the reads of one family. A read is answered by a call that began after it was asked for.
pub(crate) struct Batcher<F: Family> {
    waiting: Mutex<Waiters<F>>,
    /// Held by a call for those that have time: what is asked for meanwhile goes in the next one, however slow AWS is.
    turn: tokio::sync::Mutex<()>,
    family: PhantomData<F>,
}

impl<F: Family> Default for Batcher<F> {
    fn default() -> Self {
        Self { waiting: Mutex::default(), turn: tokio::sync::Mutex::default(), family: PhantomData }
    }
}

impl<F: Family> Batcher<F> {
    /// Reads one object together with all that are asked for within `gather`, and where it has time also with those that
    /// are asked for while another call is under way.
    pub async fn get(
        self: &Arc<Self>,
        cloud: &Cloud,
        key: &str,
        gather: Duration,
        has_time: bool,
    ) -> Answer<F> {
        let (sender, receiver) = oneshot::channel();
        let is_first = {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let is_first = waiting.is_empty();
            waiting.entry(key.to_owned()).or_default().push(sender);
            is_first
        };
        if is_first {
            let (batcher, cloud) = (Arc::clone(self), cloud.clone());
            // It ends with its calls, which have a time limit, and answers everybody who waits.
            tokio::spawn(async move {
                tokio::time::sleep(gather).await;
                let _turn = if has_time { Some(batcher.turn.lock().await) } else { None };
                batcher.answer(&cloud).await;
            });
        }
        match receiver.await {
            Ok(answer) => answer,
            Err(_) => Err(error(ErrorClass::Transient, "the read was given up")),
        }
    }

    async fn answer(&self, cloud: &Cloud) {
        let waiting = std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        let mut all: Vec<_> = waiting.into_iter().collect();
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
                // Who asked may have gone.
                let _ = sender.send(answer.clone());
            }
        }
    }
}
