//! Every field of a spec has an effect: another value gives another plan, or an error or a note at the place
//! of the field.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value as Json, json};
use slipway_integration::place::{Ended, Place};
use slipway_spec::leaves::change::{candidates, field, merge, places, set, unescape, without_names};
use slipway_spec::leaves::{Leaf, leaves};
use slipway_spec::source::SourceFile;
use slipway_spec::yaml::{self, Node};
use slipway_testkit::share;

use crate::PROGRAM;

mod hosts;

const BASE: &str = include_str!("../../../fixtures/leaves/base.yaml");
const THREADS: usize = 2;

/// Parts that exclude parts of the base, as merge patches of its cluster.
fn variants() -> Vec<(&'static str, Json)> {
    let endpoint = |endpoint: Json| {
        let mut patch = json!({ "spec": { "controlPlane": { "endpoint": { "loadBalancer": null } } } });
        merge(&mut patch["spec"]["controlPlane"]["endpoint"], &endpoint);
        patch
    };
    let tunnels = |from: Json| {
        endpoint(json!({ "virtualIp": {
            "address": "10.10.40.10", "mode": "wireguard", "wireguard": { "tunnels": from }
        } }))
    };
    let encryption = |at_rest: Json| json!({ "spec": { "encryption": { "atRest": at_rest } } });
    vec![
        ("base", json!({})),
        ("given", endpoint(json!({ "given": { "host": "api.leaves.example.com", "port": 8443 } }))),
        (
            "virtual",
            endpoint(json!({ "virtualIp": {
                "address": "10.10.40.10", "holder": "kubeVip", "interface": "eth0", "mode": "arp", "port": 8443
            } })),
        ),
        (
            "bgp",
            endpoint(json!({ "virtualIp": {
                "address": "10.10.40.10", "mode": "bgp", "bgp": { "autonomousSystem": 65001, "peers": [
                    { "address": "10.10.40.1", "autonomousSystem": 65002, "multihop": true }
                ] }
            } })),
        ),
        ("tunnels-env", tunnels(json!({ "env": "LEAVES_ENCRYPTION_KEY" }))),
        ("tunnels-file", tunnels(json!({ "file": "key.txt" }))),
        ("tunnels-sops", tunnels(json!({ "sops": "secrets.yaml#etcd.encryption_key" }))),
        ("file", encryption(json!({ "key": { "env": null, "file": "key.txt" } }))),
        ("sops", encryption(json!({ "key": { "env": null, "sops": "secrets.yaml#etcd.encryption_key" } }))),
        ("kms", encryption(json!({ "provider": "kms", "key": null, "kmsEndpoint": "unix:///run/kms.sock" }))),
        ("named-key", json!({ "spec": { "ssh": { "keys": null, "keyName": "operators" } } })),
        (
            "dual-stack",
            json!({ "spec": { "network": {
                "ipFamily": "dualStack", "ipv6Cidr": "fd00:10::/48",
                "podCidrs": ["100.96.0.0/11", "fd00:11::/56"],
                "serviceCidrs": ["100.64.0.0/13", "fd00:12::/108"],
            } } }),
        ),
    ]
}

/// The variant that has a leaf, where the base does not.
fn variant_of(path: &str) -> &'static str {
    match path {
        "spec.encryption.atRest.key.file" => "file",
        "spec.encryption.atRest.key.sops" => "sops",
        "spec.encryption.atRest.kmsEndpoint" => "kms",
        "spec.ssh.keyName" => "named-key",
        "spec.network.ipv6Cidr" | "spec.network.subnets[].ipv6Cidr" => "dual-stack",
        _ if path.starts_with("spec.controlPlane.endpoint.given") => "given",
        "spec.controlPlane.endpoint.virtualIp.wireguard.tunnels.env" => "tunnels-env",
        "spec.controlPlane.endpoint.virtualIp.wireguard.tunnels.file" => "tunnels-file",
        "spec.controlPlane.endpoint.virtualIp.wireguard.tunnels.sops" => "tunnels-sops",
        _ if path.starts_with("spec.controlPlane.endpoint.virtualIp.bgp") => "bgp",
        _ if path.starts_with("spec.controlPlane.endpoint.virtualIp") => "virtual",
        _ => "base",
    }
}

