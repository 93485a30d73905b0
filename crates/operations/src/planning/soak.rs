//! The soak of a reversible upgrade: how long it takes, and the way back when a gate does not hold.

use std::time::Duration;

use jiff::Timestamp;
use slipway_engine::State;
use slipway_plan::{Mode, Options, Snapshot};
use slipway_resource::provider::ExpandNote;
use slipway_spec::model::BrokenGate;
use slipway_state_store::{ClusterName, history};
use tokio::time::Instant;

use super::gates::soak::{has_credentials, look_at_all, time};
use super::gates::{self, Gate};
use crate::environment::Environment;
use crate::error::Error;
use crate::opened::Opened;
use crate::request::Request;
use crate::reversible::{Release, turned_back};
use crate::spec::ClusterSpec;
use crate::state::spec_of;
use crate::version_change::applied_here;

/// How long a gate must not hold until an upgrade is taken back: a node or a server may be restarted.
const PATIENCE: Duration = Duration::from_secs(60);
/// The time between two looks.
const PERIOD: Duration = Duration::from_secs(5);

/// How many generations are read for the time since which a version is emulated.
const GENERATIONS: usize = 500;

/// The fact about a generation that names the version which its control plane emulates.
const EMULATES: &str = "emulates";

impl Opened {
    /// Opens a cluster for a plan that brings it to its spec. While its control plane emulates a version, and the spec says that a broken
    /// gate takes the upgrade back, the gates are read: if one does not hold for a minute, the plan goes back, and leaves out all other
    /// changes of the spec. A plan of a part changes no version, and does not go back.
    ///
    /// # Errors
    /// As [`Opened::open`].
    pub async fn open_to_apply(
        environment: &Environment,
        spec: ClusterSpec,
        options: &Options,
    ) -> Result<Self, Error> {
        let opened = Self::open(environment, spec).await?;
        if options.is_partial() {
            return Ok(opened);
        }
        let Some(release) = opened.release_that_may_turn_back()? else { return Ok(opened) };
        let broken = opened.gates_that_stay_broken(&release).await;
        let (Some(emulated), false) = (&release.emulated, broken.is_empty()) else { return Ok(opened) };
        // As with `slipway upgrade --back`, other changes of the files wait: they were reviewed for a cluster that goes on.
        let applied = applied_here(&opened.spec, opened.state.as_ref())?;
        let back = turned_back(&applied, emulated);
        let broken_gates = broken.into_iter().map(|Gate { name, message, .. }| format!("{name}: {message}"));
        Ok(Self { broken_gates: broken_gates.collect(), ..opened.with_spec(back) })
    }

    /// The release of a cluster whose control plane emulates a version, and whose spec goes back if a gate does not hold.
    fn release_that_may_turn_back(&self) -> Result<Option<Release>, Error> {
        let release = Release::of(&self.spec.cluster);
        let turns_back = self.spec.cluster.control_plane.on_broken_gate == Some(BrokenGate::Back);
        let is_settled = self.is_on_hosts()
            && !self.is_offline()
            && !self.spec.recorded
            && !self.state.as_ref().is_some_and(State::is_interrupted);
        if release.emulated.is_none() || !turns_back || !is_settled {
            return Ok(None);
        }
        let applied = self.prior().map(spec_of).transpose()?.flatten();
        Ok(applied.is_some_and(|applied| Release::of(&applied) == release).then_some(release))
    }

    /// The gates that have not held in any look for a minute, without those that the settings of the provider waive. None if this
    /// process cannot open the keys of the cluster, or reaches no API server: what cannot be read changes nothing.
    async fn gates_that_stay_broken(&self, release: &Release) -> Vec<Gate> {
        let (access, config) = (&self.stage.access, &self.spec.cluster.provider.config);
        let conditions = &self.spec.cluster.control_plane.gates;
        if !has_credentials(access).await {
            return Vec::new();
        }
        let until = Instant::now() + PATIENCE;
        let mut look = look_at_all(access, release, conditions).await;
        let mut broken = gates::unwaived(look.gates, config);
        while !broken.is_empty() && Instant::now() < until {
            tokio::time::sleep(PERIOD).await;
            look = look_at_all(access, release, conditions).await;
            broken = gates::still_broken(&broken, look.gates);
        }
        if look.is_reached { broken } else { Vec::new() }
    }

    /// The gate of the time that a version is to be emulated, if the applied spec has a soak.
    pub(super) async fn time_gate(&self, emulating: &Release) -> Result<Option<Gate>, Error> {
        let Some(soak) = self.spec.cluster.control_plane.soak else { return Ok(None) };
        let Some(store) = self.environment.store.as_ref() else { return Ok(None) };
        let name = ClusterName::new(self.spec.cluster.name.as_str())?;
        let entries = history::readable(&*store.backend, &name, GENERATIONS).await?.records;
        let emulated = emulating.emulated.as_ref().map(ToString::to_string);
        let is_same = |entry: &&history::Entry| entry.commit.about.get(EMULATES) == emulated.as_ref();
        let first = entries.iter().take_while(is_same).last();
        Ok(time(soak, first.map(|entry| entry.commit.when), Timestamp::now()))
    }

    /// Why an upgrade is taken back, or why the version of the spec waits.
    pub(super) fn said_of_way_back(
        &self,
        request: &Request,
        prior: Option<&Snapshot>,
    ) -> Result<Option<ExpandNote>, Error> {
        let cluster = &self.spec.cluster;
        let Some(version) = cluster.turned_back_from.as_ref().filter(|_| request.mode == Mode::Apply) else {
            return Ok(None);
        };
        let applied = prior.map(spec_of).transpose()?.flatten();
        let waits = applied.is_some_and(|applied| applied.turned_back_from.as_ref() == Some(version));
        let message = match (self.broken_gates.as_slice(), waits) {
            ([], false) => return Ok(None),
            ([], true) => format!(
                "{version} of the spec waits, because the upgrade to it was taken back: only `slipway upgrade -f … --to {version}` begins \
                 it again. With `kubernetesVersion: {}` in the spec, nothing waits",
                cluster.kubernetes_version
            ),
            (broken, _) => format!(
                "the upgrade to {version} is taken back, because these gates have not held for a minute: {}. Other changes of the spec \
                 are left out; a plan after this one has them",
                broken.join("; ")
            ),
        };
        Ok(Some(ExpandNote { field: "kubernetesVersion".to_owned(), message }))
    }
}
