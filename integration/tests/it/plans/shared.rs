//! A small cluster of the simulated cloud, and what its plans say.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value as Json;
use slipway_integration::place::Place;
use slipway_provider_sim::inspect::Object;
use slipway_resource::Address;

use crate::{APPLY, PLAN, PROGRAM};

pub(super) const CLUSTER: &str = "\
apiVersion: slipway.dev/v1alpha1
kind: Cluster
metadata: { name: small }
spec:
  provider: { name: sim }
  region: sim-1
  kubernetesVersion: 1.35.2
  zones: [sim-1a]
  profile: kubeadm
  network: { cni: { name: none }, proxyMode: none }
  controlPlane: { endpoint: { loadBalancer: { scheme: internal } } }
  cloudLabels: { team: platform }
";

pub(super) const CONTROL_PLANE: &str = "\
---
apiVersion: slipway.dev/v1alpha1
kind: NodePool
metadata: { name: control-plane }
spec: { role: controlPlane, machineType: sim.medium }
";

pub(super) const WORKERS: &str = "\
---
apiVersion: slipway.dev/v1alpha1
kind: NodePool
metadata: { name: workers }
spec: { machineType: sim.medium, image: sim-linux-1, size: { fixed: 2 } }
";

pub(super) fn spec() -> String {
    [CLUSTER, CONTROL_PLANE, WORKERS].concat()
}

/// A place with a spec, not applied.
pub(super) fn fresh(spec: &str) -> Result<Place> {
    let place = Place::new(PROGRAM)?;
    place.write("spec.yaml", spec)?;
    Ok(place)
}

/// A place with a spec, applied.
pub(super) fn applied(spec: &str) -> Result<Place> {
    let place = fresh(spec)?;
    place.expect(0, APPLY)?;
    place.expect(0, PLAN)?;
    Ok(place)
}

pub(super) fn object(place: &Place, address: &str) -> Result<Object> {
    let inventory = place.inventory()?;
    let address: Address = address.parse()?;
    let found = inventory.at(&address);
    ensure!(found.len() == 1, "{} objects at {address}", found.len());
    Ok(found[0].clone())
}

pub(super) fn identities(place: &Place) -> Result<BTreeSet<String>> {
    Ok(place.inventory()?.objects.into_iter().map(|object| object.id).collect())
}

pub(super) fn json(text: &str) -> Result<Json> {
    serde_json::from_str(text).with_context(|| text.to_owned())
}

/// The changes of a JSON plan: address and actions.
pub(super) fn actions(plan: &Json) -> Vec<(String, String)> {
    let changes = plan["resource_changes"].as_array().into_iter().flatten();
    let words = |change: &Json| {
        let actions = change["change"]["actions"].as_array().into_iter().flatten();
        actions.filter_map(Json::as_str).collect::<Vec<_>>().join("+")
    };
    changes.map(|change| (change["address"].as_str().unwrap_or_default().to_owned(), words(change))).collect()
}

pub(super) fn planned(place: &Place, code: i32, more: &[&str]) -> Result<Json> {
    let arguments: Vec<&str> =
        PLAN.iter().copied().chain(["-o", "json"]).chain(more.iter().copied()).collect();
    json(&place.expect(code, &arguments)?.out)
}

/// The text without what differs from run to run: the numbers that the cloud gives, in the order in which calls
/// come, the digest over them, and the host of the actor.
pub(super) fn settled(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let line = match line.split_once("sha256:") {
            Some((before, _)) => format!("{before}sha256:…"),
            None => line.to_owned(),
        };
        let line = match line.split_once("actor tester@") {
            Some((before, _)) => format!("{before}actor tester@…"),
            None => line,
        };
        let mut rest = line.as_str();
        while let Some(dash) = rest.find('-') {
            let (before, after) = rest.split_at(dash + 1);
            out.push_str(before);
            let digits = after.bytes().take_while(u8::is_ascii_digit).count();
            if digits == 6 {
                out.push_str("######");
            }
            rest = &after[if digits == 6 { 6 } else { 0 }..];
        }
        out.push_str(rest);
        out.push('\n');
    }
    out
}

/// The machines of a pool, by their identities.
pub(super) fn machines(pool: &str, place: &Place) -> Result<Vec<String>> {
    let id = object(place, &format!("sim_machine_pool.{pool}"))?.id;
    let machines = place.inventory()?.machines.into_iter().filter(|machine| machine.pool == id);
    Ok(machines.map(|machine| machine.id).collect())
}
