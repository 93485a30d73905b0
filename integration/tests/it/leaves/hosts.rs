//! Every field that a host can have does something: another value is another plan, or another way into the machine.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value as Json, json};
use slipway_integration::place::{Ended, Place};
use slipway_spec::leaves::change::{candidates, places, set};
use slipway_spec::leaves::{Leaf, leaves};
use slipway_testkit::share;

use super::read;
use crate::PROGRAM;

mod clusters;

/// The kind of the documents for existing machines.
pub(super) const DOCUMENT: &str = "Host";

/// The program's SSH client: it records its arguments and fails.
const SSH: &str = r#"#!/bin/sh
for word in "$@"; do
  case "$word" in HostKeyAlias=*) host=${word#HostKeyAlias=} ;; esac
done
for word in "$@"; do
  case "$word" in
    # SSH takes the quotes off the path.
    UserKnownHostsFile=*) file=${word#*=\"}; cat "${file%\"}" ;;
    *) printf '%s\n' "$word" ;;
  esac
done > "$CALLS/$host"
echo "nobody is there" >&2
exit 255
"#;

/// A control plane with SSH and an address for every rule; a pool of two workers, with hosts in two zones;
/// and one more host for each pool, one of them with an agent.
const BASE: &str = r#"
apiVersion: slipway.dev/v1alpha1
kind: Cluster
metadata: { name: leaves }
spec:
  provider: { name: hosts }
  kubernetesVersion: 1.34.4
---
apiVersion: slipway.dev/v1alpha1
kind: NodePool
metadata: { name: control-plane }
spec:
  role: controlPlane
  hosts: { inventory: rack, matchLabels: { role: control-plane }, address: { interface: eth0 } }
---
apiVersion: slipway.dev/v1alpha1
kind: NodePool
metadata: { name: workers }
spec:
  size: { fixed: 2 }
  hosts: { inventory: rack, matchLabels: { role: worker } }
---
apiVersion: slipway.dev/v1alpha1
kind: Host
metadata: { name: server, labels: { role: control-plane } }
spec:
  inventory: rack
  addresses:
    - { type: public, address: 203.0.113.10, interface: eth0 }
    - { type: internal, address: 10.0.0.10, interface: eth0 }
    - { type: internal, address: 10.9.0.10, interface: eth1 }
  ssh:
    port: 2222
    user: ubuntu
    hostKeys: [ ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl ]
---
apiVersion: slipway.dev/v1alpha1
kind: Host
metadata: { name: worker-0, labels: { role: worker } }
spec: { inventory: rack, zone: a, region: north, nodeLabels: { example.com/rack: r1 }, lost: false, addresses: [ { address: 10.0.0.20 } ], agent: { socket: /run/slipway/worker-0.sock } }
---
apiVersion: slipway.dev/v1alpha1
kind: Host
metadata: { name: worker-1, labels: { role: worker } }
spec: { inventory: rack, zone: a, addresses: [ { address: 10.0.0.21 } ], agent: { socket: /run/slipway/worker-1.sock } }
---
apiVersion: slipway.dev/v1alpha1
kind: Host
metadata: { name: worker-2, labels: { role: worker } }
spec: { inventory: rack, zone: b, addresses: [ { address: 10.0.0.22 } ], agent: { socket: /run/slipway/worker-2.sock } }
"#;

/// Leaves that only have an effect when a step runs on the machine; the tests of its provider cover them.
const INSIDE: [&str; 1] = ["spec.agent.socket"];

/// Values that fit the rest of the base, for leaves whose examples do not.
fn chosen(path: &str) -> Vec<Json> {
    match path {
        "spec.addresses[].address" => vec![json!("10.0.0.99")],
        "spec.addresses[].type" => vec![json!("internal"), json!("public")],
        "spec.ssh.address" => vec![json!("192.0.2.7")],
        "spec.ssh.hostKeys" => {
            vec![json!(["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdZ5Z7c0mWkqvD1QlPOyL0vZQ7c9e7nqj0o1m3Jp3aA"])]
        }
        _ => Vec::new(),
    }
}

/// The results for documents: the changes of a plan that connects to no machine, and the SSH calls of a plan
/// that does.
#[derive(PartialEq)]
struct View {
    changes: Json,
    calls: BTreeMap<String, String>,
}

fn view(documents: &[Json]) -> Result<Option<View>> {
    let place = Place::new(PROGRAM)?;
    let texts: Vec<String> = documents.iter().map(Json::to_string).collect();
    place.write("spec.yaml", &texts.join("\n---\n"))?;
    let offline = place.run(&["plan", "-f", "spec.yaml", "--offline", "-o", "json"])?;
    if offline.code != Some(2) {
        return Ok(None);
    }
    let plan: Json = serde_json::from_str(&offline.out)?;
    let client = place.write("bin/ssh", SSH)?;
    fs::set_permissions(&client, fs::Permissions::from_mode(0o755))?;
    let calls = place.path().join("calls");
    fs::create_dir(&calls)?;
    let folder = client.parent().context("a folder")?.display().to_string();
    let path = format!("{folder}:{}", std::env::var("PATH")?);
    let mut command = place.command(&["plan", "-f", "spec.yaml"]);
    let online = Ended::of(command.env("PATH", path).env("CALLS", &calls).output()?)?;
    ensure!(online.code == Some(1) && online.err.contains("nobody is there"), "{}{}", online.out, online.err);
    let mut called = BTreeMap::new();
    for entry in fs::read_dir(&calls)? {
        let entry = entry?;
        let text = fs::read_to_string(entry.path())?;
        // Where the spec is differs from call to call.
        let text = text.replace(&place.path().display().to_string(), "");
        called.insert(entry.file_name().to_string_lossy().into_owned(), text);
    }
    ensure!(!called.is_empty(), "nobody was entered");
    Ok(Some(View { changes: plan["resource_changes"].clone(), calls: called }))
}

#[test]
fn every_leaf_of_a_host_changes_the_plan_or_the_way_in() -> Result<()> {
    let base = read(BASE)?;
    let before = view(&base)?.context("the base has no plan")?;
    let mut silent = Vec::new();
    let leaves: Vec<Leaf> = leaves().into_iter().filter(|leaf| leaf.document == DOCUMENT).collect();
    ensure!(leaves.len() >= 13, "{} leaves", leaves.len());
    let is_tried = |leaf: &&Leaf| !INSIDE.contains(&leaf.path.as_str()) && share::has(&leaf.path);
    for leaf in leaves.iter().filter(is_tried) {
        if !changes_something(leaf, &base, &before).with_context(|| leaf.path.clone())? {
            silent.push(leaf.path.as_str());
        }
    }
    ensure!(silent.is_empty(), "{} leaves say nothing:\n{}", silent.len(), silent.join("\n"));
    Ok(())
}

fn changes_something(leaf: &Leaf, base: &[Json], before: &View) -> Result<bool> {
    for (document, pointer) in places(base, leaf) {
        let now = base[document].pointer(&pointer);
        let values = chosen(&leaf.path).into_iter().chain(candidates(leaf, now, &super::chosen));
        for value in values.filter(|value| Some(value) != now) {
            let mut documents = base.to_vec();
            set(&mut documents[document], &pointer, &value);
            if view(&documents)?.is_some_and(|after| after != *before) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
