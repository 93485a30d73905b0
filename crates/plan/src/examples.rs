//! Values for tests, of which each test sets the fields that it is about.

use std::collections::BTreeMap;

use slipway_resource::provider::{OnBlocked, Rollout};
use slipway_resource::{Digest, Identity};

use crate::file::{Binding, FORMAT, Mode, Plan};
use crate::state::Record;

/// A plan of the cluster `demo` after its first generation, without changes and steps.
pub(crate) fn plan() -> Plan {
    Plan {
        format: FORMAT,
        cluster: "demo".to_owned(),
        mode: Mode::Apply,
        binding: Binding {
            uid: None,
            generation: Some(1),
            snapshot: None,
            spec_digest: Digest::of(&serde_json::Value::Null).unwrap(),
            catalogs: BTreeMap::new(),
            providers: BTreeMap::new(),
        },
        spec: serde_json::Value::Null,
        changes: Vec::new(),
        unchanged: 0,
        dependencies: BTreeMap::new(),
        drift: Vec::new(),
        kept: Vec::new(),
        steps: Vec::new(),
        outlook: Vec::new(),
        left_out: 0,
        pending: Vec::new(),
        ignored: Vec::new(),
        notes: Vec::new(),
        findings: Vec::new(),
        infrastructure_only: Vec::new(),
        infrastructure_accepted: false,
        sets_protection: None,
        prices: None,
        rate_classes: BTreeMap::new(),
        estimate_ms: 0,
        critical_path_ms: 0,
    }
}

/// The record of an object of the provider `any` that has only an identity.
pub(crate) fn record(identity: &str) -> Record {
    Record {
        provider: "any".to_owned(),
        schema_version: 1,
        identity: Identity::new(identity),
        applied: None,
        depends_on: Vec::new(),
        retain: false,
        protected: false,
        existing: false,
        as_found: BTreeMap::new(),
        untagged: false,
        deposed: Vec::new(),
    }
}

/// A pool of workers without machines, which are replaced one after the other.
pub(crate) fn workers() -> Rollout {
    Rollout {
        group: "worker".to_owned(),
        exclusive: false,
        after: Vec::new(),
        size: 0,
        members: Vec::new(),
        max_surge: 1,
        max_unavailable: 0,
        drain_timeout_ms: 1,
        ready_timeout_ms: 1,
        prerequisites: Vec::new(),
        durations_ms: BTreeMap::new(),
        loses: None,
        irremovable: None,
        settle_ms: 0,
        ignore_budgets: false,
        on_blocked: OnBlocked::Fail,
    }
}