/// Values that fit the rest of the base, for leaves whose examples do not.
fn chosen(path: &str) -> Vec<Json> {
    match path {
        "spec.addons[].manifest.url.sha256" | "spec.assets.programs.files[].sha256" => {
            vec![json!("ab".repeat(32))]
        }
        "spec.assets.programs.files[].path" => vec![json!("v2/kubelet")],
        "spec.assets.programs.files[].version" => vec![json!("1.35.1")],
        "spec.assets.programs.mirrors" => vec![json!(["https://other.example.com"])],
        "spec.controlPlane.endpoint.loadBalancer.subnets" => vec![json!(["utility-a"])],
        "spec.controlPlane.endpoint.virtualIp.address" => vec![json!("10.10.40.11")],
        "spec.controlPlane.gates[].expression" => vec![json!("true")],
        "spec.etcd[].members[].subnet" => vec![json!("nat-old")],
        "spec.etcd[].name" => vec![json!("leases")],
        "spec.kubelet.cpuManagerPolicy" => vec![json!("none")],
        "spec.kubelet.evictionSoftGracePeriod" => vec![json!({ "memory.available": "2m" })],
        "spec.kubelet.topologyManagerPolicy" => vec![json!("single-numa-node")],
        "spec.kubernetesVersion" => vec![json!("1.35.3")],
        "spec.network.cidr" => vec![json!("10.10.0.0/15")],
        "spec.network.dnsAddress" => vec![json!("100.64.0.54")],
        "spec.network.ipv6Cidr" => vec![json!("fd00:20::/48")],
        "spec.network.serviceCidrs" => vec![json!(["100.64.0.0/14"])],
        "spec.network.subnets[].cidr" => vec![json!("10.10.176.0/20")],
        "spec.network.subnets[].ipv6Cidr" => vec![json!("fd00:10:0:1::/64")],
        "spec.network.subnets[].zone" => vec![json!("sim-1b"), json!("sim-1a")],
        "spec.nodeFiles.files[].mode" => vec![json!("0600")],
        "spec.spot.maxPrice" => vec![json!("0.30")],
        "spec.subnets" => vec![json!(["nat-new"])],
        "spec.zones" => vec![json!(["sim-1a", "sim-1b", "sim-1c"]), json!(["sim-1b"])],
        _ if path.ends_with("resources.cpuRequest") => vec![json!("200m")],
        _ => Vec::new(),
    }
}

/// Leaves that change how a plan is made: the tests of plans cover them.
const OF_PLANNING: &[&str] = &[
    "Cluster spec.controlPlane.gates[].expression",
    "Cluster spec.controlPlane.gates[].name",
    "Cluster spec.controlPlane.gates[].objects.apiVersion",
    "Cluster spec.controlPlane.gates[].objects.kind",
    "Cluster spec.controlPlane.gates[].objects.labelSelector",
    "Cluster spec.controlPlane.gates[].objects.namespace",
    "Cluster spec.controlPlane.gates[].prometheus.namespace",
    "Cluster spec.controlPlane.gates[].prometheus.port",
    "Cluster spec.controlPlane.gates[].prometheus.query",
    "Cluster spec.controlPlane.gates[].prometheus.service",
    "Cluster spec.controlPlane.gates[].waived",
    "Cluster spec.ignoreChanges[].attribute",
    "Cluster spec.import[].id",
    "Cluster spec.import[].to",
    "Cluster spec.moved[].from",
    "Cluster spec.removed[].from",
];

/// Leaves for which no other value fits the rest of the spec: the value is refused at its place.
const REFUSED: &[&str] = &[
    // Pools refer to their cluster by name, and the name identifies the cluster.
    "Cluster metadata.name",
    // Only machines that exist hand it over by themselves.
    "Cluster spec.controlPlane.endpoint.virtualIp.holder",
    // Each mode has its own settings.
    "Cluster spec.controlPlane.endpoint.virtualIp.mode",
    // Only machines that exist have one.
    "Cluster spec.controlPlane.hosting",
    "Cluster spec.controlPlane.nodeLocalBalancer",
    "Cluster spec.controlPlane.onBrokenGate",
    "Cluster spec.controlPlane.soak",
    // Encrypted data cannot be read with other settings.
    "Cluster spec.encryption.atRest.key.env",
    "Cluster spec.encryption.atRest.key.file",
    "Cluster spec.encryption.atRest.key.sops",
    "Cluster spec.encryption.atRest.kmsEndpoint",
    "Cluster spec.encryption.atRest.provider",
    "Cluster spec.encryption.atRest.resources",
    "Cluster spec.etcd[].members[].pool",
    "Cluster spec.etcd[].members[].volume.deleteOnTermination",
    // A running cluster keeps these.
    "Cluster spec.network.clusterDomain",
    "Cluster spec.network.dnsAddress",
    // The objects in a network cannot be moved to another one.
    "Cluster spec.network.id",
    "Cluster spec.network.ipFamily",
    "Cluster spec.network.podCidrs",
    "Cluster spec.network.serviceCidrs",
    "Cluster spec.network.topology",
    // The state belongs to one provider, account and region.
    "Cluster spec.provider.config",
    "Cluster spec.provider.name",
    "Cluster spec.region",
    "NodePool spec.cluster",
    // Another version is an older one, or newer than that of the cluster.
    "NodePool spec.kubernetesVersion",
];

