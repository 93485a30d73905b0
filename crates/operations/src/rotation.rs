//! Rotation of keys and authorities: one plan for each stage, each with its own approval.
//!
//! The state pins the stage that all machines have reached. The next plan goes on from there: it compares the keys on the machines
//! with those of this stage and of the next one, and refuses any other key. A stage is pinned when its run is complete, so a
//! run that is repeated after an interruption changes what is left.

mod change;
mod pods;
mod refusal;

use std::collections::BTreeSet;

use slipway_bootstrap::from_cluster::{
    ENCRYPTION_CONFIGURATION, Rotation, configuration_name, name_of_generation,
};
use slipway_engine::State;
use slipway_generated_secrets::{ENCRYPTION_KEY, KEYPAIR};
use slipway_resource::{Address, Value};

use crate::environment::Environment;
use crate::error::Error;
use crate::opened::Opened;
use crate::protection;
use crate::request::Request;
use crate::spec::ClusterSpec;
use crate::version_change::applied_here;

pub(crate) use change::{RotationChange, begins, check_interrupted, explained, rotation};
pub use pods::{Workload, older_workloads, restart_change, restart_pods};
pub use slipway_bootstrap::from_cluster::{RotatedKey, Stage};

/// The attribute that has the fingerprint of a key.
const FINGERPRINT: &str = "fingerprint";

/// The direction of a rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the next stage.
    Forward,
    /// To the stage before.
    Back,
}

/// A plan of a rotation that can be made.
pub struct RotationStep {
    /// The cluster, with the spec that is applied.
    pub opened: Opened,
    /// The request for the plan.
    pub request: Request,
    /// The stage that all machines have reached before.
    pub from: Stage,
    /// The stage that the plan brings; the same if it completes this stage.
    pub to: Stage,
    /// Whether the plan deletes the old key, so that there is no way back.
    pub is_last: bool,
}

/// Finds the next plan of a rotation. Reads only.
///
/// # Errors
/// When the cluster has no such key that can be rotated, when there is no way back, or when no plan can be made.
pub async fn next_stage(
    environment: &Environment,
    written: ClusterSpec,
    subject: RotatedKey,
    direction: Direction,
) -> Result<RotationStep, Error> {
    let opened = Opened::open(environment, written).await?;
    opened.check_exists("rotate")?;
    refusal::check_provider(&opened, subject)?;
    let applied = applied_here(&opened.spec, opened.state.as_ref())?;
    refusal::check_spec(&applied, subject)?;
    let opened = opened.with_spec(applied);
    let now = change::pinned(&opened, subject)?;
    let finding = Finding { opened: &opened, subject, now };
    let change = match direction {
        Direction::Forward => finding.forward().await?,
        Direction::Back => finding.back().await?,
    };
    let (from, to) = (now.stage, change.to.stage);
    let is_last = change.to.generation > now.generation;
    Ok(RotationStep { request: Request::rotation(change), opened, from, to, is_last })
}

/// The search for the next plan.
struct Finding<'a> {
    opened: &'a Opened,
    subject: RotatedKey,
    /// The stage that is pinned.
    now: Rotation,
}

