//! Plan files in which one value was edited, with a digest that fits: what is applied is what is shown.

use anyhow::{Context as _, Result, ensure};
use slipway_plan::estimate::estimate_ms;
use slipway_plan::precondition::Precondition;
use slipway_plan::queue::ReadyQueue;
use slipway_plan::{Plan, ResourceChange, Step, StepAction, StepId};
use slipway_resource::provider::{Disruption, operation};
use slipway_resource::{Address, Digest, Path, Value};

use super::shared::*;
use super::unasked::without;
use crate::PLAN;

const POOL: &str = "sim_machine_pool.workers";

/// One edit of a plan file.
type Edit = fn(&mut Plan);

fn pool(plan: &mut Plan, edit: impl Fn(&mut ResourceChange)) {
    plan.changes.iter_mut().filter(|change| change.address.to_string() == POOL).for_each(edit);
}

fn gates(plan: &mut Plan, name: &str, edit: impl Fn(&mut Step)) {
    plan.steps.iter_mut().filter(|step| step.action.verb() == name).for_each(edit);
}

fn set(value: &mut Value, name: &str, other: Value) {
    value.set(&Path::key(name), other);
}

fn argument(step: &mut Step, name: &str, value: Value) {
    if let StepAction::Operation { arguments, .. } = &mut step.action {
        set(arguments, name, value);
    }
}

fn digest(value: &serde_json::Value) -> Digest {
    Digest::of_bytes(value.to_string().as_bytes())
}

/// Edits a field of the spec that the plan has the state keep.
fn spec_field(plan: &mut Plan, pointer: &str, value: &str) {
    if let Some(field) = plan.spec.pointer_mut(pointer) {
        *field = value.into();
    }
    plan.binding.spec_digest = digest(&plan.spec);
}

/// Gives an edited plan the totals of its steps.
pub(super) fn with_totals(plan: &mut Plan) {
    plan.estimate_ms = estimate_ms(&plan.steps, &plan.rate_classes);
    plan.critical_path_ms = ReadyQueue::new(&plan.steps, &plan.rate_classes).critical_path_ms();
}

/// Drops the gates with this name: what waited for one of them waits for what that one waited for.
fn drop_gates(plan: &mut Plan, name: &str) {
    if let Ok(left) = without(plan, |step| step.action.verb() == name) {
        *plan = left;
    }
}

/// Edits that the file alone tells: it is not even shown.
const UNREADABLE: &[(&str, Edit)] = &[
    ("sim_machine_pool.workers shows another value of machine_type", |plan| {
        pool(plan, |change| set(&mut change.after, "machine_type", "sim.small".into()));
    }),
    ("sim_machine_pool.workers needs a new object because of machine_type", |plan| {
        pool(plan, |change| change.changes.iter_mut().for_each(|found| found.replaces = true));
    }),
    ("retires a machine that the plan shows as replaced", |plan| {
        gates(plan, operation::REMOVE, |step| argument(step, "retire", Value::Bool(true)));
    }),
    ("argument timeout_ms is 0", |plan| {
        gates(plan, operation::DRAIN, |step| argument(step, "timeout_ms", Value::Integer(0)));
    }),
    ("has no time", |plan| gates(plan, operation::SURGE, |step| step.timeout_ms = 0)),
    ("no step verifies the new machine", |plan| drop_gates(plan, operation::VERIFY)),
    ("no step starts this machine", |plan| drop_gates(plan, operation::SURGE)),
    ("no step cordons its node", |plan| drop_gates(plan, operation::CORDON)),
    ("no step drains its node", |plan| drop_gates(plan, operation::DRAIN)),
    ("no step removes it", |plan| drop_gates(plan, operation::REMOVE)),
    ("is on no node of sim_machine_pool.workers", |plan| {
        gates(plan, operation::VERIFY, |step| step.address = Address::new("sim_network", "main"));
    }),
    ("timeout_ms of remove", |plan| gates(plan, operation::REMOVE, |step| step.timeout_ms = 1)),
    ("the choices of the provider sim do not have the digest", |plan| {
        if let Some(catalog) = plan.binding.catalogs.get_mut("sim") {
            catalog.data["images"]["amd64"] = "other-image".into();
        }
    }),
    ("depends_on of sim_machine_pool.workers closes a circle", |plan| {
        pool(plan, |change| change.record.depends_on.push(change.address.clone()));
    }),
    ("dependencies of sim_machine_pool.workers are not those of a record that stays", |plan| {
        plan.dependencies.insert(Address::new("sim_machine_pool", "workers"), Vec::new());
    }),
    ("estimate_ms is not", |plan| plan.estimate_ms = 1),
    ("its spec does not have the digest", |plan| {
        if let Some(labels) = plan.spec.get_mut("cloudLabels") {
            labels["team"] = "network".into();
        }
    }),
    ("critical_path_ms is not", |plan| plan.critical_path_ms += 1),
    ("is not sorted", |plan| plan.steps.iter_mut().for_each(|step| step.depends_on.reverse())),
    ("sim_machine_pool.workers is of the provider aws, which the plan does not name", |plan| {
        pool(plan, |change| change.provider = "aws".to_owned());
    }),
    ("before of sim_machine_pool.workers", |plan| pool(plan, |change| change.before = Value::Null)),
    ("its spec cannot be read", |plan| spec_field(plan, "/pools/1/rollout/readyTimeout", "15mx")),
    ("its spec is that of the cluster other", |plan| spec_field(plan, "/name", "other")),
];

