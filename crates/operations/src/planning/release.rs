//! Changes of the version of a cluster on existing machines: what a plan says about them, and the gates that stop it.

use std::collections::BTreeMap;

use slipway_bootstrap::version::etcd_tag;
use slipway_plan::{Mode, Observations, Plan, Snapshot};
use slipway_resource::Desired;
use slipway_resource::provider::ExpandNote;
use slipway_resource::schema::Part;
use slipway_spec::value::KubernetesVersion;

use super::gates::{self, Closed};
use crate::composition;
use crate::error::Error;
use crate::etcd;
use crate::health;
use crate::opened::Opened;
use crate::request::Request;
use crate::reversible::{Release, Turn, is_same_minor, message, turn};
use crate::stage::Stage;
use crate::state::spec_of;
use crate::version;

impl Opened {
    /// The effects and the omissions of a change of version on existing machines.
    pub(super) async fn said_of_version(
        &self,
        request: &Request,
        prior: Option<&Snapshot>,
        stage: &Stage,
    ) -> Result<Option<ExpandNote>, Error> {
        let Some((from, to)) = self.releases(prior)?.filter(|(from, to)| from != to) else { return Ok(None) };
        if request.mode != Mode::Apply || !self.is_on_hosts() {
            return Ok(None);
        }
        let cluster = &self.spec.cluster;
        let turn = turn(&from, &to);
        let mut said = match (turn, &to.emulated) {
            (Some(Turn::Begins), _) => {
                let kubelets = self.kubelets(stage).await;
                version::check_kubelets(&cluster.name, (&from.version, &to.version), &kubelets)?;
                message(Turn::Begins, &from, &to, "")
            }
            (Some(Turn::Finalises), _) => {
                let before = from.emulated.as_ref().unwrap_or(&from.version);
                let kubelets = self.kubelets(stage).await;
                let are_listed = composition::lists_kubelet(cluster);
                let versions = (before, &to.version);
                let rest = version::after_control_planes(&cluster.name, versions, &kubelets, are_listed)?;
                message(Turn::Finalises, &from, &to, &rest) + &self.kept_kubelets(&to.version)
            }
            (Some(Turn::Back), _) => message(Turn::Back, &from, &to, ""),
            (None, Some(emulated)) => format!(
                "the API servers, controller managers and schedulers go from {} to {}, one host after the other, and go on to emulate \
                 1.{}; kube-proxy, kubelets and etcd stay as they are",
                from.version, to.version, emulated.minor
            ),
            (None, None) => {
                let kubelets = self.kubelets(stage).await;
                let are_listed = composition::lists_kubelet(cluster);
                let versions = (&from.version, &to.version);
                version::on_hosts(&cluster.name, versions, &kubelets, are_listed)?
                    + &self.kept_kubelets(&to.version)
            }
        };
        if turn != Some(Turn::Back) && etcd::has_takers(prior, &stage.providers) {
            said.push_str("; a snapshot of etcd is saved before the first step");
        }
        Ok(Some(ExpandNote { field: "kubernetesVersion".to_owned(), message: said }))
    }

    /// The gates of a change to another minor version on existing machines that do not hold. A run that was begun has passed them.
    /// Nothing stops the way back.
    pub(super) async fn closed_gates(
        &self,
        request: &Request,
        prior: Option<&Snapshot>,
        stage: &Stage,
        desired: &[Desired],
        observations: &Observations,
    ) -> Result<Closed, Error> {
        let Some((from, to)) = self.releases(prior)? else { return Ok(Closed::default()) };
        let is_gated = match turn(&from, &to) {
            Some(Turn::Begins | Turn::Finalises) => true,
            Some(Turn::Back) => false,
            None => !is_same_minor(&from.version, &to.version),
        };
        let is_checked = request.mode == Mode::Apply && request.options.preflight && !self.is_offline();
        if !is_gated || !is_checked || !self.is_on_hosts() {
            return Ok(Closed::default());
        }
        // While the control plane emulates a version, it provides all APIs of that version.
        let provided = to.emulated.as_ref().unwrap_or(&to.version);
        let (mut found, drains) =
            tokio::join!(gates::look(&stage.access, provided), gates::drains::look(&stage.access, desired));
        found.extend(drains);
        let members = prior.into_iter().flat_map(|prior| prior.resources.keys());
        let members = members.filter(|address| stage.providers.part(address) == Some(Part::EtcdMember));
        found.extend(gates::etcd::of_members(members, observations, etcd_tag(provided)));
        if turn(&from, &to) == Some(Turn::Finalises) {
            found.extend(gates::soak::look(&stage.access, &from).await.gates);
            found.extend(self.time_gate(&from).await?);
        }
        Ok(gates::closed(found, &self.spec.cluster.provider.config))
    }

    /// What the gates of the spec say about a plan that changes the version of the cluster or replaces machines. Nothing stops the way
    /// back.
    pub(super) async fn gates_of_spec(
        &self,
        request: &Request,
        prior: Option<&Snapshot>,
        stage: &Stage,
        plan: &Plan,
    ) -> Result<Closed, Error> {
        let gates = &self.spec.cluster.control_plane.gates;
        let is_checked = request.mode == Mode::Apply && request.options.preflight && !self.is_offline();
        if gates.is_empty() || !is_checked {
            return Ok(Closed::default());
        }
        let Some((from, to)) = self.releases(prior)? else { return Ok(Closed::default()) };
        let replaces = plan.changes.iter().any(|change| change.rolls() || change.drained.is_some());
        if turn(&from, &to) == Some(Turn::Back) || from == to && !replaces {
            return Ok(Closed::default());
        }
        if self.grounds.policy.is_untrusted() {
            return Ok(gates::of_spec::unread());
        }
        let broken = gates::of_spec::look(&stage.access, gates).await;
        Ok(gates::of_spec::closed(gates, broken, &self.spec.cluster.provider.config))
    }

    /// The applied release and that of the spec; `None` for a cluster that was not applied.
    fn releases(&self, prior: Option<&Snapshot>) -> Result<Option<(Release, Release)>, Error> {
        let applied = prior.map(spec_of).transpose()?.flatten();
        Ok(applied.map(|applied| (Release::of(&applied), Release::of(&self.spec.cluster))))
    }

    /// The versions of the kubelets by node, or why they cannot be read.
    async fn kubelets(&self, stage: &Stage) -> Result<BTreeMap<String, String>, String> {
        match self.is_offline() {
            true => Ok(BTreeMap::new()),
            false => health::kubelets(stage.access.clone()).await,
        }
    }

    /// The pools whose kubelets have another version than the cluster, as the end of a sentence.
    fn kept_kubelets(&self, version: &KubernetesVersion) -> String {
        let pools = self.spec.cluster.pools.iter().filter(|pool| pool.kubernetes_version != *version);
        let said = pools.map(|pool| {
            format!(
                "; the kubelets of the pool {} are those of {}, as the spec says",
                pool.name, pool.kubernetes_version
            )
        });
        said.collect()
    }
}