impl Finding<'_> {
    /// The present stage is completed first if a machine is not in it, so that a stage never begins on machines that are further
    /// apart than one stage.
    async fn forward(&self) -> Result<RotationChange, Error> {
        let next = self.change(self.now, self.now.next()).await?;
        let Some(before) = self.now.back() else { return Ok(next) };
        if !self.has_keys() {
            // A run of the last stage was interrupted after it had deleted the old key.
            return Ok(next);
        }
        let complete = self.change(before, self.now).await?;
        // A run that removes the old public key or certificate was interrupted: the machines that have done so do not differ in
        // their fingerprints from those that have not.
        if self.subject != RotatedKey::EncryptionKey && self.now.stage == Stage::Used && self.is_interrupted()
        {
            return Ok(if self.is_possible(&next).await? { next } else { complete });
        }
        match self.has_changes(&complete).await {
            Ok(true) => Ok(complete),
            Ok(false) => Ok(next),
            // A machine has the key of the next stage.
            Err(error) if self.is_interrupted() && overwrites_a_key(&error) => Ok(next),
            Err(error) => Err(error),
        }
    }

    async fn back(&self) -> Result<RotationChange, Error> {
        let none = |why: &str| Error::NoWayBack {
            cluster: self.opened.spec.cluster.name.to_string(),
            subject: self.subject.name(),
            why: why.to_owned(),
        };
        if !self.has_keys() {
            return Err(none("a run that was interrupted has deleted the old key already"));
        }
        if self.is_interrupted() {
            let undo = self.change(self.now.next(), self.now).await?;
            match self.has_changes(&undo).await {
                Ok(true) => return Ok(undo),
                Ok(false) => {}
                // A machine has the key of the stage before.
                Err(error) if overwrites_a_key(&error) => {}
                Err(error) => return Err(error),
            }
        }
        let before = self.now.back().ok_or_else(|| none("no rotation is under way"))?;
        if before.stage == Stage::Rest && !self.is_interrupted() {
            // The new key is deleted: no object may be encrypted with it.
            let complete = self.change(self.now.next(), self.now).await?;
            if self.has_changes(&complete).await? {
                return Ok(complete);
            }
        }
        self.change(self.now, before).await
    }

    /// The change from a stage to another one beside it.
    async fn change(&self, from: Rotation, to: Rotation) -> Result<RotationChange, Error> {
        let overwrites: BTreeSet<String> = self.fingerprint(from).await?.into_iter().collect();
        Ok(RotationChange { subject: self.subject, pinned: self.now, from, to, overwrites })
    }

    /// The fingerprint of the key files of a machine in a stage; `None` while the state does not have what is in them.
    async fn fingerprint(&self, rotation: Rotation) -> Result<Option<String>, Error> {
        let keeper = keeper(self.subject, rotation);
        let vault = &self.opened.stage.vault;
        let (Some(prior), Some(identity)) = (self.opened.prior(), vault.known(&keeper)) else {
            return Ok(None);
        };
        let attributes = vault.attributes(&prior.uid, &identity).await?;
        Ok(attributes.get(FINGERPRINT).and_then(Value::as_str).map(str::to_owned))
    }

    /// Whether the state has all keys of the present stage.
    fn has_keys(&self) -> bool {
        let prior = self.opened.prior();
        let is_there = |key: &Address| prior.is_some_and(|prior| prior.resources.contains_key(key));
        keys(self.subject, self.now).iter().all(is_there)
    }

    fn is_interrupted(&self) -> bool {
        self.opened.state.as_ref().is_some_and(State::is_interrupted)
    }

    async fn has_changes(&self, change: &RotationChange) -> Result<bool, Error> {
        let planned = self.opened.plan(&Request::rotation(change.clone())).await?;
        Ok(!protection::is_nothing(&planned.plan))
    }

    async fn is_possible(&self, change: &RotationChange) -> Result<bool, Error> {
        match self.has_changes(change).await {
            Ok(_) => Ok(true),
            Err(error) if overwrites_a_key(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Whether no plan can be made because a machine has another key than the plan expects.
fn overwrites_a_key(error: &Error) -> bool {
    error.code() == Some(slipway_plan::IRREPLACEABLE)
}

/// What keeps the content of the key files in a stage.
fn keeper(subject: RotatedKey, rotation: Rotation) -> Address {
    match (subject, configuration_name(rotation)) {
        (RotatedKey::EncryptionKey, Some(name)) => Address::new(ENCRYPTION_CONFIGURATION, name),
        _ => key(subject, rotation.used()),
    }
}

/// A generation of a key.
fn key(subject: RotatedKey, generation: u32) -> Address {
    let kind = if subject == RotatedKey::EncryptionKey { ENCRYPTION_KEY } else { KEYPAIR };
    Address::new(kind, name_of_generation(subject.key_name(), generation))
}

/// The keys that exist in a stage.
fn keys(subject: RotatedKey, rotation: Rotation) -> Vec<Address> {
    rotation.generations().into_iter().map(|generation| key(subject, generation)).collect()
}
