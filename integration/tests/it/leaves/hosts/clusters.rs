//! Every leaf of a cluster on hosts, and of its pools, has an effect: another value changes the offline plan, is refused, or
//! has a note that it has no effect.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value as Json, json};
use slipway_integration::place::{Ended, Place};
use slipway_spec::leaves::change::unescape;
use slipway_testkit::share;

use super::{BASE, DOCUMENT, view};
use crate::PROGRAM;
use crate::leaves::read;

const LEAVES: &str = include_str!("../../../../../fixtures/leaves/hosts.yaml");

/// Leaves that plans, notes and errors name things by, or that change how a plan is made. No attribute has them. Others are in
/// [`the_way_into_a_listed_machine_is_that_of_its_pool`].
const NOT_IN_PLANS: &[&str] = &[
    "Cluster leaves/spec/addons/1/name",
    // Upgrades use them.
    "Cluster leaves/spec/controlPlane/gates",
    "Cluster leaves/spec/controlPlane/gates/0/expression",
    "Cluster leaves/spec/controlPlane/gates/0/name",
    "Cluster leaves/spec/controlPlane/gates/0/objects/apiVersion",
    "Cluster leaves/spec/controlPlane/gates/0/objects/kind",
    "Cluster leaves/spec/controlPlane/gates/0/objects/labelSelector",
    "Cluster leaves/spec/controlPlane/gates/0/objects/namespace",
    "Cluster leaves/spec/controlPlane/gates/0/prometheus/namespace",
    "Cluster leaves/spec/controlPlane/gates/0/prometheus/port",
    "Cluster leaves/spec/controlPlane/gates/0/prometheus/query",
    "Cluster leaves/spec/controlPlane/gates/0/prometheus/service",
    "Cluster leaves/spec/controlPlane/gates/0/waived",
    "Cluster leaves/spec/controlPlane/onBrokenGate",
    "Cluster leaves/spec/controlPlane/soak",
    "Cluster leaves/spec/deletionProtection",
    "Cluster leaves/spec/ignoreChanges",
    "Cluster leaves/spec/ignoreChanges/0/attribute",
    "Cluster leaves/spec/ignoreChanges/0/resource",
    "Cluster leaves/spec/moved",
    "Cluster leaves/spec/moved/0/from",
    "Cluster leaves/spec/moved/0/to",
    "Cluster leaves/spec/removed",
    "Cluster leaves/spec/removed/0/from",
    "NodePool between/metadata/name",
    "NodePool control-plane/metadata/name",
    "NodePool listed/metadata/name",
    "NodePool listed/spec/hosts/addresses/0/port",
    "NodePool listed/spec/hosts/addresses/0/user",
    "NodePool workers/metadata/name",
];

/// Leaves for which no other value fits the rest of the documents.
const REFUSED: &[&str] = &[
    "Cluster leaves/metadata/name",
    // API servers read policies of one version only.
    "Cluster leaves/spec/audit/policy/apiVersion",
    "Cluster leaves/spec/audit/policy/kind",
    "Cluster leaves/spec/encryption/atRest/key/env",
    "Cluster leaves/spec/etcd",
    "Cluster leaves/spec/etcd/0/name",
    "Cluster leaves/spec/network/ipFamily",
    "Cluster leaves/spec/network/serviceCidrs",
    "Cluster leaves/spec/provider/name",
    "NodePool between/spec/hosts/inventory",
    "NodePool between/spec/hosts/matchLabels/role",
    "NodePool control-plane/spec/cluster",
    "NodePool control-plane/spec/hosts/inventory",
    "NodePool control-plane/spec/hosts/matchLabels/role",
    "NodePool control-plane/spec/role",
    "NodePool listed/spec/hosts/addresses",
    "NodePool workers/spec/cluster",
    "NodePool workers/spec/hosts/inventory",
    "NodePool workers/spec/hosts/matchLabels/role",
    "NodePool workers/spec/role",
];

/// The effect of another value; if there are several values, the first effect in this order counts.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Changed,
    Noted,
    Refused,
    /// The value has no effect, or the plan fails without its name.
    Silent(String),
}