/// The effect of another value; if there are several values, the first effect in this order counts.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// The plan has a change.
    Changed,
    /// The provider remarks that the field has no effect.
    Noted,
    /// The value has no effect.
    Silent(String),
    /// The value is refused at its place.
    Refused,
    /// The value is refused at another place, which proves nothing about it.
    Elsewhere(String),
}

#[test]
fn every_leaf_changes_the_plan_or_is_spoken_of() -> Result<()> {
    let worlds: BTreeMap<&str, World> = variants()
        .into_iter()
        .map(|(name, patch)| Ok((name, World::new(&patch).with_context(|| name.to_owned())?)))
        .collect::<Result<_>>()?;
    // Machines that exist say nothing to a cloud.
    let is_tried = |leaf: &Leaf| leaf.document != hosts::DOCUMENT && share::has(&leaf.path);
    let leaves: Vec<Leaf> = leaves().into_iter().filter(is_tried).collect();
    let next = AtomicUsize::new(0);
    let found: Mutex<BTreeMap<String, Outcome>> = Mutex::new(BTreeMap::new());
    let work = || -> Result<()> {
        while let Some(leaf) = leaves.get(next.fetch_add(1, Ordering::Relaxed)) {
            let world = worlds.get(variant_of(&leaf.path)).context("a variant")?;
            let name = format!("{} {}", leaf.document, leaf.path);
            let outcome = world.outcome(leaf).with_context(|| name.clone())?;
            if let Ok(mut found) = found.lock() {
                found.insert(name, outcome);
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| match thread.join() {
            Ok(result) => result,
            Err(_) => bail!("a thread panicked"),
        })
    })?;
    let found = found.into_inner().map_err(|_| anyhow::anyhow!("a thread panicked"))?;
    let silent: Vec<String> = found
        .iter()
        .filter(|(name, _)| !OF_PLANNING.contains(&name.as_str()))
        .filter_map(|(name, outcome)| match outcome {
            Outcome::Silent(why) | Outcome::Elsewhere(why) => Some(format!("{name}: {why}")),
            _ => None,
        })
        .collect();
    ensure!(silent.is_empty(), "{} leaves say nothing:\n{}", silent.len(), silent.join("\n"));
    let refused: Vec<&str> = found
        .iter()
        .filter(|(_, outcome)| **outcome == Outcome::Refused)
        .map(|(name, _)| name.as_str())
        .collect();
    let is_tried = |name: &&str| name.split_once(' ').is_some_and(|(_, path)| share::has(path));
    let expected: Vec<&str> = REFUSED.iter().copied().filter(is_tried).collect();
    ensure!(refused == expected, "only ever refused:\n{}", refused.join("\n"));
    Ok(())
}

/// A cluster that was applied, and its documents.
struct World {
    place: Place,
    documents: Vec<Json>,
    serial: AtomicUsize,
}

impl World {
    fn new(patch: &Json) -> Result<Self> {
        let mut documents = read(BASE)?;
        let cluster = documents.first_mut().context("a cluster")?;
        merge(cluster, patch);
        let place = Place::new(PROGRAM)?;
        place.write("key.txt", "bGVhdmVzLWtleS1pbi1hLWZpbGUtaW4tYS1maWxlLSE=\n")?;
        let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/sops");
        for name in ["secrets.yaml", "identity.txt"] {
            std::fs::copy(format!("{fixtures}/{name}"), place.path().join(name))?;
        }
        let world = Self { place, documents, serial: AtomicUsize::new(0) };
        let (file, _) = world.write(&world.documents, None)?;
        let applied = world.run(&["apply", "--yes", "-f", &file])?;
        ensure!(applied.code == Some(0), "the base is not applied: {}", applied.err);
        let again = world.run(&["plan", "-f", &file])?;
        ensure!(again.code == Some(0), "the base leaves a plan:\n{}", again.out);
        Ok(world)
    }

    fn run(&self, arguments: &[&str]) -> Result<Ended> {
        let mut command = self.place.command(arguments);
        command.env("LEAVES_ENCRYPTION_KEY", "bGVhdmVzLWtleS1sZWF2ZXMta2V5LWxlYXZlcy1rZXk=");
        command.env("SOPS_AGE_KEY_FILE", "identity.txt");
        Ended::of(command.output()?)
    }