/// Edits of the file of a roll that was asked for, which the file alone tells.
const OF_ROLL: &[(&str, Edit)] = &[
    ("of sim_machine_pool.workers is not that of its node", |plan| {
        pool(plan, |change| change.machines[0].name = "workers-9".to_owned());
    }),
    ("anew of surge sim_machine_pool.workers", |plan| {
        gates(plan, operation::SURGE, |step| argument(step, "anew", Value::Null));
    }),
];

#[test]
fn an_edited_plan_file_of_a_roll_is_not_shown() -> Result<()> {
    let place = applied(&spec())?;
    let roll = ["roll", "-f", "spec.yaml", "--pool", "workers", "--dry-run", "--out", "whole.plan"];
    place.expect(2, &roll)?;
    let whole = Plan::from_bytes(&std::fs::read(place.path().join("whole.plan"))?)?;
    for (fault, edit) in OF_ROLL {
        let mut edited = whole.clone();
        edit(&mut edited);
        std::fs::write(place.path().join("edited.plan"), edited.to_bytes()?)?;
        for arguments in [&["show", "edited.plan"][..], &["apply", "edited.plan", "--yes"]] {
            let refused = place.expect(1, arguments)?.err;
            ensure!(refused.contains("PLAN0014") && refused.contains(fault), "{fault}: {refused}");
        }
    }
    place.expect(0, &["apply", "whole.plan", "--yes"])?;
    Ok(())
}

