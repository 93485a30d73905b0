//! The order among clusters, as one look at one cluster keeps it.

use std::time::Duration;

use jiff::Timestamp;
use slipway_state_store::Error as StoreError;

use super::{Pass, Passed, until};
use crate::board;
use crate::job;
use crate::order::View;
use crate::policy::{Question, Verdict, Waiting, decide};
use crate::status::{Reason, Rollout, Status};

impl Pass {
    /// Writes the wave of the cluster into a status that still has the spec of the last look. Returns whether it is another
    /// wave than before.
    pub(super) fn take_wave(&self, status: &mut Status) -> bool {
        let before = status.rollout.take();
        let wave = before.as_ref().map(|rollout| rollout.wave);
        if self.order.is_some() {
            // A cluster that had no order before is in line with the spec of its last look, if it was then.
            let in_line = || status.is(Reason::InSync).then(|| status.spec_digest.clone());
            let spec_digest = before.map_or_else(in_line, |rollout| rollout.spec_digest);
            status.rollout = Some(Rollout { wave: self.policy.wave, spec_digest, waits_for: None });
        }
        wave != status.rollout.as_ref().map(|rollout| rollout.wave)
    }

    /// What is done with a plan. The order counts for a plan that the policy allows.
    pub(super) async fn verdict(
        &self,
        question: Question<'_>,
        status: &mut Status,
    ) -> Result<Verdict, StoreError> {
        match decide(question) {
            Verdict::Apply => Ok(self.held_by_order(status).await?.map_or(Verdict::Apply, Verdict::Wait)),
            Verdict::Wait(waiting) => Ok(Verdict::Wait(waiting)),
        }
    }

    /// Why a plan that the policy allows is not applied now: clusters that come before this one are not in line. Their
    /// statuses are read for that, since other replicas may have written them.
    pub(super) async fn held_by_order(&self, status: &mut Status) -> Result<Option<Waiting>, StoreError> {
        let (Some(order), Some(rollout)) = (&self.order, &mut status.rollout) else { return Ok(None) };
        if rollout.spec_digest.as_ref() == Some(&status.spec_digest) {
            return Ok(None);
        }
        let board = board::read(&*self.shared.backend).await?;
        let names = order.relevant(&self.cluster).cloned().collect();
        let found = job::statuses(&self.shared, names).await?;
        let statuses = found.iter().map(|(name, status)| (name.as_str(), status)).collect();
        let view = View { statuses, board: &board, now: Timestamp::now() };
        let Some(wait) = order.waits(&self.cluster, &view) else { return Ok(None) };
        let is_requested =
            |name: &String| found.get(name).is_some_and(|status| board.request(name) > status.request);
        let mut looks = order.to_look_at(&self.cluster, &view);
        looks.retain(|name| !is_requested(name));
        if !looks.is_empty() {
            board::request(&self.shared.backend, &looks, &self.shared.who().who, view.now).await?;
        }
        rollout.waits_for = Some(wait.subject.clone());
        Ok(Some(Waiting { until: wait.until, ..Waiting::new(Reason::WaitsFor, wait.to_string()) }))
    }

    /// Leaves a cluster that is not due as it is, except for the cluster that it waits for.
    pub(super) async fn leave(&self, mut status: Status, now: Timestamp) -> Result<Passed, StoreError> {
        let next = status.next.map_or(Duration::ZERO, |next| until(next, now));
        if let Some(wait) = self.wait.as_ref().filter(|_| status.is(Reason::WaitsFor)) {
            if let Some(rollout) = &mut status.rollout {
                rollout.waits_for = Some(wait.subject.clone());
            }
            self.report(&mut status, Reason::WaitsFor, wait.to_string(), now);
            self.write(&status).await?;
        }
        Ok(Passed::new(Some(status), next))
    }
}

impl Status {
    /// Writes down that the order does not hold the present spec any more: the cluster is in line with it, or its run begins.
    pub(super) fn take_turn(&mut self) {
        if let Some(rollout) = &mut self.rollout {
            rollout.spec_digest = Some(self.spec_digest.clone());
        }
    }
}
