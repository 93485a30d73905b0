//! A watched kind of objects: all of them in memory, and a signal for each change.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

use futures_util::StreamExt as _;
use kube::api::Api;
use kube_runtime::reflector::{self, Store};
use kube_runtime::{WatchStreamExt as _, watcher};
use serde::de::DeserializeOwned;
use tokio::sync::watch as signal;
use tokio_util::sync::CancellationToken;

/// All objects of a kind, as they were seen last.
#[derive(Clone, Debug)]
pub struct Watched<K>
where
    K: kube::Resource + Clone + 'static,
    K::DynamicType: Debug + Eq + Hash + Clone,
{
    store: Store<K>,
    changed: signal::Receiver<()>,
}

impl<K> Watched<K>
where
    K: kube::Resource + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Debug + Eq + Hash + Clone,
{
    /// All objects. They are complete: the first list was read before the caller got them.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<K>> {
        self.store.state()
    }

    /// Waits until an object has changed since the last call on this value. Several changes may be one
    /// signal. Never returns once the watch has ended.
    pub async fn changed(&mut self) {
        if self.changed.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits for the first complete list. Returns whether it came before the stop.
    async fn is_complete(&self, stop: &CancellationToken) -> bool {
        tokio::select! {
            () = stop.cancelled() => false,
            ready = self.store.wait_until_ready() => ready.is_ok(),
        }
    }
}

/// Watches objects by a task that ends with the stop, and waits for the first complete list. Watches that fail are
/// started again. Returns `None` if the stop came first.
pub async fn watch<K>(api: Api<K>, config: watcher::Config, stop: &CancellationToken) -> Option<Watched<K>>
where
    K: kube::Resource + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Debug + Default + Eq + Hash + Clone,
{
    let (watched, follow) = begin(api, config, stop.clone());
    tokio::spawn(follow);
    watched.is_complete(stop).await.then_some(watched)
}

/// Watches objects as [`watch`] does while some work goes on, in the task of the caller. A client of the API whose kubeconfig has a
/// credential plugin blocks the thread that uses it: here it is that of the caller. Returns `None` if the stop came before the first
/// complete list.
pub async fn watch_during<K, W>(
    api: Api<K>,
    config: watcher::Config,
    stop: &CancellationToken,
    work: impl FnOnce(Watched<K>) -> W,
) -> Option<W::Output>
where
    K: kube::Resource + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Debug + Default + Eq + Hash + Clone,
    W: Future,
{
    let (watched, follow) = begin(api, config, stop.clone());
    let during = async {
        if !watched.is_complete(stop).await {
            return None;
        }
        Some(work(watched).await)
    };
    // The watch ends with the stop. The work ends by itself.
    let following = async {
        follow.await;
        std::future::pending::<Option<W::Output>>().await
    };
    tokio::select! {
        done = during => done,
        never = following => never,
    }
}

/// Objects of which none was read yet, and what reads them and their changes until the stop.
fn begin<K>(
    api: Api<K>,
    config: watcher::Config,
    stop: CancellationToken,
) -> (Watched<K>, impl Future<Output = ()> + Send)
where
    K: kube::Resource + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Debug + Default + Eq + Hash + Clone,
{
    let (store, writer) = reflector::store();
    let (sign, changed) = signal::channel(());
    let events = watcher(api, config)
        .default_backoff()
        // These fields are never read, and they are the largest part of many objects.
        .modify(|object| object.meta_mut().managed_fields = None)
        .reflect(writer);
    let follow = async move {
        let mut events = std::pin::pin!(events.take_until(stop.cancelled_owned()));
        while let Some(event) = events.next().await {
            match event {
                Ok(_) => {
                    sign.send_replace(());
                }
                Err(error) => tracing::warn!(%error, "a watch failed, and is started again"),
            }
        }
    };
    (Watched { store, changed }, follow)
}
