//! Plans of a small cluster: as text, saved, narrowed, against a cloud that others changed, in every form.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value as Json;
use slipway_integration::place::{Ended, Place};
use slipway_provider_sim::inspect::{Object, Tamper};
use slipway_resource::{Address, Value};

const PROGRAM: &str = env!("CARGO_BIN_EXE_slipway-under-test");

const CLUSTER: &str = "\
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

const CONTROL_PLANE: &str = "\
---
apiVersion: slipway.dev/v1alpha1
kind: NodePool
metadata: { name: control-plane }
spec: { role: controlPlane, machineType: sim.medium }
";

const WORKERS: &str = "\
---
apiVersion: slipway.dev/v1alpha1
kind: NodePool
metadata: { name: workers }
spec: { machineType: sim.medium, image: sim-linux-1, size: { fixed: 2 } }
";

const PLAN: &[&str] = &["plan", "-f", "spec.yaml"];
const APPLY: &[&str] = &["apply", "-f", "spec.yaml", "--yes"];

fn spec() -> String {
    [CLUSTER, CONTROL_PLANE, WORKERS].concat()
}

/// A place with a spec, not applied.
fn fresh(spec: &str) -> Result<Place> {
    let place = Place::new(PROGRAM)?;
    place.write("spec.yaml", spec)?;
    Ok(place)
}

/// A place with a spec, applied.
fn applied(spec: &str) -> Result<Place> {
    let place = fresh(spec)?;
    place.expect(0, APPLY)?;
    place.expect(0, PLAN)?;
    Ok(place)
}

fn object(place: &Place, address: &str) -> Result<Object> {
    let inventory = place.inventory()?;
    let address: Address = address.parse()?;
    let found = inventory.at(&address);
    ensure!(found.len() == 1, "{} objects at {address}", found.len());
    Ok(found[0].clone())
}

fn identities(place: &Place) -> Result<BTreeSet<String>> {
    Ok(place.inventory()?.objects.into_iter().map(|object| object.id).collect())
}

fn json(text: &str) -> Result<Json> {
    serde_json::from_str(text).with_context(|| text.to_owned())
}

/// What a JSON plan does: address and actions.
fn actions(plan: &Json) -> Vec<(String, String)> {
    let changes = plan["resource_changes"].as_array().into_iter().flatten();
    let words = |change: &Json| {
        let actions = change["change"]["actions"].as_array().into_iter().flatten();
        actions.filter_map(Json::as_str).collect::<Vec<_>>().join("+")
    };
    changes.map(|change| (change["address"].as_str().unwrap_or_default().to_owned(), words(change))).collect()
}

fn planned(place: &Place, code: i32, more: &[&str]) -> Result<Json> {
    let arguments: Vec<&str> =
        PLAN.iter().copied().chain(["-o", "json"]).chain(more.iter().copied()).collect();
    json(&place.expect(code, &arguments)?.out)
}