/// Edits for which the types, the state and the provider are needed.
const UNSOUND: &[(&str, Edit)] = &[
    ("the desired value size of sim_machine_pool.workers", |plan| {
        pool(plan, |change| set(&mut change.after, "size", Value::Integer(3)));
    }),
    ("sim_machine_pool.workers", |plan| {
        pool(plan, |change| set(&mut change.record.applied, "max_unavailable", "2".into()));
    }),
    ("the difference machine_type of sim_machine_pool.workers", |plan| {
        pool(plan, |change| change.changes.iter_mut().for_each(|found| found.before = "sim.small".into()));
    }),
    ("the difference machine_type of sim_machine_pool.workers", |plan| {
        pool(plan, |change| change.changes.clear());
    }),
    ("the difference machine_type of sim_machine_pool.workers", |plan| {
        pool(plan, |change| change.changes.iter_mut().for_each(|found| found.sensitive = true));
    }),
    ("the desired value machine_type of sim_machine_pool.workers", |plan| {
        pool(plan, |change| change.ignored.push(Path::key("machine_type")));
    }),
    ("disruption of sim_machine_pool.workers", |plan| {
        pool(plan, |change| change.disruption = Disruption::None);
    }),
    ("reasons of sim_machine_pool.workers", |plan| pool(plan, |change| change.reasons.clear())),
    ("reasons of sim_machine_pool.workers", |plan| pool(plan, |change| change.record.retain = true)),
    ("reasons of sim_machine_pool.workers", |plan| pool(plan, |change| change.record.protected = true)),
    ("sensitive of sim_machine_pool.workers", |plan| {
        pool(plan, |change| change.sensitive.push(Path::key("machine_type")));
    }),
    ("precondition of sim_machine_pool.workers", |plan| {
        pool(plan, |change| change.precondition = Precondition::None);
    }),
    ("machines of sim_machine_pool.workers", |plan| {
        pool(plan, |change| set(&mut change.before, "machines", Value::List(Vec::new())));
    }),
    ("timeout_ms of drain", |plan| {
        gates(plan, operation::DRAIN, |step| {
            argument(step, "timeout_ms", Value::Integer(1));
            step.timeout_ms = 1;
        });
    }),
    ("ignore_budgets of drain", |plan| {
        gates(plan, operation::DRAIN, |step| argument(step, "ignore_budgets", Value::Bool(true)));
    }),
    (" is not temporary", |plan| {
        gates(plan, operation::CORDON, |step| argument(step, operation::TEMPORARY, Value::Bool(false)));
    }),
    ("the setting directory of the provider sim", |plan| {
        if let Some(pin) = plan.binding.providers.get_mut("sim") {
            pin.config = Value::map([("directory", Value::from("elsewhere"))]);
        }
    }),
    ("the account or region of the provider sim", |plan| {
        if let Some(pin) = plan.binding.providers.get_mut("sim") {
            pin.scope.region = Some("sim-1x".to_owned());
        }
    }),
    ("the choices of the provider sim are not those that it makes now", |plan| {
        if let Some(catalog) = plan.binding.catalogs.get_mut("sim") {
            catalog.data["images"]["amd64"] = "other-image".into();
            catalog.digest = digest(&catalog.data);
        }
    }),
    ("the plan does not have the choices of the provider sim", |plan| {
        plan.binding.catalogs.remove("sim");
    }),
    ("dependencies of sim_network.main are not those that follow from its spec", |plan| {
        let workers = Address::new("sim_machine_pool", "workers");
        plan.dependencies.insert(Address::new("sim_network", "main"), vec![workers]);
    }),
    ("sim_machine_pool has no operation stop", |plan| {
        let id = StepId(u32::try_from(plan.steps.len()).unwrap_or_default());
        let update = plan.steps.iter().find(|step| step.address.to_string() == POOL);
        if let Some(update) = update.cloned() {
            let action = StepAction::Operation { name: "stop".to_owned(), arguments: Value::Null };
            plan.steps.push(Step { id, action, depends_on: Vec::new(), ..update });
        }
        with_totals(plan);
    }),
    ("rate_class of update sim_machine_pool.workers is not that of its type", |plan| {
        let updates = plan.steps.iter_mut().filter(|step| step.action == StepAction::Update);
        updates.filter(|step| step.address.to_string() == POOL).for_each(|step| step.rate_class.clear());
        with_totals(plan);
    }),
    ("does not have the limits of its provider", |plan| {
        plan.rate_classes.values_mut().for_each(|class| class.concurrency += 1);
        with_totals(plan);
    }),
    ("sets_protection", |plan| plan.sets_protection = Some(true)),
    ("sets_protection changes deletionProtection, and no note says so", |plan| {
        plan.spec["deletionProtection"] = true.into();
        plan.binding.spec_digest = digest(&plan.spec);
        plan.sets_protection = Some(true);
    }),
    ("its spec has kubernetesVersion 1.35.3 instead of 1.35.2", |plan| {
        plan.spec["kubernetesVersion"] = "1.35.3".into();
        plan.binding.spec_digest = digest(&plan.spec);
    }),
    ("its spec has ignoreChanges[0], and no note of the plan says so", |plan| {
        plan.spec["ignoreChanges"] = serde_json::json!([{ "resource": "*", "attribute": "tags" }]);
        plan.binding.spec_digest = digest(&plan.spec);
    }),
    ("tags.team of sim_", |plan| spec_field(plan, "/cloudLabels/team", "network")),
    ("its spec changes settle_ms of sim_machine_pool.control-plane", |plan| {
        spec_field(plan, "/pools/0/rollout/settle", "30s");
    }),
    ("the desired value settle_ms of sim_machine_pool.workers is not what follows from its spec", |plan| {
        spec_field(plan, "/pools/1/rollout/settle", "30s");
    }),
    (
        "the desired value machine_type of sim_machine_pool.workers is not what follows from its spec",
        |plan| {
            spec_field(plan, "/pools/1/machineType", "sim.medium");
        },
    ),
    ("sim_machine_pool.workers is changed, and its spec does not have it", |plan| {
        spec_field(plan, "/pools/1/name", "others");
    }),
    ("and the plan does not create it", |plan| {
        let mut more = plan.spec["pools"][1].clone();
        more["name"] = "more".into();
        if let Some(pools) = plan.spec["pools"].as_array_mut() {
            pools.push(more);
        }
        plan.binding.spec_digest = digest(&plan.spec);
    }),
];