#[test]
fn every_leaf_of_a_cluster_changes_the_plan_or_is_spoken_of() -> Result<()> {
    let world = World::new()?;
    let mut found: BTreeMap<String, Outcome> = BTreeMap::new();
    for (index, document) in world.documents.iter().enumerate() {
        let (kind, name) = (text_at(document, "/kind"), text_at(document, "/metadata/name"));
        let mut pointers = Vec::new();
        for part in ["metadata", "spec"] {
            walk(&document[part], &format!("/{part}"), &mut pointers);
        }
        pointers.retain(|pointer| kind != DOCUMENT && share::has(pointer));
        for pointer in pointers {
            let leaf = format!("{kind} {name}{pointer}");
            if !NOT_IN_PLANS.contains(&leaf.as_str()) {
                let outcome = world.outcome(index, &pointer).with_context(|| leaf.clone())?;
                found.insert(leaf, outcome);
            }
        }
    }
    let silent: Vec<String> = found
        .iter()
        .filter_map(|(leaf, outcome)| match outcome {
            Outcome::Silent(why) => Some(format!("{leaf}: {why}")),
            _ => None,
        })
        .collect();
    ensure!(silent.is_empty(), "{} leaves say nothing:\n{}", silent.len(), silent.join("\n"));
    let refused = found.iter().filter(|(_, outcome)| **outcome == Outcome::Refused);
    let refused: Vec<&str> = refused.map(|(leaf, _)| leaf.as_str()).collect();
    let is_tried = |leaf: &&str| leaf.find('/').is_some_and(|at| share::has(&leaf[at..]));
    let expected: Vec<&str> = REFUSED.iter().copied().filter(is_tried).collect();
    ensure!(refused == expected, "only ever refused:\n{}", refused.join("\n"));
    Ok(())
}

#[test]
fn the_way_into_a_listed_machine_is_that_of_its_pool() -> Result<()> {
    for (port, user) in [(2222, "ubuntu"), (2022, "admin")] {
        let mut documents = read(BASE)?;
        documents.push(json!({
            "apiVersion": "slipway.dev/v1alpha1",
            "kind": "NodePool",
            "metadata": { "name": "listed" },
            "spec": { "hosts": { "addresses": [
                { "name": "listed-0", "address": "10.0.0.30", "port": port, "user": user }
            ] } },
        }));
        let seen = view(&documents)?.context("no plan")?;
        let call = seen.calls.get("listed-0").context("the machine was not entered")?;
        ensure!(call.contains(&format!("-p\n{port}\n-l\n{user}\n")), "{call}");
    }
    Ok(())
}

/// A plan as far as a leaf can change it.
type Shown = (Json, Vec<Json>);

/// The documents, and their plan.
struct World {
    place: Place,
    documents: Vec<Json>,
    before: Json,
}

impl World {
    fn new() -> Result<Self> {
        let place = Place::new(PROGRAM)?;
        for (file, name) in [("local.yaml", "a"), ("other.yaml", "b")] {
            let object = json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": { "name": name, "namespace": "default" }, "data": { "a": "b" },
            });
            place.write(file, &object.to_string())?;
        }
        let mut world = Self { place, documents: read(LEAVES)?, before: Json::Null };
        let (before, _) =
            world.plan(&world.documents)?.map_err(|told| anyhow::anyhow!("the base has no plan: {told}"))?;
        world.before = before;
        Ok(world)
    }

    /// The offline plan of documents: its changes and notes, or the errors.
    fn plan(&self, documents: &[Json]) -> Result<Result<Shown, String>> {
        let texts: Vec<String> =
            documents.iter().map(serde_json::to_string_pretty).collect::<Result<_, _>>()?;
        self.place.write("spec.yaml", &texts.join("\n---\n"))?;
        let mut command = self.place.command(&["plan", "-f", "spec.yaml", "--offline", "-o", "json"]);
        command.env("LEAVES_ENCRYPTION_KEY", "bGVhdmVzLWtleS1sZWF2ZXMta2V5LWxlYXZlcy1rZXk=");
        command.env("OTHER_ENCRYPTION_KEY", "short");
        let ended = Ended::of(command.output()?)?;
        if !matches!(ended.code, Some(0 | 2)) {
            return Ok(Err(ended.err));
        }
        let mut plan: Json = serde_json::from_str(&ended.out)?;
        let notes = plan["notes"].as_array().cloned().unwrap_or_default();
        Ok(Ok((plan["resource_changes"].take(), notes)))
    }

    /// The best that any other value of a leaf comes to.
    fn outcome(&self, document: usize, pointer: &str) -> Result<Outcome> {
        let now = self.documents[document].pointer(pointer).context("no such leaf")?;
        let mut best = Outcome::Silent("there is no other value".to_owned());
        for value in others(now).into_iter().filter(|value| value != now) {
            let mut documents = self.documents.clone();
            *documents[document].pointer_mut(pointer).context("no such leaf")? = value.clone();
            let outcome = match self.plan(&documents)? {
                Ok((changes, _)) if changes != self.before => Outcome::Changed,
                Ok((_, notes)) => {
                    let field = field(&documents[document], pointer);
                    let is_noted = notes
                        .iter()
                        .any(|note| note["field"].as_str().is_some_and(|noted| field.starts_with(noted)));
                    if is_noted {
                        Outcome::Noted
                    } else {
                        Outcome::Silent(format!("{value} changes nothing"))
                    }
                }
                Err(told) if is_named(pointer, &value, &told) => Outcome::Refused,
                Err(told) => Outcome::Silent(format!("{value} is refused without its name: {told}")),
            };
            let is_changed = outcome == Outcome::Changed;
            best = best.min(outcome);
            if is_changed {
                break;
            }
        }
        Ok(best)
    }
}