/// The text without what differs from run to run: the numbers that the cloud gives, in the order in which calls
/// come, and the digest over them.
fn settled(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let line = match line.split_once("sha256:") {
            Some((before, _)) => format!("{before}sha256:…"),
            None => line.to_owned(),
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

#[test]
fn texts_of_a_life() -> Result<()> {
    let place = fresh(&spec())?;
    insta::assert_snapshot!("create", settled(&place.expect(2, PLAN)?.out));
    place.expect(0, APPLY)?;
    insta::assert_snapshot!("nothing", settled(&place.expect(0, PLAN)?.out));

    place.write("spec.yaml", &spec().replace("team: platform", "team: network"))?;
    insta::assert_snapshot!("change", settled(&place.expect(2, PLAN)?.out));
    place.write("spec.yaml", &spec().replace("scheme: internal", "scheme: public"))?;
    insta::assert_snapshot!("replace", settled(&place.expect(2, PLAN)?.out));
    place.write("spec.yaml", &spec().replace("sim-linux-1", "sim-linux-2"))?;
    insta::assert_snapshot!("roll", settled(&place.expect(2, PLAN)?.out));
    place.write("spec.yaml", &[CLUSTER, CONTROL_PLANE].concat())?;
    insta::assert_snapshot!("remove", settled(&place.expect(2, PLAN)?.out));
    insta::assert_snapshot!("delete", settled(&place.expect(2, &["delete", "small", "--dry-run"])?.out));
    Ok(())
}

#[test]
fn a_saved_plan_is_applied_as_it_is() -> Result<()> {
    let place = fresh(&spec())?;
    place.expect(2, &[PLAN, &["--out", "first.plan"]].concat())?;
    let shown = place.expect(0, &["show", "first.plan"])?.out;
    ensure!(shown == place.expect(2, PLAN)?.out, "the saved plan reads otherwise");
    // What the spec says meanwhile does not matter.
    place.write("spec.yaml", "nothing: here\n")?;
    let ended = place.expect(0, &["apply", "first.plan", "--yes"])?;
    ensure!(ended.out.starts_with(&shown), "another plan was applied:\n{}", ended.out);
    place.write("spec.yaml", &spec())?;
    place.expect(0, PLAN)?;

    // It was for a state before this one.
    let stale = place.expect(1, &["apply", "first.plan", "--yes"])?;
    ensure!(stale.err.contains("RUN0004"), "{}", stale.err);
    place.write(
        "damaged.plan",
        &std::fs::read_to_string(place.path().join("first.plan"))?.replace("sim-1a", "sim-1b"),
    )?;
    let damaged = place.expect(1, &["apply", "damaged.plan", "--yes"])?;
    ensure!(damaged.err.contains("PLAN0013"), "{}", damaged.err);
    Ok(())
}

#[test]
fn a_saved_plan_is_refused_when_the_state_moved() -> Result<()> {
    let place = applied(&spec())?;
    place.write("spec.yaml", &spec().replace("team: platform", "team: network"))?;
    place.expect(2, &[PLAN, &["--out", "later.plan"]].concat())?;
    place.write("spec.yaml", &spec().replace("fixed: 2", "fixed: 3"))?;
    place.expect(0, APPLY)?;
    let before = identities(&place)?;
    let refused = place.expect(1, &["apply", "later.plan", "--yes"])?;
    ensure!(refused.err.contains("RUN0004") && refused.err.contains("hint:"), "{}", refused.err);
    ensure!(identities(&place)? == before, "something was done");
    ensure!(
        object(&place, "sim_network.main")?.attributes.at(&"tags.team".parse()?) == Some(&"platform".into())
    );
    Ok(())
}

#[test]
fn a_changed_object_stops_its_step_and_what_stands_on_it_only() -> Result<()> {
    let place = applied(&spec())?;
    place.write("spec.yaml", &spec().replace("team: platform", "team: network"))?;
    place.expect(2, &[PLAN, &["--out", "later.plan"]].concat())?;
    let group = object(&place, "sim_target_group.api")?;
    Tamper::open(place.cloud()).set(&group.id, &"health_interval_ms".parse()?, Value::Integer(77_000))?;
    let stopped = place.expect(1, &["apply", "later.plan", "--yes"])?;
    ensure!(stopped.err.contains("update sim_target_group.api failed"), "{}", stopped.err);
    ensure!(stopped.err.contains("health_interval_ms: 10000 → 77000"), "no difference: {}", stopped.err);
    // What does not stand on it was done.
    let label = |address: &str| -> Result<Option<Value>> {
        Ok(object(&place, address)?.attributes.at(&"tags.team".parse()?).cloned())
    };
    ensure!(label("sim_identity.worker")? == Some("network".into()), "an independent step was not done");
    ensure!(label("sim_target_group.api")? == Some("platform".into()), "the changed object was touched");
    // A new plan sees it and mends it.
    let plan = planned(&place, 2, &[])?;
    ensure!(actions(&plan).contains(&("sim_target_group.api".to_owned(), "update".to_owned())));
    place.expect(0, APPLY)?;
    place.expect(0, PLAN)?;
    Ok(())
}

#[test]
fn targets_narrow_and_replacements_widen() -> Result<()> {
    let place = fresh(&spec())?;
    let plan = planned(&place, 2, &["--target", "sim_subnet.*"])?;
    let addresses: Vec<String> = actions(&plan).into_iter().map(|(address, _)| address).collect();
    ensure!(addresses.iter().any(|address| address.starts_with("sim_subnet.")), "{addresses:?}");
    ensure!(
        addresses.contains(&"sim_network.main".to_owned()),
        "what it stands on is missing: {addresses:?}"
    );
    ensure!(!addresses.iter().any(|address| address.starts_with("sim_machine_pool")), "{addresses:?}");
    ensure!(plan["complete"] == false, "{}", plan["complete"]);
    place.expect(0, &[APPLY, &["--target", "sim_subnet.*"]].concat())?;
    let kinds: BTreeSet<String> = place.inventory()?.objects.into_iter().map(|object| object.kind).collect();
    ensure!(kinds == ["sim_network", "sim_subnet"].map(str::to_owned).into(), "{kinds:?}");
    place.expect(2, PLAN)?;
    place.expect(0, APPLY)?;
    place.expect(0, PLAN)?;

    let before = object(&place, "sim_listener.api")?.id;
    let plan = planned(&place, 2, &["--replace", "sim_listener.api"])?;
    ensure!(actions(&plan).len() == 1, "{:?}", actions(&plan));
    place.expect(0, &[APPLY, &["--replace", "sim_listener.api"]].concat())?;
    ensure!(object(&place, "sim_listener.api")?.id != before, "it is the same object");
    place.expect(0, PLAN)?;

    let unknown = place.expect(1, &[PLAN, &["--target", "sim_subnets.*"]].concat())?;
    ensure!(unknown.err.contains("PLAN0007"), "{}", unknown.err);
    let near = place.expect(1, &[PLAN, &["--replace", "sim_listener.apo"]].concat())?;
    ensure!(near.err.contains("did you mean `sim_listener.api`"), "{}", near.err);
    Ok(())
}

#[test]
fn ignored_changes_stay_as_others_made_them() -> Result<()> {
    let with = |ignore: &str| spec().replace("  cloudLabels:", &format!("{ignore}  cloudLabels:"));
    let ignore = "  ignoreChanges: [{ resource: \"sim_subnet.*\", attribute: tags.finance }]\n";
    let place = applied(&with(ignore))?;
    let subnet = place.inventory()?.of_type("sim_subnet").next().context("a subnet")?.clone();
    let tamper = Tamper::open(place.cloud());
    tamper.set(&subnet.id, &"tags.finance".parse()?, "4711".into())?;
    place.expect(0, PLAN)?;
    // What is not ignored is mended, and the ignored part stays.
    tamper.set(&subnet.id, &"tags.team".parse()?, "others".into())?;
    place.expect(2, PLAN)?;
    place.expect(0, APPLY)?;
    let attributes = |place: &Place| -> Result<Value> {
        let inventory = place.inventory()?;
        Ok(inventory.objects.iter().find(|object| object.id == subnet.id).context("gone")?.attributes.clone())
    };
    ensure!(
        attributes(&place)?.at(&"tags.finance".parse()?) == Some(&"4711".into()),
        "the ignored tag is gone"
    );
    ensure!(attributes(&place)?.at(&"tags.team".parse()?) == Some(&"platform".into()));
    place.expect(0, &["drift", "small"])?;
    // Without the rule it is somebody else's tag that the spec does not have.
    place.write("spec.yaml", &with(""))?;
    place.expect(2, PLAN)?;
    Ok(())
}

#[test]
fn a_rename_keeps_the_object() -> Result<()> {
    let subnets = |name: &str, moved: &str| {
        let network = format!(
            "  network:\n    topology: public\n    cni: {{ name: none }}\n    proxyMode: none\n    cidr: 10.0.0.0/16\n    subnets:\n      \
             - {{ name: {name}, zone: sim-1a, kind: public, cidr: 10.0.0.0/20 }}\n{moved}"
        );
        spec().replace("  network: { cni: { name: none }, proxyMode: none }\n", &network)
    };
    let place = applied(&subnets("old", ""))?;
    let before = object(&place, "sim_subnet.old")?.id;
    let everything = identities(&place)?;
    place.write("spec.yaml", &subnets("new", "  moved: [{ from: sim_subnet.old, to: sim_subnet.new }]\n"))?;
    let plan = planned(&place, 2, &[])?;
    let change = plan["resource_changes"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|change| change["address"] == "sim_subnet.new")
        .context("no change of the subnet")?;
    ensure!(change["previous_address"] == "sim_subnet.old", "{change}");
    ensure!(!change["change"]["actions"].to_string().contains("create"), "{change}");
    place.expect(0, APPLY)?;
    ensure!(object(&place, "sim_subnet.new")?.id == before, "it is another object");
    ensure!(identities(&place)? == everything, "other objects came or went");
    place.expect(0, PLAN)?;
    // The rule may stay or go.
    place.write("spec.yaml", &subnets("new", ""))?;
    place.expect(0, PLAN)?;
    Ok(())
}

#[test]
fn what_leaves_the_spec_is_undone() -> Result<()> {
    let place = applied(&spec())?;
    // A field.
    place.write("spec.yaml", &spec().replace("  cloudLabels: { team: platform }\n", ""))?;
    let plan = place.expect(2, PLAN)?.out;
    ensure!(plan.contains("is not in the spec any more"), "{plan}");
    place.expect(0, APPLY)?;
    place.expect(0, PLAN)?;
    let network = object(&place, "sim_network.main")?;
    ensure!(network.attributes.at(&"tags.team".parse()?).is_none(), "the label is there yet");
    // A pool, with all that only it needed.
    place.write("spec.yaml", &[CLUSTER, CONTROL_PLANE].concat())?;
    place.expect(0, APPLY)?;
    place.expect(0, PLAN)?;
    ensure!(place.inventory()?.at(&"sim_machine_pool.workers".parse()?).is_empty(), "the pool is there yet");
    ensure!(place.inventory()?.at(&"sim_identity.worker".parse()?).is_empty(), "its identity is there yet");
    Ok(())
}

#[test]
fn protection_shows_everything_and_refuses() -> Result<()> {
    let protected = spec().replace("  cloudLabels:", "  deletionProtection: true\n  cloudLabels:");
    let place = applied(&protected)?;
    let before = identities(&place)?;
    let refused = place.expect(1, &["delete", "small", "--yes"])?;
    ensure!(refused.out.contains("- sim_network.main"), "the plan is hidden:\n{}", refused.out);
    ensure!(refused.err.contains("CLI0010") && refused.err.contains("hint:"), "{}", refused.err);
    ensure!(identities(&place)? == before, "something was deleted");
    place.expect(2, &["delete", "small", "--dry-run"])?;
    // Taking it away is a plan of its own, that touches no object.
    place.write("spec.yaml", &spec())?;
    place.expect(2, PLAN)?;
    place.expect(0, APPLY)?;
    place.expect(0, PLAN)?;
    ensure!(identities(&place)? == before, "objects came or went");
    place.expect(0, &["delete", "small", "--yes"])?;
    ensure!(identities(&place)?.is_empty(), "something is left");
    Ok(())
}

#[test]
fn stateful_things_need_a_confirmation_by_name() -> Result<()> {
    let etcd = |zone: &str, pools: &str| {
        format!(
            "{}{CONTROL_PLANE}{WORKERS}",
            CLUSTER.replace("zones: [sim-1a]", "zones: [sim-1a, sim-1b]").replace(
                "  cloudLabels:",
                &format!(
                    "  etcd: [{{ name: main, members: [{{ name: a, pool: control-plane, subnet: {zone}, volume: {{ sizeGiB: {pools} }} }}] }}]\n  cloudLabels:"
                )
            )
        )
    };
    let place = applied(&etcd("sim-1a", "20"))?;
    let volume = object(&place, "sim_volume.etcd-main-a")?.id;
    place.write("spec.yaml", &etcd("sim-1b", "20"))?;
    let shown = place.expect(2, PLAN)?.out;
    ensure!(shown.contains("sim_volume.etcd-main-a"), "{shown}");
    let refused = place.expect(1, APPLY)?;
    ensure!(refused.out.contains("± sim_volume.etcd-main-a"), "the plan is hidden:\n{}", refused.out);
    ensure!(
        refused.err.contains("RUN0008") && refused.err.contains("--confirm sim_volume.etcd-main-a"),
        "{}",
        refused.err
    );
    ensure!(object(&place, "sim_volume.etcd-main-a")?.id == volume, "it was replaced");
    place.expect(0, &[APPLY, &["--confirm", "sim_volume.etcd-main-a"]].concat())?;
    ensure!(object(&place, "sim_volume.etcd-main-a")?.id != volume, "it was not replaced");
    place.expect(0, PLAN)?;
    Ok(())
}

#[test]
fn a_cloud_that_others_changed_is_shown_and_mended() -> Result<()> {
    let place = applied(&spec())?;
    let tamper = Tamper::open(place.cloud());
    let changed = object(&place, "sim_target_group.api")?;
    let gone = object(&place, "sim_listener.api")?;
    let doubled = object(&place, "sim_identity.worker")?;
    tamper.set(&changed.id, &"tags.team".parse()?, "others".into())?;
    tamper.delete(&gone.id)?;
    let second = tamper.duplicate(&doubled.id)?;

    let drift = place.expect(2, &["drift", "small"])?.out;
    for address in ["sim_target_group.api", "sim_listener.api"] {
        ensure!(drift.contains(address), "no {address} in the drift:\n{drift}");
    }
    let plan = planned(&place, 2, &[])?;
    let found = actions(&plan);
    let wanted = [
        ("sim_identity.worker", "no-op"),
        ("sim_listener.api", "create"),
        ("sim_target_group.api", "update"),
    ];
    let wanted: Vec<(String, String)> =
        wanted.iter().map(|(address, word)| ((*address).to_owned(), (*word).to_owned())).collect();
    ensure!(found == wanted, "{found:?}");
    let text = place.expect(2, PLAN)?.out;
    ensure!(text.contains(&second) || text.contains(&doubled.id), "the double is not named:\n{text}");
    place.expect(0, APPLY)?;
    place.expect(0, PLAN)?;
    place.expect(0, &["drift", "small"])?;
    let inventory = place.inventory()?;
    ensure!(inventory.doubled().is_empty(), "{:?}", inventory.doubled());
    ensure!(object(&place, "sim_identity.worker")?.id == doubled.id, "the wrong one of the two stayed");
    Ok(())
}

#[test]
fn a_lost_state_is_found_again_in_the_cloud() -> Result<()> {
    let place = applied(&spec())?;
    let before = identities(&place)?;
    std::fs::remove_dir_all(place.state())?;
    let plan = planned(&place, 2, &[])?;
    ensure!(actions(&plan).iter().all(|(_, word)| word == "no-op"), "{:?}", actions(&plan));
    ensure!(
        plan["counts"]["adopt"].as_u64().is_some_and(|count| count as usize == before.len()),
        "{}",
        plan["counts"]
    );
    place.expect(0, APPLY)?;
    place.expect(0, PLAN)?;
    ensure!(identities(&place)? == before, "objects came or went");
    place.expect(0, &["delete", "small", "--yes"])?;
    ensure!(identities(&place)?.is_empty(), "something is left");
    Ok(())
}

#[test]
fn what_cannot_be_read_is_deferred() -> Result<()> {
    let place = applied(&spec())?;
    place.write(".slipway/sim/faults.json", r#"[{ "type": "sim_listener", "kind": "unreadable" }]"#)?;
    place.write("spec.yaml", &spec().replace("team: platform", "team: network"))?;
    let plan = planned(&place, 1, &[])?;
    ensure!(
        !actions(&plan).iter().any(|(address, _)| address.starts_with("sim_listener")),
        "{:?}",
        actions(&plan)
    );
    let deferred = plan["deferred"].to_string();
    ensure!(deferred.contains("sim_listener.api"), "{deferred}");
    ensure!(plan["complete"] == false);
    let before = object(&place, "sim_listener.api")?.id;
    let text = place.expect(1, PLAN)?.out;
    ensure!(text.contains("? sim_listener.api"), "{text}");
    place.expect(1, APPLY)?;
    std::fs::remove_file(place.cloud().join("faults.json"))?;
    ensure!(object(&place, "sim_listener.api")?.id == before, "it was made again or deleted");
    place.expect(0, APPLY)?;
    place.expect(0, PLAN)?;
    ensure!(object(&place, "sim_listener.api")?.id == before);
    Ok(())
}

#[test]
fn every_form_is_well_formed() -> Result<()> {
    let place = applied(&spec())?;
    let many: String =
        (0..40).map(|index| WORKERS.replace("name: workers", &format!("name: pool-{index:02}"))).collect();
    place.write("spec.yaml", &format!("{CLUSTER}{CONTROL_PLANE}{many}"))?;
    let out = |form: &str| -> Result<String> { Ok(place.expect(2, &[PLAN, &["-o", form]].concat())?.out) };

    let plan = json(&out("json")?)?;
    ensure!(plan["format_version"].as_str().is_some_and(|version| version.starts_with("1.")));
    for key in ["steps", "reasons", "preconditions", "disruption", "estimate", "digest"] {
        ensure!(!plan[key].is_null(), "no {key}");
    }
    for change in plan["resource_changes"].as_array().context("changes")? {
        for key in ["address", "type", "name", "change", "provider_name", "mode"] {
            ensure!(!change[key].is_null(), "no {key} in {change}");
        }
        for key in ["actions", "after_unknown", "before_sensitive", "after_sensitive"] {
            ensure!(!change["change"][key].is_null(), "no change.{key} in {change}");
        }
    }
    let steps = plan["steps"].as_array().map_or(0, Vec::len);
    ensure!(steps > 40, "{steps} steps");

    let markdown = out("markdown")?;
    ensure!(markdown.len() < 60_000, "{} bytes", markdown.len());
    ensure!(markdown.contains("sim_machine_pool.workers"), "the deletion is folded away");
    ensure!(markdown.contains(plan["digest"].as_str().context("a digest")?), "no digest");

    let dot = out("dot")?;
    ensure!(dot.trim_start().starts_with("digraph") && dot.trim_end().ends_with('}'), "{dot}");
    ensure!(dot.matches('{').count() == dot.matches('}').count(), "braces");
    let nodes = dot.lines().filter(|line| line.contains("label=") && !line.contains("->")).count();
    ensure!(nodes >= steps, "{nodes} nodes for {steps} steps");

    well_formed(&out("svg")?)?;
    Ok(())
}

/// Whether a text is an XML document: every element is closed in its order, and nothing stands beside the root.
fn well_formed(text: &str) -> Result<()> {
    let mut open: Vec<String> = Vec::new();
    let mut elements = 0;
    let mut rest = text.trim();
    while let Some(start) = rest.find('<') {
        let between = &rest[..start];
        ensure!(!open.is_empty() || between.trim().is_empty(), "text outside the root: {between}");
        entities(between)?;
        let tag = &rest[start..];
        let end = tag.find('>').with_context(|| format!("a tag without end: {tag}"))?;
        let inner = &tag[1..end];
        rest = &tag[end + 1..];
        if inner.starts_with('?') || inner.starts_with('!') {
            continue;
        }
        if let Some(name) = inner.strip_prefix('/') {
            let last = open.pop();
            ensure!(last.as_deref() == Some(name.trim()), "</{name}> closes {last:?}");
            continue;
        }
        ensure!(!open.is_empty() || elements == 0, "a second root");
        ensure!(inner.matches('"').count().is_multiple_of(2), "quotes in <{inner}>");
        entities(inner)?;
        elements += 1;
        if !inner.ends_with('/') {
            open.push(inner.split_whitespace().next().unwrap_or_default().to_owned());
        }
    }
    ensure!(open.is_empty() && elements > 0 && rest.trim().is_empty(), "left open: {open:?}");
    Ok(())
}

fn entities(text: &str) -> Result<()> {
    for part in text.split('&').skip(1) {
        let name = part.split(';').next().unwrap_or_default();
        let known = matches!(name, "amp" | "lt" | "gt" | "quot" | "apos") || name.starts_with('#');
        ensure!(known && part.contains(';'), "&{name}");
    }
    Ok(())
}

#[test]
fn offline_needs_nothing() -> Result<()> {
    let place = fresh(&spec())?;
    let ended = place.expect(2, &[PLAN, &["--offline", "--state", "s3://nowhere/at/all"]].concat())?;
    ensure!(ended.out.contains("+ sim_network.main"), "{}", ended.out);
    ensure!(!place.path().join(".slipway").exists(), "something was written");
    Ok(())
}

#[test]
fn no_secret_is_seen_anywhere() -> Result<()> {
    const FIRST: &str = "correct-horse-battery-staple-in-env";
    const SECOND: &str = "another-horse-battery-staple-in-file";
    let with = |key: &str| {
        spec().replace(
            "  cloudLabels:",
            &format!("  encryption: {{ atRest: {{ provider: secretbox, key: {{ {key} }}, resources: [secrets] }} }}\n  cloudLabels:"),
        )
    };
    let place = fresh(&with("env: SMALL_KEY"))?;
    place.write("keys/first.txt", &format!("{SECOND}\n"))?;
    let mut said = String::new();
    let mut run = |code: i32, key: &str, arguments: &[&str]| -> Result<Ended> {
        let mut command = place.command(arguments);
        let ended = Ended::of(command.env("SMALL_KEY", key).env("SLIPWAY_LOG", "trace").output()?)?;
        ensure!(
            ended.code == Some(code),
            "slipway {}: {:?}\n{}\n{}",
            arguments.join(" "),
            ended.code,
            ended.out,
            ended.err
        );
        said.push_str(&ended.out);
        said.push_str(&ended.err);
        Ok(ended)
    };
    for form in ["text", "json", "markdown", "dot", "svg"] {
        run(2, FIRST, &[PLAN, &["--full", "-o", form]].concat())?;
    }
    run(2, FIRST, &[PLAN, &["--out", "saved.plan"]].concat())?;
    run(0, FIRST, &["apply", "saved.plan", "--yes"])?;
    run(0, FIRST, PLAN)?;
    // Another text of the same name is a change of the key; the same text from another place is none.
    let changed = run(2, SECOND, PLAN)?;
    ensure!(changed.out.contains("encryption_key"), "{}", changed.out);
    run(0, SECOND, APPLY)?;
    place.write("spec.yaml", &with("file: keys/first.txt"))?;
    let elsewhere = run(2, "", PLAN)?;
    ensure!(!elsewhere.out.contains("encryption_key"), "{}", elsewhere.out);
    run(0, "", APPLY)?;
    run(0, "", PLAN)?;
    for form in ["text", "json"] {
        run(2, "", &["delete", "small", "--dry-run", "-o", form])?;
    }
    // A secret that is not there is said by name, and a plan takes it to be as it was.
    place.write("spec.yaml", &with("file: keys/none.txt"))?;
    let missing = run(2, "", PLAN)?;
    ensure!(missing.out.contains("keys/none.txt"), "{}", missing.out);
    run(0, "", &["delete", "small", "--yes"])?;
    for secret in [FIRST, SECOND] {
        ensure!(!said.contains(secret), "a secret was printed");
        let found = files_with(place.path(), secret)?;
        let wanted: &[&str] = if secret == SECOND { &["first.txt"] } else { &[] };
        ensure!(found == wanted, "{secret} is in {found:?}");
    }
    Ok(())
}

/// The names of files below a folder that hold a text.
fn files_with(folder: &Path, text: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.extend(files_with(&entry.path(), text)?);
        } else {
            let bytes = std::fs::read(entry.path())?;
            if bytes.windows(text.len()).any(|window| window == text.as_bytes()) {
                found.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
    }
    Ok(found)
}