#[test]
fn an_edited_plan_file_is_refused_with_the_place() -> Result<()> {
    let place = applied(&spec())?;
    let before = identities(&place)?;
    // Only the workers name their image.
    place.write("spec.yaml", &spec().replace("sim.medium, image", "sim.large, image"))?;
    place.expect(2, &[PLAN, &["--out", "whole.plan"]].concat())?;
    let whole = Plan::from_bytes(&std::fs::read(place.path().join("whole.plan"))?)?;
    let edits = UNREADABLE.iter().map(|edit| (true, edit)).chain(UNSOUND.iter().map(|edit| (false, edit)));
    for (is_unreadable, (fault, edit)) in edits {
        let mut edited = whole.clone();
        edit(&mut edited);
        ensure!(edited != whole, "{fault}: nothing was edited");
        std::fs::write(place.path().join("edited.plan"), edited.to_bytes()?)?;
        if is_unreadable {
            let refused = place.expect(1, &["show", "edited.plan"])?.err;
            ensure!(refused.contains("PLAN0014") && refused.contains(fault), "{fault}: {refused}");
        }
        let refused = place.expect(1, &["apply", "edited.plan", "--yes"])?.err;
        ensure!(refused.contains("PLAN0014") && refused.contains(fault), "{fault}: {refused}");
    }
    ensure!(identities(&place)? == before, "something was done");
    place.expect(0, &["apply", "whole.plan", "--yes"])?;
    place.expect(0, PLAN)?;
    Ok(())
}

/// Nobody is asked to confirm the loss by a plan that shows something else than it does.
#[test]
fn an_edited_plan_file_is_refused_before_its_confirmations() -> Result<()> {
    let disk = "image: sim-linux-1, volumes: [{ device: /dev/xvdb, mountPath: /var/lib/data, sizeGiB: 50 }]";
    let with_disk = spec().replace("image: sim-linux-1", disk);
    let place = applied(&with_disk)?;
    place.write("spec.yaml", &with_disk.replace("sim.medium, image", "sim.large, image"))?;
    place.expect(2, &[PLAN, &["--out", "whole.plan"]].concat())?;
    let whole = Plan::from_bytes(&std::fs::read(place.path().join("whole.plan"))?)?;
    let asked = place.expect(1, &["apply", "whole.plan", "--yes"])?.err;
    ensure!(asked.contains("RUN0008"), "{asked}");
    let (fault, edit) = UNSOUND.first().context("an edit")?;
    let mut edited = whole;
    edit(&mut edited);
    std::fs::write(place.path().join("edited.plan"), edited.to_bytes()?)?;
    let refused = place.expect(1, &["apply", "edited.plan", "--yes"])?.err;
    ensure!(refused.contains("PLAN0014") && refused.contains(fault), "{fault}: {refused}");
    ensure!(!refused.contains("RUN0008"), "{refused}");
    // Neither is anybody asked to approve it.
    let refused = place.expect(1, &["apply", "edited.plan"])?.err;
    ensure!(refused.contains("PLAN0014") && !refused.contains("CLI0014"), "{refused}");
    Ok(())
}

