//! The work of the process that leads.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use slipway_bootstrap::discovery;
use slipway_bootstrap::token::{NAMESPACE, SECRET_TYPE, Stored};
use slipway_controller::k8s_openapi::api::core::v1::{ConfigMap, Secret};
use slipway_controller::kube::api::{Api, DeleteParams, PostParams, Preconditions};
use slipway_controller::kube::{Client, Error};
use slipway_controller::runtime::watcher;
use slipway_controller::watch;
use tokio_util::sync::CancellationToken;

use crate::expiry::{Remaining, remaining};
use crate::metrics::Metrics;
use crate::signing::{signed, token};

/// The time between two looks if nothing changes. The clock of the machine may be set in the meantime.
const LONGEST: Duration = Duration::from_secs(60);

/// The time after a write that failed.
const RETRY: Duration = Duration::from_secs(5);

struct Control<'a> {
    secrets: Api<Secret>,
    maps: Api<ConfigMap>,
    metrics: &'a Metrics,
}

/// Keeps signatures and tokens right until the stop.
pub(crate) async fn run(client: Client, metrics: &Metrics, stop: &CancellationToken) {
    let control = Control {
        secrets: Api::namespaced(client.clone(), NAMESPACE),
        maps: Api::namespaced(client, discovery::NAMESPACE),
        metrics,
    };
    let any = watcher::Config::default;
    let (of_type, of_name) =
        (format!("type={SECRET_TYPE}"), format!("metadata.name={}", discovery::CONFIG_MAP));
    let Some(mut secrets) = watch(control.secrets.clone(), any().fields(&of_type), stop).await else {
        return;
    };
    let Some(mut maps) = watch(control.maps.clone(), any().fields(&of_name), stop).await else { return };
    loop {
        let pause = control.look(&secrets.all(), &maps.all()).await;
        tokio::select! {
            () = stop.cancelled() => return,
            () = secrets.changed() => {}
            () = maps.changed() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

impl Control<'_> {
    /// Deletes what is over and signs with the rest. Returns the time until the next look.
    async fn look(&self, secrets: &[Arc<Secret>], maps: &[Arc<ConfigMap>]) -> Duration {
        let now = Timestamp::now();
        let mut pause = LONGEST;
        for secret in secrets {
            match remaining(secret, now) {
                Remaining::Unlimited => {}
                Remaining::Time(left) => pause = pause.min(left),
                Remaining::Nothing => {
                    if let Err(error) = self.delete(secret).await {
                        tracing::warn!(%error, "an expired token was not deleted");
                        pause = pause.min(RETRY);
                    }
                }
            }
        }
        let tokens: Vec<Stored> = secrets.iter().filter_map(|secret| token(secret)).collect();
        for map in maps {
            if let Err(error) = self.sign(map, &tokens, now).await {
                tracing::warn!(%error, "cluster-info was not signed");
                pause = pause.min(RETRY);
            }
        }
        pause
    }

    /// Deletes a token as it was seen: one that was prolonged at this moment stays.
    async fn delete(&self, secret: &Secret) -> Result<(), Error> {
        let meta = &secret.metadata;
        let seen = Preconditions { resource_version: meta.resource_version.clone(), uid: meta.uid.clone() };
        let parameters = DeleteParams { preconditions: Some(seen), ..DeleteParams::default() };
        let name = meta.name.as_deref().unwrap_or_default();
        if done(self.secrets.delete(name, &parameters).await)?.is_some() {
            tracing::info!(secret = name, "deleted an expired token");
            self.metrics.deleted.inc();
        }
        Ok(())
    }

    /// Writes the signatures into the version of the ConfigMap that was seen.
    async fn sign(&self, map: &ConfigMap, tokens: &[Stored], now: Timestamp) -> Result<(), Error> {
        let data = map.data.clone().unwrap_or_default();
        let Some(wanted) = signed(&data, tokens, now) else { return Ok(()) };
        let wanted = ConfigMap { data: Some(wanted), ..map.clone() };
        let written = self.maps.replace(discovery::CONFIG_MAP, &PostParams::default(), &wanted).await;
        if done(written)?.is_some() {
            tracing::info!("signed cluster-info");
            self.metrics.signed.inc();
        }
        Ok(())
    }
}

/// The answer to a write. `None` if the object has changed or is gone: its watch reports that, and it is looked at again.
fn done<T>(answer: Result<T, Error>) -> Result<Option<T>, Error> {
    match answer {
        Ok(done) => Ok(Some(done)),
        Err(Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(None),
        Err(error) => Err(error),
    }
}