    /// The best that any other value of the leaf, at any place of the spec, comes to.
    fn outcome(&self, leaf: &Leaf) -> Result<Outcome> {
        let mut best: Option<Outcome> = None;
        for (document, pointer) in places(&self.documents, leaf) {
            for value in candidates(leaf, self.documents[document].pointer(&pointer), &chosen) {
                let outcome = self.try_one(document, &pointer, &value)?;
                if outcome == Outcome::Changed {
                    return Ok(outcome);
                }
                if best.as_ref().is_none_or(|best| outcome < *best) {
                    best = Some(outcome);
                }
            }
        }
        Ok(best.unwrap_or_else(|| Outcome::Silent("the base has no place for it".to_owned())))
    }

    fn try_one(&self, document: usize, pointer: &str, value: &Json) -> Result<Outcome> {
        let mut documents = self.documents.clone();
        set(&mut documents[document], pointer, value);
        let (file, lines) = self.write(&documents, Some((document, pointer)))?;
        let planned = self.run(&["plan", "-f", &file, "-o", "json"])?;
        if matches!(planned.code, Some(0 | 2)) {
            let plan: Json = serde_json::from_str(&planned.out)?;
            let changes = plan["resource_changes"].as_array().map_or(0, Vec::len);
            if changes > 0 {
                return Ok(Outcome::Changed);
            }
            let field = field(&documents[document], pointer);
            let noted = plan["notes"].as_array().into_iter().flatten().any(|note| {
                note["field"].as_str().is_some_and(|noted| field.starts_with(&without_names(noted)))
            });
            return Ok(if noted {
                Outcome::Noted
            } else {
                Outcome::Silent(format!("{pointer} = {value} changes nothing"))
            });
        }
        let checked = self.run(&["spec", "check", "-f", &file, "-o", "json"])?;
        let diagnostics: Json = serde_json::from_str(&checked.out)?;
        let at_place = diagnostics["diagnostics"].as_array().into_iter().flatten().any(|diagnostic| {
            let line = diagnostic["location"]["line"].as_u64();
            line.is_some_and(|line| lines.contains(&line))
        });
        // A value that only the provider can refuse is named by its field.
        let name = pointer.rsplit('/').next().unwrap_or_default();
        let by_provider = checked.code == Some(0) && planned.err.contains(name);
        // Another key for data at rest, or other kinds of objects, cannot replace the present settings: the
        // plan names the attribute.
        let by_planner = pointer.starts_with("/spec/encryption/atRest/")
            && planned.err.contains("error[PLAN0021]")
            && planned.err.contains("has encryption_");
        // Pools name the cluster that they miss, at their own places.
        let by_pool = pointer == "/metadata/name" && planned.err.contains("error[SPEC0022]");
        Ok(if at_place || by_provider || by_planner || by_pool {
            Outcome::Refused
        } else {
            let first = planned.err.lines().next().unwrap_or_default();
            Outcome::Elsewhere(format!("{pointer} = {value} is refused elsewhere: {first}"))
        })
    }

    /// Writes documents; returns the file and the lines of a place in them.
    fn write(
        &self,
        documents: &[Json],
        place: Option<(usize, &str)>,
    ) -> Result<(String, std::ops::RangeInclusive<u64>)> {
        let name = format!("spec-{}.yaml", self.serial.fetch_add(1, Ordering::Relaxed));
        let texts: Vec<String> =
            documents.iter().map(serde_json::to_string_pretty).collect::<Result<_, _>>()?;
        let text = texts.join("\n---\n");
        self.place.write(&name, &text)?;
        let Some((document, pointer)) = place else { return Ok((name, 0..=0)) };
        let (parsed, _) = yaml::parse(&SourceFile::new(name.as_str(), text));
        let mut node = &parsed.get(document).context("the document")?.root;
        for segment in pointer.split('/').skip(1) {
            node = step(node, &unescape(segment)).with_context(|| pointer.to_owned())?;
        }
        Ok((name, u64::from(node.span.start.line)..=u64::from(node.span.end.line)))
    }
}

fn step<'n>(node: &'n Node, segment: &str) -> Option<&'n Node> {
    match segment.parse::<usize>() {
        Ok(index) if !node.items().is_empty() => node.items().get(index),
        _ => node.get(segment),
    }
}

fn read(text: &str) -> Result<Vec<Json>> {
    let (documents, diagnostics) = yaml::parse(&SourceFile::new("base.yaml", text));
    ensure!(diagnostics.is_empty(), "{diagnostics:?}");
    Ok(documents.iter().map(|document| document.root.to_json()).collect())
}
