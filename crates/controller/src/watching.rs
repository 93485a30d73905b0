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
    /// All objects. They are complete: the first list was read before [`watch`] returned.
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
}

/// Watches objects by a task that ends with the stop, and waits for the first complete list. Watches that fail are
/// started again. Returns `None` if the stop came first.
pub async fn watch<K>(api: Api<K>, config: watcher::Config, stop: &CancellationToken) -> Option<Watched<K>>
where
    K: kube::Resource + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Debug + Default + Eq + Hash + Clone,
{
    let (store, writer) = reflector::store();
    let (sign, changed) = signal::channel(());
    let ending = stop.clone();
    let events = watcher(api, config)
        .default_backoff()
        // These fields are never read, and they are the largest part of many objects.
        .modify(|object| object.meta_mut().managed_fields = None)
        .reflect(writer);
    tokio::spawn(async move {
        let mut events = std::pin::pin!(events.take_until(ending.cancelled_owned()));
        while let Some(event) = events.next().await {
            match event {
                Ok(_) => {
                    sign.send_replace(());
                }
                Err(error) => tracing::warn!(%error, "a watch failed, and is started again"),
            }
        }
    });
    tokio::select! {
        () = stop.cancelled() => None,
        ready = store.wait_until_ready() => ready.ok().map(|()| Watched { store: store.clone(), changed }),
    }
}
