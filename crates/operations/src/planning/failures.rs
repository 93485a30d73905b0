//! Reasons of the state store to refuse a plan, and remarks about objects inside a cluster.

use slipway_engine::Observed;
use slipway_plan::{Plan, Reason, ReasonCode};
use slipway_state_store::{ClusterName, Head};

use crate::error::Error;
use crate::opened::Opened;
use crate::providers::KUBERNETES;
use crate::request::Request;
use crate::rotation;
use crate::secrets;
use crate::state::head;

impl Opened {
    /// Refuses a cluster that exists and that this store has never had: another store has its state, or it was lost. What a
    /// deleted cluster has left carries the unique id of its tombstone.
    pub(super) fn refuse_unknown(&self, head: Option<&Head>, observed: &Observed) -> Result<(), Error> {
        let Some(uid) = &observed.uid else { return Ok(()) };
        if head.is_some_and(|head| head.uid.as_str() == uid.as_str()) {
            return Ok(());
        }
        Err(Error::UnknownToStore {
            cluster: self.spec.cluster.name.clone(),
            uid: uid.to_string(),
            objects: observed.observations.addresses().count(),
        })
    }

    /// Refuses such a cluster before a plan that was made elsewhere, or without looking, is applied.
    ///
    /// # Errors
    /// [`Error::UnknownToStore`], and when a provider or the store cannot be asked.
    pub(crate) async fn look_for_unknown(&self) -> Result<(), Error> {
        let cluster = &self.spec.cluster.name;
        let observed = slipway_engine::observe(cluster, self.providers(), None, &[]).await?;
        let head = match &self.environment.store {
            Some(store) => head(&*store.backend, cluster).await?,
            None => None,
        };
        self.refuse_unknown(head.as_ref(), &observed)
    }

    /// A failure to plan with the way out that fits the state: nothing is rebuilt that is whole.
    pub(super) async fn explained(&self, error: slipway_plan::Error, request: &Request) -> Error {
        let (Some(store), Some(state)) = (&self.environment.store, &self.state) else { return error.into() };
        if error.code() != slipway_plan::IRREPLACEABLE {
            return error.into();
        }
        let Ok(name) = ClusterName::new(self.spec.cluster.name.as_str()) else { return error.into() };
        if state.is_interrupted() && request.rotation.is_none() {
            let explained = rotation::explained(&self.spec.cluster.name, &state.snapshot.catalogs);
            if let Some(interrupted) = explained {
                return interrupted;
            }
        }
        let damage = slipway_state_store::verify::verify(&*store.backend, &name).await;
        let is_sound = damage.is_ok_and(|report| report.findings.is_empty());
        let lost = secrets::lost(&self.environment.keyring, &store.backend, &name, Some(state)).await;
        if !is_sound || !lost.is_ok_and(|lost| lost.is_empty()) {
            return error.into();
        }
        Error::SoundState(Box::new(error))
    }

    /// Objects inside of a cluster are not asked for when it is deleted: they are not gone, they go along.
    pub(super) fn say_what_goes_along(&self, plan: &mut Plan) {
        let inside = |name: &str| name == KUBERNETES && self.spec.cluster.provider.name != KUBERNETES;
        for change in plan.changes.iter_mut().filter(|change| inside(&change.provider)) {
            for reason in change.reasons.iter_mut().filter(|reason| reason.code == ReasonCode::Vanished) {
                let text = "it is an object in the cluster and is deleted with the cluster's own etcd";
                *reason = Reason::new(ReasonCode::ClusterDeleted, text);
            }
        }
    }
}
