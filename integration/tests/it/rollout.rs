//! Rolls in simulated time: tokio's clock is paused and jumps, so what takes minutes takes milliseconds.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use slipway_engine::EventHandler;
use slipway_integration::lab::{Lab, cluster};
use slipway_plan::{Mode, Options, Plan, StepAction};
use slipway_provider_sim::inspect;
use slipway_spec::model::Cluster;

const SPEC: &str = include_str!("rollout.yaml");

fn lab() -> Result<Lab> {
    let mut lab = Lab::new()?;
    lab.settings.insert("timeScale".to_owned(), json!(1.0));
    Ok(lab)
}

fn with_image(image: &str) -> Result<Cluster> {
    cluster(&SPEC.replace("image-1", image))
}

/// Carries a change out; returns its plan and how long it took in simulated milliseconds.
async fn timed(lab: &Lab, wanted: &Cluster) -> Result<(Plan, u64)> {
    let begun = tokio::time::Instant::now();
    let (plan, report) = lab.apply(wanted).await?;
    ensure!(report.is_complete(), "{:?}", report.failures);
    Ok((plan, u64::try_from(begun.elapsed().as_millis())?))
}

fn within(estimate: u64, took: u64, percent: u64) -> Result<()> {
    let off = estimate.abs_diff(took) * 100;
    ensure!(off <= took * percent, "estimated {estimate} ms, took {took} ms");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_estimate_is_close() -> Result<()> {
    let lab = lab()?;
    let (plan, took) = timed(&lab, &with_image("image-1")?).await?;
    within(plan.estimate_ms, took, 15).context("create")?;
    let (plan, took) = timed(&lab, &with_image("image-2")?).await?;
    ensure!(plan.changes.iter().any(|change| !change.machines.is_empty()), "nothing rolls");
    within(plan.estimate_ms, took, 15).context("roll")?;
    let upgraded = cluster(&SPEC.replace("image-1", "image-2").replace("1.34.2", "1.35.0"))?;
    let (plan, took) = timed(&lab, &upgraded).await?;
    within(plan.estimate_ms, took, 15).context("upgrade")?;
    ensure!(lab.plan(&upgraded).await?.is_empty());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_takes_a_snapshot_then_control_planes_one_by_one_then_workers() -> Result<()> {
    let lab = lab()?;
    timed(&lab, &with_image("image-1")?).await?;
    let plan = lab.plan(&cluster(&SPEC.replace("1.34.2", "1.35.0"))?).await?;
    let gates: Vec<(&str, &str, usize)> = plan
        .steps
        .iter()
        .filter_map(|step| match &step.action {
            StepAction::Operation { name, .. } => {
                let pool = step.roll.as_ref().unwrap_or(&step.address);
                Some((pool.name(), name.as_str(), step.id.index()))
            }
            _ => None,
        })
        .collect();
    let first = |pool: &str, gate: &str| {
        gates.iter().filter(|(name, found, _)| *name == pool && *found == gate).map(|(_, _, id)| *id).min()
    };
    let last = |pool: &str, gate: &str| {
        gates.iter().filter(|(name, found, _)| *name == pool && *found == gate).map(|(_, _, id)| *id).max()
    };
    for step in plan.steps.iter().filter(|step| ["verify", "cordon", "drain"].contains(&step.action.verb())) {
        ensure!(
            step.address.kind() == "sim_node" && step.roll.is_some(),
            "{} is no step on a node",
            step.title()
        );
    }
    let snapshot = gates.iter().find(|(_, gate, _)| *gate == "snapshot").context("a snapshot of etcd")?.2;
    let control_plane = first("control-plane", "cordon").context("the control plane rolls")?;
    ensure!(before(&plan, snapshot, control_plane), "the snapshot comes first");
    let through = last("control-plane", "verify").context("verified")?;
    ensure!(before(&plan, through, first("workers", "cordon").context("workers")?), "workers come last");
    // One at a time: every cordon of the control plane follows the verification of the previous machine.
    let of = |gate: &str| -> Vec<usize> {
        gates
            .iter()
            .filter(|(pool, found, _)| *pool == "control-plane" && *found == gate)
            .map(|(_, _, id)| *id)
            .collect()
    };
    for (verified, cordoned) in of("verify").iter().zip(of("cordon").iter().skip(1)) {
        ensure!(before(&plan, *verified, *cordoned), "two control planes at once");
    }
    Ok(())
}

fn freeze_budgets(lab: &Lab, frozen: bool) -> Result<()> {
    for workload in lab.inventory()?.of_type("sim_workload") {
        inspect::Tamper::open(lab.cloud()).freeze_budget(&workload.id, frozen)?;
    }
    Ok(())
}

/// Whether one step is a must for another, directly or not.
fn before(plan: &Plan, earlier: usize, later: usize) -> bool {
    let mut stack = vec![later];
    let mut seen = vec![false; plan.steps.len()];
    while let Some(step) = stack.pop() {
        if step == earlier {
            return true;
        }
        for needed in &plan.steps[step].depends_on {
            if !std::mem::replace(&mut seen[needed.index()], true) {
                stack.push(needed.index());
            }
        }
    }
    false
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_never_becomes_ready_stops_the_roll() -> Result<()> {
    let lab = lab()?;
    timed(&lab, &with_image("image-1")?).await?;
    let ready = |inventory: &inspect::Inventory| {
        inventory
            .machines
            .iter()
            .filter(|machine| machine.is_ready(inventory.moment) && !machine.cordoned)
            .count()
    };
    let before = ready(&lab.inventory()?);
    let faults = json!([{ "method": "launch", "kind": "never-ready" }]);
    std::fs::write(lab.cloud().join("faults.json"), faults.to_string())?;
    let wanted = with_image("image-2")?;
    let (plan, report) = lab.apply(&wanted).await?;
    ensure!(!report.is_complete(), "a roll over broken machines went through");
    let failure = report.failures.first().context("a failure")?;
    let step = &plan.steps[failure.step.index()];
    ensure!(step.title().starts_with("verify"), "{} failed: {}", step.title(), failure.error);
    ensure!(!failure.blocked.is_empty(), "nothing waited for it");
    ensure!(ready(&lab.inventory()?) >= before, "capacity was lost");
    // The machine becomes ready: the roll continues and ends.
    std::fs::remove_file(lab.cloud().join("faults.json"))?;
    for machine in lab.inventory()?.machines.iter().filter(|machine| machine.ready_at.is_none()) {
        inspect::Tamper::open(lab.cloud()).set_ready(&machine.id, true)?;
    }
    let (_, report) = lab.apply(&wanted).await?;
    ensure!(report.is_complete(), "{:?}", report.failures);
    ensure!(lab.plan(&wanted).await?.is_empty());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_blocked_drain_stops_the_roll_and_names_who_blocks() -> Result<()> {
    let lab = lab()?;
    timed(&lab, &with_image("image-1")?).await?;
    let inventory = lab.inventory()?;
    let machines = inventory.machines.len();
    let any = inventory.objects.first().context("an object")?;
    // Pods that have just been started hold no budget up.
    inspect::Tamper::open(lab.cloud()).pass_time(&any.id, 60_000)?;
    freeze_budgets(&lab, true)?;
    let wanted = with_image("image-2")?;
    let preview = lab.plan(&wanted).await?;
    let blockers: Vec<&String> = preview
        .changes
        .iter()
        .flat_map(|change| &change.machines)
        .flat_map(|machine| &machine.blockers)
        .collect();
    ensure!(!blockers.is_empty(), "the preview does not say who would block");
    let (plan, report) = lab.apply(&wanted).await?;
    let failure = report.failures.first().context("a failure")?;
    ensure!(plan.steps[failure.step.index()].title().starts_with("drain"), "{}", failure.error);
    ensure!(
        matches!(&failure.error.class, slipway_resource::ErrorClass::Dependency { blockers } if !blockers.is_empty()),
        "{:?}",
        failure.error
    );
    let inventory = lab.inventory()?;
    ensure!(inventory.machines.len() >= machines, "machines went in spite of the budget");
    freeze_budgets(&lab, false)?;
    let (_, report) = lab.apply(&wanted).await?;
    ensure!(report.is_complete(), "{:?}", report.failures);
    ensure!(lab.plan(&wanted).await?.is_empty());
    Ok(())
}

/// How many workers are ready and take pods.
fn schedulable(inventory: &inspect::Inventory) -> usize {
    let takes_pods = |machine: &&inspect::Machine| {
        machine.name.starts_with("workers-") && machine.is_ready(inventory.moment) && !machine.cordoned
    };
    inventory.machines.iter().filter(takes_pods).count()
}

/// The nodes in the order in which they were cordoned first.
fn cordoned(lab: &Lab) -> Result<Vec<String>> {
    let mut nodes: Vec<String> = Vec::new();
    for line in std::fs::read_to_string(lab.cloud().join("calls.jsonl"))?.lines() {
        let call: serde_json::Value = serde_json::from_str(line)?;
        let name = call["name"].as_str().unwrap_or_default().to_owned();
        if call["method"] == "cordon" && !nodes.contains(&name) {
            nodes.push(name);
        }
    }
    Ok(nodes)
}

/// Interrupts the roll of three workers at one step, and continues it. At any time, three workers take pods.
async fn continues_after(fault: &serde_json::Value, is_requested: bool) -> Result<()> {
    let mut lab = lab()?;
    let spec =
        SPEC.replace("fixed: 3", "fixed: 1").replace("fixed: 6", "fixed: 3").replace("Surge: 2", "Surge: 1");
    timed(&lab, &cluster(&spec)?).await?;
    // The inventory has the time of the last change: all machines have booted by then.
    let any = lab.inventory()?.objects.into_iter().next().context("an object")?;
    inspect::Tamper::open(lab.cloud()).pass_time(&any.id, 600_000)?;
    let lowest = Arc::new(AtomicUsize::new(usize::MAX));
    let (cloud, seen) = (lab.cloud(), lowest.clone());
    lab.events = EventHandler::new(move |_| {
        if let Ok(inventory) = inspect::Inventory::open(&cloud) {
            seen.fetch_min(schedulable(&inventory), Ordering::SeqCst);
        }
    });
    let faults = lab.cloud().join("faults.json");
    std::fs::write(&faults, json!([fault]).to_string())?;
    let wanted = cluster(&if is_requested { spec } else { spec.replace("image-1", "image-2") })?;
    let roll = is_requested.then(|| vec!["workers".to_owned()]);
    let (_, report) = lab.run(&wanted, Mode::Apply, Options { roll, ..Options::default() }).await?;
    ensure!(!report.is_complete(), "the roll was not interrupted");
    std::fs::remove_file(&faults)?;
    timed(&lab, &wanted).await?;
    ensure!(lab.plan(&wanted).await?.is_empty(), "a plan is left");
    let order = cordoned(&lab)?;
    ensure!(order == ["workers-1", "workers-2", "workers-3"], "{order:?}");
    let lowest = lowest.load(Ordering::SeqCst);
    ensure!(lowest == 3, "at one time, {lowest} of 3 workers took pods");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_continued_roll_keeps_its_budget_and_its_order() -> Result<()> {
    for method in ["surge", "verify", "cordon", "drain", "remove"] {
        for (nth, kind) in [(1, "fail-before"), (2, "fail-after"), (2, "fail-before"), (3, "fail-before")] {
            let fault = json!({ "method": method, "nth": nth, "kind": kind, "class": "permanent" });
            continues_after(&fault, false).await.with_context(|| fault.to_string())?;
        }
        let fault = json!({ "method": method, "nth": 2, "kind": "fail-before", "class": "permanent" });
        continues_after(&fault, true).await.with_context(|| format!("requested: {fault}"))?;
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_long_tail_is_begun_first() -> Result<()> {
    let lab = lab()?;
    let objects =
        json!({ "count": 4000, "chain": 4, "sleepMs": 2000, "tail": { "length": 600, "sleepMs": 1000 } });
    let mut wanted = with_image("image-1")?;
    wanted.provider.config = json!({ "objects": objects });
    let (plan, took) = timed(&lab, &wanted).await?;
    ensure!(
        took * 10 <= plan.critical_path_ms * 11,
        "took {took} ms, the longest chain is {} ms",
        plan.critical_path_ms
    );
    Ok(())
}
