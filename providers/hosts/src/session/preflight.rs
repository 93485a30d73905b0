//! The findings on hosts: each host is asked once, and all findings are reported together.

use std::time::Duration;

use futures_util::future::join_all;
use slipway_resource::provider::{PreflightFinding, PreflightItem};
use slipway_resource::{Address, ProviderError};

use super::actual::named;
use super::{HostsSession, without_host};
use crate::error::conflict;
use crate::preflight::{self, Making};
use crate::schema::CLAIM;

/// Types whose objects have a path. The agent checks the path on its disk, without asking another service.
const IN_PLACE: [&str; 6] = ["certificate", "directory", "file", "key_pair", "kubeconfig", "static_pod"];

/// How long an agent may check the paths of new objects.
const LOOKING: Duration = Duration::from_secs(30);

impl HostsSession {
    pub(super) async fn check(
        &self,
        items: Vec<PreflightItem>,
    ) -> Result<Vec<PreflightFinding>, ProviderError> {
        let making = Making::by_host(items, |kind| self.is_inside(kind));
        let looks = making.iter().filter(|(host, _)| !self.is_lost(host)).map(|(host, making)| async move {
            let found = self.check_host(host, making).await;
            found.unwrap_or_else(|error| vec![finding(host, named(host, error))])
        });
        let mut findings: Vec<PreflightFinding> = join_all(looks).await.into_iter().flatten().collect();
        preflight::hints_once(&mut findings);
        Ok(findings)
    }

    async fn check_host(&self, host: &str, making: &Making) -> Result<Vec<PreflightFinding>, ProviderError> {
        let is_new = making.is_new_node(host);
        let questions = preflight::questions(self.questions_about(host).as_ref().filter(|_| is_new), making);
        if is_new && let Some(read) = self.agents.read_before(host, &questions).await? {
            return Ok(match read.owner {
                Some(owner) if making.claims => vec![finding(host, owned(host, &owner))],
                _ => {
                    let ignored = &self.config.ignore_preflight_errors;
                    preflight::findings(host, making, &questions, &read.facts, ignored)
                }
            });
        }
        if making.claims
            && let Some(owner) = self.agents.owner(host).await?
        {
            return Ok(vec![finding(host, owned(host, &owner))]);
        }
        let mut findings = self.look_at_places(host, making).await?;
        findings.extend(self.look_for_images(host, making).await?);
        Ok(findings)
    }

    /// Findings for images that a node does not have and cannot pull: a changed pod would stop without a
    /// successor.
    async fn look_for_images(
        &self,
        host: &str,
        making: &Making,
    ) -> Result<Vec<PreflightFinding>, ProviderError> {
        if making.images.is_empty() {
            return Ok(Vec::new());
        }
        let of_cluster = self.questions_about(host).unwrap_or_default();
        let questions = preflight::about_images(&of_cluster, &making.images);
        let Some(read) = self.agents.read_images(host, &questions).await? else { return Ok(Vec::new()) };
        let ignored = &self.config.ignore_preflight_errors;
        Ok(preflight::missing_images(host, making, &questions, &read.facts, ignored))
    }

    /// The findings of a host's agent about the paths of new objects.
    async fn look_at_places(
        &self,
        host: &str,
        making: &Making,
    ) -> Result<Vec<PreflightFinding>, ProviderError> {
        let items: Vec<PreflightItem> = making
            .inside
            .iter()
            .filter(|item| IN_PLACE.contains(&item.address.kind()))
            .map(|item| PreflightItem { desired: without_host(&item.desired).0, ..item.clone() })
            .collect();
        if items.is_empty() {
            return Ok(Vec::new());
        }
        let Some(agent) = self.agents.of(host).await? else { return Ok(Vec::new()) };
        let Ok(found) = tokio::time::timeout(LOOKING, agent.session.preflight(items)).await else {
            return Ok(Vec::new());
        };
        let on_host = |finding: PreflightFinding| PreflightFinding {
            message: format!("{host}: {}", finding.message),
            ..finding
        };
        Ok(found?.into_iter().map(on_host).collect())
    }
}

/// The error for a host that is another cluster's node. The destructive hint comes last.
pub(super) fn owned(host: &str, (uid, cluster): &(String, String)) -> ProviderError {
    conflict(format!("the host {host} is a node of cluster {cluster} ({uid}) by its own word")).with_hint(
        format!("choose another host, or take this one out of the spec of {cluster} and apply that; only for a cluster that is gone: `slipway node reset` on the host destroys what is left of its node, with the data of its etcd"),
    )
}

fn finding(host: &str, error: ProviderError) -> PreflightFinding {
    PreflightFinding {
        address: error.address.or_else(|| Some(Address::new(CLAIM, host))),
        class: error.class,
        message: error.message,
        hint: error.hint,
    }
}