/// Whether errors name a field, the object that it is in, or its value.
fn is_named(pointer: &str, value: &Json, told: &str) -> bool {
    let names = pointer.rsplit('/').filter(|segment| segment.parse::<usize>().is_err()).take(2);
    names.map(unescape).chain(value.as_str().map(str::to_owned)).any(|name| told.contains(&name))
}

fn text_at<'j>(json: &'j Json, pointer: &str) -> &'j str {
    json.pointer(pointer).and_then(Json::as_str).unwrap_or_default()
}

/// The pointers of all single values and all lists.
fn walk(json: &Json, at: &str, found: &mut Vec<String>) {
    match json {
        Json::Object(fields) => {
            for (name, value) in fields {
                walk(value, &format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), found);
            }
        }
        Json::Array(items) => {
            found.push(at.to_owned());
            for (index, item) in items.iter().enumerate() {
                walk(item, &format!("{at}/{index}"), found);
            }
        }
        Json::Null => {}
        _ => found.push(at.to_owned()),
    }
}

/// The field of a pointer with the names of list items, as notes have it.
fn field(document: &Json, pointer: &str) -> String {
    let mut field = String::new();
    if text_at(document, "/kind") == "NodePool" {
        field = format!("pools[{}]", text_at(document, "/metadata/name"));
    }
    let mut at = String::new();
    for segment in pointer.split('/').skip(1) {
        at = format!("{at}/{segment}");
        if matches!(at.as_str(), "/spec" | "/metadata") {
            continue;
        }
        if segment.parse::<usize>().is_ok() {
            field = format!("{field}[{}]", text_at(document, &format!("{at}/name")));
        } else if field.is_empty() {
            field = unescape(segment);
        } else {
            field = format!("{field}.{}", unescape(segment));
        }
    }
    field
}

/// Other values, the likeliest to fit first.
fn others(now: &Json) -> Vec<Json> {
    match now {
        Json::Bool(now) => vec![json!(!now)],
        Json::Number(now) => {
            let now = now.as_i64().unwrap_or_default();
            vec![json!(now + 1), json!(now - 1)]
        }
        Json::Array(items) => {
            let Some((last, before)) = items.split_last() else { return Vec::new() };
            let longer = last.as_str().map(|last| json!([format!("{last}x")]));
            std::iter::once(json!(before)).chain(longer).collect()
        }
        Json::String(now) => {
            let fitting =
                FITTING.iter().filter(|(word, _)| word == now).map(|(_, other)| (*other).to_owned());
            let counted = [false, true].into_iter().filter_map(|last| one_more(now, last));
            fitting.chain(counted).chain([format!("{now}x")]).map(Json::from).collect()
        }
        _ => Vec::new(),
    }
}

/// Words in place of others.
const FITTING: &[(&str, &str)] = &[
    ("ipvs", "nftables"),
    ("restricted", "baseline"),
    ("baseline", "restricted"),
    ("static", "none"),
    ("best-effort", "single-numa-node"),
    ("secretbox", "aescbc"),
    ("local.yaml", "other.yaml"),
    ("slipway", "kubeadm"),
    ("slipway", "hardened"),
    ("selfHosted", "staticPods"),
    ("flannel", "none"),
    ("internal", "public"),
    ("beforeKubelet", "afterKubelet"),
    ("NoSchedule", "NoExecute"),
    ("ipv4", "ipv6"),
    ("LEAVES_ENCRYPTION_KEY", "OTHER_ENCRYPTION_KEY"),
];

/// A text with its first or its last number increased by one.
fn one_more(text: &str, last: bool) -> Option<String> {
    let is_digit = |letter: char| letter.is_ascii_digit();
    let end = if last {
        text.rfind(is_digit)? + 1
    } else {
        let start = text.find(is_digit)?;
        text[start..].find(|letter: char| !is_digit(letter)).map_or(text.len(), |length| start + length)
    };
    let start = text[..end].rfind(|letter: char| !is_digit(letter)).map_or(0, |before| before + 1);
    let number: u64 = text[start..end].parse().ok()?;
    Some(format!("{}{}{}", &text[..start], number + 1, &text[end..]))
}
