//! Values for tests, of which each test sets the fields that it is about.

use std::collections::BTreeMap;

use slipway_resource::provider::{OnBlocked, Rollout};
use slipway_resource::{Digest, Identity};

use crate::file::{Binding, Mode, Plan};
use crate::state::Record;

/// A plan of the cluster `demo` after its first generation, without changes and steps.
pub(crate) fn plan() -> Plan {
    let binding = Binding {
        uid: None,
        generation: Some(1),
        snapshot: None,
        continues: None,
        spec_digest: Digest::of(&serde_json::Value::Null).unwrap(),
        catalogs: BTreeMap::new(),
        providers: BTreeMap::new(),
    };
    Plan::without_changes("demo", Mode::Apply, binding)
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
