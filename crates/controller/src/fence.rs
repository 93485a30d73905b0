//! No write without the lease: a client that refuses to change anything once the lease may belong to another process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::Request;
use kube::client::Body;
use tower::BoxError;

use crate::clock::since_boot;

/// A request was not sent, or was given up, because this process does not hold the lease any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this process does not lead any more: nothing is written")]
pub struct Fenced;

/// Until when this process may write. Clones share the moment.
///
/// The moment is counted from when the last renewal of the lease was *sent*, on a clock that counts suspension. Other
/// processes count a longer time from when they saw the renewal. A process that was stopped and continues therefore finds
/// its fence closed before anything leaves it.
#[derive(Clone, Debug, Default)]
pub struct Fence {
    /// Milliseconds since the machine was started.
    until: Arc<AtomicU64>,
}

impl Fence {
    /// Opens the fence until a moment, in time since the machine was started.
    pub(crate) fn open_until(&self, moment: Duration) {
        self.until.store(u64::try_from(moment.as_millis()).unwrap_or(u64::MAX), Ordering::SeqCst);
    }

    /// Closes the fence.
    pub(crate) fn close(&self) {
        self.until.store(0, Ordering::SeqCst);
    }

    /// How long writes are allowed from now; `None` if they are not.
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        let until = Duration::from_millis(self.until.load(Ordering::SeqCst));
        until.checked_sub(since_boot()).filter(|left| !left.is_zero())
    }

    /// The client for the work of a leader. It always reads. It writes only inside the fence, and gives up a
    /// write whose answer did not come before the fence closed.
    #[must_use]
    pub fn client(&self, unfenced: &kube::Client) -> kube::Client {
        let (inner, fence) = (unfenced.clone(), self.clone());
        let namespace = unfenced.default_namespace().to_owned();
        let service = tower::service_fn(move |request: Request<Body>| {
            let (inner, fence) = (inner.clone(), fence.clone());
            async move {
                if request.method().is_safe() {
                    return inner.send(request).await.map_err(BoxError::from);
                }
                let left = fence.remaining().ok_or(Fenced)?;
                match tokio::time::timeout(left, inner.send(request)).await {
                    Ok(answer) => answer.map_err(BoxError::from),
                    Err(_) => Err(BoxError::from(Fenced)),
                }
            }
        });
        kube::Client::new(service, namespace)
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::api::{Api, PostParams};

    use super::*;

    fn counted(seen: &Arc<AtomicU64>) -> kube::Client {
        let seen = seen.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            seen.fetch_add(1, Ordering::SeqCst);
            async move {
                let name = if request.method().is_safe() { "read" } else { "written" };
                let body =
                    format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"}}}}"#);
                Ok::<_, BoxError>(http::Response::new(Body::from(body.into_bytes())))
            }
        });
        kube::Client::new(service, "default")
    }

    #[tokio::test]
    async fn a_write_outside_the_fence_never_leaves() {
        let seen = Arc::default();
        let fence = Fence::default();
        let maps: Api<ConfigMap> = Api::default_namespaced(fence.client(&counted(&seen)));
        let map = ConfigMap::default();
        maps.get("a").await.unwrap();
        let refused = maps.create(&PostParams::default(), &map).await.unwrap_err();
        assert!(format!("{refused:?}").contains("Fenced"), "{refused:?}");
        assert_eq!(seen.load(Ordering::SeqCst), 1, "the read alone was sent");

        fence.open_until(since_boot() + Duration::from_secs(60));
        maps.create(&PostParams::default(), &map).await.unwrap();
        fence.open_until(since_boot().saturating_sub(Duration::from_millis(1)));
        maps.create(&PostParams::default(), &map).await.unwrap_err();
        fence.open_until(since_boot() + Duration::from_secs(60));
        fence.close();
        maps.create(&PostParams::default(), &map).await.unwrap_err();
        assert_eq!(seen.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn a_write_without_answer_is_given_up_when_the_fence_closes() {
        let silent = tower::service_fn(|_: Request<Body>| {
            std::future::pending::<Result<http::Response<Body>, BoxError>>()
        });
        let fence = Fence::default();
        let maps: Api<ConfigMap> =
            Api::default_namespaced(fence.client(&kube::Client::new(silent, "default")));
        fence.open_until(since_boot() + Duration::from_millis(50));
        maps.create(&PostParams::default(), &ConfigMap::default()).await.unwrap_err();
        assert_eq!(fence.remaining(), None);
    }
}
