//! Failures during a run: which steps are retried, which are not, and what the state contains afterwards.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use slipway_integration::lab::{Lab, cluster};
use slipway_integration::place::Place;
use slipway_plan::Options;
use slipway_plan::file::Mode;
use slipway_provider_sim::inspect;
use slipway_resource::ErrorClass;

use crate::PROGRAM;

const SPEC: &str = include_str!("rollout.yaml");

fn with_faults(faults: &serde_json::Value) -> Result<Lab> {
    let mut lab = Lab::new()?;
    lab.settings.insert("timeScale".to_owned(), json!(1.0));
    lab.settings.insert("faults".to_owned(), faults.clone());
    Ok(lab)
}

#[tokio::test(start_paused = true)]
async fn a_refused_call_ends_its_step_at_once_and_the_rest_goes_on() -> Result<()> {
    let mut lab =
        with_faults(&json!([{ "method": "create", "type": "sim_load_balancer", "kind": "permission" }]))?;
    let wanted = cluster(SPEC)?;
    let (plan, report) = lab.apply(&wanted).await?;
    ensure!(report.failures.len() == 1, "{:?}", report.failures);
    let failure = report.failures.first().context("a failure")?;
    ensure!(matches!(failure.error.class, ErrorClass::Permission { .. }), "{:?}", failure.error);
    let blocked: BTreeSet<&str> = failure
        .blocked
        .iter()
        .filter_map(|id| plan.steps.get(id.index()))
        .map(|step| step.address.kind())
        .collect();
    ensure!(blocked.contains("sim_listener") && blocked.contains("sim_machine_pool"), "{blocked:?}");
    ensure!(report.done + 1 + failure.blocked.len() == plan.steps.len(), "an independent step was not begun");
    let tries = inspect::calls(lab.cloud())?
        .into_iter()
        .filter(|call| call.method == "create" && call.type_name == "sim_load_balancer")
        .count();
    ensure!(tries == 1, "{tries} tries");
    // Replayed from the journal, the state knows every object that the cloud has, and no other.
    let known = lab.state(&wanted.name).await?.context("a state")?.snapshot.resources;
    let known: BTreeSet<String> = known.values().map(|record| record.identity.to_string()).collect();
    let exist: BTreeSet<String> = lab.inventory()?.objects.iter().map(|object| object.id.clone()).collect();
    ensure!(known == exist, "only known: {:?}", known.symmetric_difference(&exist).collect::<Vec<_>>());
    lab.settings.remove("faults");
    let (_, report) = lab.apply(&wanted).await?;
    ensure!(report.is_complete(), "{:?}", report.failures);
    ensure!(lab.plan(&wanted).await?.is_empty());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_fails_forgets_nothing() -> Result<()> {
    let mut lab = Lab::new()?;
    let wanted = cluster(SPEC)?;
    let (_, report) = lab.apply(&wanted).await?;
    ensure!(report.is_complete(), "{:?}", report.failures);
    let before = lab.state(&wanted.name).await?.context("a state")?.snapshot.resources;
    // Something is gone already, so that the state only has to forget it; and something else cannot be deleted.
    let is_leaf = |address: &slipway_resource::Address| address.kind() == "sim_listener";
    let (gone, record) = before.iter().find(|(address, _)| is_leaf(address)).context("a listener")?;
    inspect::Tamper::open(lab.cloud()).delete(record.identity.as_str())?;
    let fault = json!([{ "method": "delete", "type": "sim_network", "kind": "permission" }]);
    lab.settings.insert("faults".to_owned(), fault);
    let (plan, report) = lab.delete(&wanted).await?;
    ensure!(!report.failures.is_empty());
    let forget = plan.steps.iter().find(|step| step.address == *gone).context("a step")?;
    ensure!(forget.action == slipway_plan::StepAction::Forget, "{:?}", forget.action);
    let known = lab.state(&wanted.name).await?.context("a state")?.snapshot.resources;
    ensure!(known.contains_key(gone), "{gone} was forgotten by a run that failed");
    lab.settings.remove("faults");
    let (_, report) = lab.delete(&wanted).await?;
    ensure!(report.is_complete(), "{:?}", report.failures);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_apply_that_fails_forgets_nothing() -> Result<()> {
    let mut lab = Lab::new()?;
    let wanted = cluster(SPEC)?;
    let (_, report) = lab.apply(&wanted).await?;
    ensure!(report.is_complete(), "{:?}", report.failures);
    let before = lab.state(&wanted.name).await?.context("a state")?.snapshot.resources;
    // The spec loses a pool. One of its objects is gone already; and a change of something that stays is refused.
    let (smaller, _) = SPEC.rsplit_once("---\n").context("a second pool")?;
    let smaller = cluster(smaller)?;
    let goes = |address: &slipway_resource::Address| {
        address.kind() == "sim_security_group_rule" && address.name().starts_with("worker-")
    };
    let (gone, record) = before.iter().find(|(address, _)| goes(address)).context("a rule of the pool")?;
    inspect::Tamper::open(lab.cloud()).delete(record.identity.as_str())?;
    let fault = json!([{ "method": "update", "type": "sim_workload", "kind": "permission" }]);
    lab.settings.insert("faults".to_owned(), fault);
    let (plan, report) = lab.apply(&smaller).await?;
    ensure!(!report.failures.is_empty());
    let forget = plan.steps.iter().find(|step| step.address == *gone).context("a step")?;
    ensure!(forget.action == slipway_plan::StepAction::Forget, "{:?}", forget.action);
    let known = lab.state(&wanted.name).await?.context("a state")?.snapshot.resources;
    ensure!(known.contains_key(gone), "{gone} was forgotten by a run that failed");
    lab.settings.remove("faults");
    let (_, report) = lab.apply(&smaller).await?;
    ensure!(report.is_complete(), "{:?}", report.failures);
    let known = lab.state(&wanted.name).await?.context("a state")?.snapshot.resources;
    ensure!(!known.contains_key(gone), "{gone} was not forgotten by a run that succeeded");
    ensure!(lab.plan(&smaller).await?.is_empty());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn what_may_pass_is_tried_again_and_throttling_is_obeyed() -> Result<()> {
    let lab = with_faults(&json!([
        { "method": "create", "type": "sim_subnet", "times": 3, "kind": "fail-before" },
        { "method": "create", "type": "sim_network", "nth": 1, "kind": "throttle", "retryAfterMs": 30_000 },
        { "method": "create", "type": "sim_volume", "probability": 0.5, "kind": "fail-after", "class": "outcome-unknown" },
    ]))?;
    let wanted = cluster(SPEC)?;
    let begun = tokio::time::Instant::now();
    let (_, report) = lab.apply(&wanted).await?;
    ensure!(report.is_complete(), "{:?}", report.failures);
    ensure!(begun.elapsed().as_secs() >= 30, "the throttled call was sent again after {:?}", begun.elapsed());
    ensure!(lab.inventory()?.doubled().is_empty());
    ensure!(lab.plan(&wanted).await?.is_empty());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn reads_that_fail_for_a_while_are_repeated_and_never_fail_a_plan_or_a_run() -> Result<()> {
    for method in ["discover", "preflight"] {
        for (kind, times) in [("throttle", 4), ("fail-before", 3)] {
            let lab = with_faults(&json!([
                { "method": method, "times": times, "kind": kind, "retryAfterMs": 9_000 }
            ]))?;
            let options = Options { preflight: true, ..Options::default() };
            let wanted = cluster(SPEC)?;
            let (_, report) = lab.run(&wanted, Mode::Apply, options).await?;
            ensure!(report.is_complete(), "{method} {kind}: {:?}", report.failures);
        }
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_plan_without_changes_costs_calls_by_type_not_by_resource() -> Result<()> {
    let mut lab = Lab::new()?;
    let mut counts = Vec::new();
    for count in [10, 1000] {
        lab.settings.insert("objects".to_owned(), json!({ "count": count }));
        let mut wanted = cluster(SPEC)?;
        wanted.provider.config = json!({ "objects": { "count": count } });
        let (_, report) = lab.apply(&wanted).await?;
        ensure!(report.is_complete(), "{:?}", report.failures);
        let before = inspect::calls(lab.cloud())?.len();
        ensure!(lab.plan(&wanted).await?.is_empty());
        counts.push(inspect::calls(lab.cloud())?.len() - before);
    }
    ensure!(counts[0] == counts[1], "calls of a plan without changes: {counts:?}");
    Ok(())
}

#[test]
fn what_is_ignored_and_does_not_exist_is_remarked_on() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    let ignored = "  ignoreChanges:\n    - { resource: sim_network.main, attribute: zoness }\n    - { resource: \
                   sim_nothing.*, attribute: tags }\n";
    place.write("spec.yaml", &SPEC.replacen("  zones:", &format!("{ignored}  zones:"), 1))?;
    let plan = place.expect(2, &["plan", "-f", "spec.yaml", "--offline"])?;
    for part in ["has an attribute `zoness`; did you mean `zones`?", "no resource matches `sim_nothing.*`"] {
        let found = plan.out.split_whitespace().collect::<Vec<_>>().join(" ");
        ensure!(found.contains(part), "no `{part}` in: {}", plan.out);
    }
    Ok(())
}