/// An image that the provider would choose otherwise by the time of the apply, as if a newer one was published since.
#[test]
fn a_plan_is_carried_out_with_its_own_choices_if_it_shows_them() -> Result<()> {
    let place = fresh(&spec())?;
    place.expect(2, &[PLAN, &["--out", "whole.plan"]].concat())?;
    let whole = Plan::from_bytes(&std::fs::read(place.path().join("whole.plan"))?)?;
    let choose = |plan: &Plan, architecture: &str, image: &str| -> Result<Plan> {
        let mut plan = plan.clone();
        let catalog = plan.binding.catalogs.get_mut("sim").context("choices of sim")?;
        catalog.data["images"][architecture] = image.into();
        catalog.digest = digest(&catalog.data);
        Ok(plan)
    };
    let shown = serde_json::to_string(&whole)?.replace("\"sim-linux-stable\"", "\"sim-linux-older\"");
    let shown = choose(&serde_json::from_str(&shown)?, "amd64", "sim-linux-older")?;
    for (edited, fault) in [
        (
            choose(&whole, "amd64", "sim-linux-older")?,
            "the desired value image of sim_machine_pool.control-plane",
        ),
        (
            choose(&shown, "arm64", "other-image")?,
            "the choices of the provider sim are not those that it makes now",
        ),
    ] {
        std::fs::write(place.path().join("edited.plan"), edited.to_bytes()?)?;
        let refused = place.expect(1, &["apply", "edited.plan", "--yes"])?.err;
        ensure!(refused.contains("PLAN0014") && refused.contains(fault), "{fault}: {refused}");
    }
    ensure!(identities(&place)?.is_empty(), "something was made");
    std::fs::write(place.path().join("shown.plan"), shown.to_bytes()?)?;
    let said = place.expect(0, &["apply", "shown.plan", "--yes"])?.err;
    ensure!(said.contains("The plan uses images.amd64 as the provider sim chose it"), "{said}");
    let pool = object(&place, "sim_machine_pool.control-plane")?;
    ensure!(pool.attributes.get("image") == Some(&"sim-linux-older".into()), "{:?}", pool.attributes);
    // The state has pinned it.
    place.expect(0, PLAN)?;
    Ok(())
}

/// What becomes of backups is in no change of a plan that is about something else.
#[test]
fn a_spec_that_gives_up_backups_is_refused() -> Result<()> {
    let place = applied(crate::SMALL)?;
    place.write("spec.yaml", &[crate::SMALL, WORKERS].concat())?;
    place.expect(2, &[PLAN, &["--out", "whole.plan"]].concat())?;
    let whole = Plan::from_bytes(&std::fs::read(place.path().join("whole.plan"))?)?;
    let before = identities(&place)?;
    type Edit = fn(&mut serde_json::Value);
    let edits: [(&str, Edit); 3] = [
        ("its spec has etcd[main].backups", |etcd| etcd[0]["backups"]["keepOnDelete"] = false.into()),
        ("its spec has etcd[main].backups", |etcd| etcd[0]["backups"]["enabled"] = false.into()),
        ("sim_backup_store.etcd-events, and the plan does not delete it", |etcd| {
            etcd.as_array_mut().into_iter().for_each(|etcd| etcd.truncate(1));
        }),
    ];
    for (fault, edit) in edits {
        let mut edited = whole.clone();
        edit(&mut edited.spec["etcd"]);
        edited.binding.spec_digest = digest(&edited.spec);
        ensure!(edited != whole, "{fault}: nothing was edited");
        std::fs::write(place.path().join("edited.plan"), edited.to_bytes()?)?;
        let refused = place.expect(1, &["apply", "edited.plan", "--yes"])?.err;
        ensure!(refused.contains("PLAN0014") && refused.contains(fault), "{fault}: {refused}");
    }
    ensure!(identities(&place)? == before, "something was done");
    Ok(())
}

