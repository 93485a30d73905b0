//! Server-side dry runs of desired objects, for those objects alone that may have changed.
//!
//! No request is needed for an object that is desired as it was last applied, if the digest of Slipway's
//! fields is the same as then.

mod secrets;
mod trial;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::{FutureExt as _, StreamExt as _, stream};
use slipway_resource::provider::{DryRun, PlanItem, PreflightFinding, PreflightItem};
use slipway_resource::{Path, ProviderError, Value};

use tokio::sync::OnceCell;

use super::KubernetesSession;
use super::read::attribute;
use super::settings::Reporting;
use crate::api::{Connection, Request};
use crate::manifest;
use crate::node;
use crate::schema::{FIELDS_DIGEST, NODE, OBJECT};
use trial::Trial;

/// How many dry runs are under way at once.
const PARALLEL: usize = 32;

impl KubernetesSession {
    pub(super) async fn dry_run_all(&self, items: Vec<PlanItem>) -> Result<Vec<DryRun>, ProviderError> {
        let (namespaces, reporting) = (Namespaces::default(), Reporting::default());
        let trials: Vec<_> =
            items.iter().map(|item| self.dry_run_of(item, &namespaces, &reporting).boxed()).collect();
        let dry_runs: Vec<Result<DryRun, ProviderError>> =
            stream::iter(trials).buffered(PARALLEL).collect().await;
        dry_runs.into_iter().collect()
    }

    async fn dry_run_of(
        &self,
        item: &PlanItem,
        namespaces: &Namespaces,
        reporting: &Reporting,
    ) -> Result<DryRun, ProviderError> {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner).remove(&item.address);
        if item.address.kind() == NODE {
            return self.dry_run_of_node(item).await;
        }
        let Some(desired) = item.desired.as_ref().filter(|_| item.address.kind() == OBJECT) else {
            return Ok(DryRun::default());
        };
        let manifest = attribute(desired, "manifest");
        if !manifest.is_known() {
            // The manifest needs values of objects that this plan creates first.
            return Ok(DryRun::default());
        }
        if let Some(observed) = unchanged(item, manifest) {
            let dry_run = DryRun { desired: Some(with_manifest(desired, observed)), ..DryRun::default() };
            return self.with_outdated_nodes(dry_run, item, reporting).await;
        }
        let Some(connection) = self.connector.connection().await? else {
            let reasons = vec!["the cluster's API is not up yet: it is planned as it is written".to_owned()];
            return Ok(DryRun { reasons, ..DryRun::default() });
        };
        let wanted = manifest::wanted(manifest).map_err(|error| error.with_address(&item.address))?;
        let Some(resource) = self.resource(&connection, &wanted.kind, Some(&wanted.version)).await? else {
            let reasons =
                vec![format!("the API does not serve {} yet: it is planned as it is written", wanted.kind)];
            return Ok(DryRun { reasons, ..DryRun::default() });
        };
        let key = self.key(&connection, &wanted).await?;
        if item.observed.is_none() && !namespaces.exists(&connection, &key.namespace).await? {
            let reasons = vec![format!(
                "the namespace {} is not there yet: it is planned as it is written",
                key.namespace
            )];
            return Ok(DryRun { reasons, ..DryRun::default() });
        }
        let trial = Trial { session: self, connection: &connection, item, desired, manifest, resource, key };
        let outcome = trial.run().await?;
        if let Some(finding) = outcome.refusal {
            let finding = PreflightFinding { address: Some(item.address.clone()), ..finding };
            let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
            refusals.insert(item.address.clone(), finding);
        }
        self.with_outdated_nodes(outcome.dry_run, item, reporting).await
    }

    /// A node that Slipway has not marked yet is compared by its desired fields: another tool has set them.
    async fn dry_run_of_node(&self, item: &PlanItem) -> Result<DryRun, ProviderError> {
        let (Some(desired), Some(observed)) = (&item.desired, &item.observed) else {
            return Ok(DryRun::default());
        };
        let has = |name: &str| observed.get(name).is_some_and(|value| !value.is_null());
        if ["labels", "annotations", "taints"].into_iter().any(has) {
            return Ok(DryRun::default());
        }
        let (Some(key), Some(connection)) = (node::key_of(desired), self.connector.connection().await?)
        else {
            return Ok(DryRun::default());
        };
        let live = self.live(&connection, &key).await?;
        let seen = live.and_then(|live| node::seen(&live, desired));
        Ok(DryRun { observed: seen, ..DryRun::default() })
    }

    /// The findings of the dry runs, and the pods of a node that a drain would not evict.
    pub(super) async fn preflight_all(
        &self,
        items: &[PreflightItem],
    ) -> Result<Vec<PreflightFinding>, ProviderError> {
        let mut findings: Vec<PreflightFinding> = {
            let refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
            let items = items.iter().filter(|item| item.action != "delete");
            items.filter_map(|item| refusals.get(&item.address).cloned()).collect()
        };
        let leaving: Vec<&PreflightItem> =
            items.iter().filter(|item| item.address.kind() == NODE && item.action == "delete").collect();
        findings.extend(self.node_findings(&leaving).await?);
        Ok(findings)
    }
}

/// The existing namespaces, each read once.
#[derive(Default)]
struct Namespaces(Mutex<HashMap<String, Arc<OnceCell<bool>>>>);

impl Namespaces {
    /// Whether objects of a namespace can be tried. Cluster-scoped objects can.
    async fn exists(&self, connection: &Connection, name: &str) -> Result<bool, ProviderError> {
        if name.is_empty() {
            return Ok(true);
        }
        let cell = {
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(known.entry(name.to_owned()).or_default())
        };
        let ask = async || {
            let found = connection.ask(&Request::get(format!("/api/v1/namespaces/{name}"))).await?.found()?;
            Ok(found.is_some())
        };
        cell.get_or_try_init(ask).await.copied()
    }
}

/// The observed manifest, if the object is desired as it was last applied and has not changed since.
fn unchanged<'a>(item: &'a PlanItem, manifest: &Value) -> Option<&'a Value> {
    let (observed, applied) = (item.observed.as_ref()?, item.last_applied.as_ref()?);
    let digest = |attributes: &'a Value| attributes.get(FIELDS_DIGEST).filter(|digest| !digest.is_null());
    let untouched = digest(observed).is_some() && digest(observed) == digest(applied);
    (untouched && applied.get("manifest") == Some(manifest)).then(|| attribute(observed, "manifest"))
}

fn with_manifest(attributes: &Value, manifest: &Value) -> Value {
    let mut attributes = attributes.clone();
    attributes.set(&Path::key("manifest"), manifest.clone());
    attributes
}
