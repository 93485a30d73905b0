//! Findings about a set of changes, all at once.

use std::collections::{BTreeMap, BTreeSet};

use slipway_resource::provider::{PreflightFinding, PreflightItem};
use slipway_resource::{ErrorClass, ProviderError, Value};

use super::{SimSession, kind_of};
use crate::fault::{Call, Kind as FaultKind};

impl SimSession {
    pub(super) async fn preflight_all(
        &self,
        items: &[PreflightItem],
    ) -> Result<Vec<PreflightFinding>, ProviderError> {
        let call = Call { method: "preflight", type_name: "", name: "" };
        self.begin(call, "network").await?;
        let mut findings = Vec::new();
        self.cloud.read(&self.clock, |world, _| {
            let mut made: BTreeMap<&str, u64> = BTreeMap::new();
            let mut freed: BTreeMap<&str, u64> = BTreeMap::new();
            // An object that is replaced after its successor was created frees nothing before.
            let created: BTreeSet<_> =
                items.iter().filter(|item| item.action == "create").map(|item| &item.address).collect();
            let frees = |item: &&PreflightItem| item.action == "delete" && !created.contains(&item.address);
            for item in items.iter().filter(frees) {
                *freed.entry(item.address.kind()).or_default() += 1;
            }
            for item in items {
                let Ok(kind) = kind_of(&item.address) else { continue };
                if let Some(error) = self.denied(item) {
                    findings.push(finding(item, error));
                }
                if item.desired.is_null() {
                    continue;
                }
                let attributes = Value::Map(kind.normalised(&item.desired));
                // A name that something else gives up in the same run is free by then.
                let frees = freed.contains_key(kind.name);
                let id = if item.action == "create" { None } else { Some("") };
                let already = made.entry(kind.name).or_default();
                let count = already.saturating_sub(freed.get(kind.name).copied().unwrap_or_default());
                for error in self.refusals(world, kind, count, &attributes, id) {
                    if frees && error.class == ErrorClass::Conflict {
                        continue;
                    }
                    findings.push(finding(item, error));
                }
                if item.action == "create" {
                    *already += 1;
                }
            }
        })?;
        self.calls.append(&[self.record(call, "ok", items.len())]);
        Ok(findings)
    }

    /// The refusal of a change that faults have on request.
    fn denied(&self, item: &PreflightItem) -> Option<ProviderError> {
        let call = Call { method: &item.action, type_name: item.address.kind(), name: item.address.name() };
        self.faults
            .standing(call)
            .into_iter()
            .find(|rule| matches!(rule.kind, FaultKind::Permission | FaultKind::Quota))
            .map(|rule| rule.error(call, ""))
    }
}

fn finding(item: &PreflightItem, error: ProviderError) -> PreflightFinding {
    PreflightFinding {
        address: Some(item.address.clone()),
        class: error.class,
        message: error.message,
        hint: error.hint,
    }
}