/// Fields of the spec of resources that the plan does not change. Some are left to the provider by an edit, or name an object that
/// exists.
#[test]
fn a_spec_that_changes_other_resources_is_refused() -> Result<()> {
    let network = "network:
    topology: private
    cidr: 172.20.0.0/16
    subnets:
      - { name: private-a, zone: sim-1a, kind: private, cidr: 172.20.32.0/19, egress: { natGateway: {} } }
      - { name: utility-a, zone: sim-1a, kind: utility, cidr: 172.20.0.0/22 }
    cni: { name: none }
    proxyMode: none
  etcd:
    - name: main
      members: [{ name: a, pool: control-plane, volume: { sizeGiB: 20, type: ssd, iops: 3000 } }]
  ignoreChanges: [{ resource: \"*\", attribute: tags.finance }]";
    let spec = spec().replace("network: { cni: { name: none }, proxyMode: none }", network);
    let place = applied(&spec)?;
    let larger = spec.replace("sim.medium, image", "sim.large, image");
    place.write("spec.yaml", &larger)?;
    place.expect(2, &[PLAN, &["--out", "whole.plan"]].concat())?;
    let whole = Plan::from_bytes(&std::fs::read(place.path().join("whole.plan"))?)?;
    let before = identities(&place)?;
    type Edit = fn(&mut serde_json::Value);
    let edits: [(&str, Edit); 6] = [
        ("its spec changes iops of sim_volume.etcd-main-a", |spec| {
            drop_field(&mut spec["etcd"][0]["members"][0]["volume"], "iops");
        }),
        ("its spec changes cidr of sim_subnet.private-a", |spec| {
            drop_field(&mut spec["network"]["subnets"][0], "cidr");
        }),
        ("its spec changes machine_type of sim_machine_pool.control-plane", |spec| {
            drop_field(&mut spec["pools"][0], "machineType");
        }),
        ("its spec changes the lifecycle of sim_address.sim-1a", |spec| {
            spec["network"]["subnets"][0]["egress"]["natGateway"]["elasticIp"] = "eip-1".into();
        }),
        ("its spec has ignoreChanges, and no note of the plan says so", |spec| {
            spec["ignoreChanges"] = serde_json::json!([]);
        }),
        ("its spec has ignoreChanges[0], and no note of the plan says so", |spec| {
            spec["ignoreChanges"][0]["attribute"] = "tags.team".into();
        }),
    ];
    for (fault, edit) in edits {
        let mut edited = whole.clone();
        edit(&mut edited.spec);
        edited.binding.spec_digest = digest(&edited.spec);
        ensure!(edited != whole, "{fault}: nothing was edited");
        std::fs::write(place.path().join("edited.plan"), edited.to_bytes()?)?;
        let refused = place.expect(1, &["apply", "edited.plan", "--yes"])?.err;
        ensure!(refused.contains("PLAN0014") && refused.contains(fault), "{fault}: {refused}");
    }
    ensure!(identities(&place)? == before, "something was done");
    place.expect(0, &["apply", "whole.plan", "--yes"])?;
    place.expect(0, PLAN)?;
    // A plan that shows the same changes is carried out.
    let shown = larger.replace(", iops: 3000", "").replace("attribute: tags.finance", "attribute: tags.team");
    place.write("spec.yaml", &shown)?;
    let said = place.expect(2, &[PLAN, &["--out", "shown.plan"]].concat())?.out;
    ensure!(said.contains("plans show and correct tags.finance of * again"), "{said}");
    place.expect(0, &["apply", "shown.plan", "--yes"])?;
    place.expect(0, PLAN)?;
    Ok(())
}

fn drop_field(value: &mut serde_json::Value, name: &str) {
    value.as_object_mut().into_iter().for_each(|fields| {
        fields.remove(name);
    });
}
