//! Objects that are lost only after a confirmation by name.

use anyhow::{Context as _, Result, ensure};
use slipway_integration::place::{Ended, Place};
use slipway_integration::terminal::typing;

use super::shared::*;
use crate::{APPLY, PLAN, PROGRAM};

pub(super) const VOLUME: &str = "sim_volume.etcd-main-a";

/// A cluster whose etcd has a volume in a zone.
pub(super) fn with_volume(zone: &str) -> String {
    let etcd = format!(
        "  etcd: [{{ name: main, members: [{{ name: a, pool: control-plane, subnet: {zone}, volume: {{ sizeGiB: 20 }} }}] }}]\n  cloudLabels:"
    );
    let cluster = CLUSTER.replace("zones: [sim-1a]", "zones: [sim-1a, sim-1b]");
    format!("{}{CONTROL_PLANE}{WORKERS}", cluster.replace("  cloudLabels:", &etcd))
}

fn refused(place: &Place, arguments: &[&str], name: &str) -> Result<Ended> {
    let before = identities(place)?;
    let refused = place.expect(1, arguments)?;
    let hint = format!("--confirm {name}");
    ensure!(refused.err.contains("RUN0008") && refused.err.contains(&hint), "{}", refused.err);
    ensure!(refused.err.contains(VOLUME), "what would be lost is not named: {}", refused.err);
    ensure!(identities(place)? == before, "something was done");
    Ok(refused)
}

#[test]
fn a_stateful_thing_is_replaced_only_by_its_address() -> Result<()> {
    let place = applied(&with_volume("sim-1a"))?;
    let volume = object(&place, VOLUME)?.id;
    place.write("spec.yaml", &with_volume("sim-1b"))?;
    let shown = place.expect(2, PLAN)?.out;
    ensure!(shown.contains(&format!("--confirm {VOLUME}")), "{shown}");
    ensure!(refused(&place, APPLY, VOLUME)?.out.contains("± sim_volume.etcd-main-a"), "the plan is hidden");
    // The cluster's name is for the whole cluster, and for nothing less.
    refused(&place, &[APPLY, &["--confirm", "small"]].concat(), VOLUME)?;
    place.expect(0, &[APPLY, &["--confirm", VOLUME]].concat())?;
    ensure!(object(&place, VOLUME)?.id != volume, "it was not replaced");
    place.expect(0, PLAN)?;
    Ok(())
}

#[test]
fn a_whole_cluster_with_data_is_deleted_only_by_its_name() -> Result<()> {
    let place = applied(&with_volume("sim-1a"))?;
    let delete = ["delete", "small", "--yes"];
    ensure!(refused(&place, &delete, "small")?.out.contains("- sim_volume.etcd-main-a"), "no plan");
    let unknown = place.expect(1, &[&delete[..], &["--confirm", "smal"]].concat())?.err;
    ensure!(unknown.contains("CLI0096") && unknown.contains("`--confirm small`"), "{unknown}");
    refused(&place, &["delete", "-f", "spec.yaml", "--yes"], "small")?;

    // The plan says so, in every form.
    let dry = ["delete", "small", "--dry-run"];
    let text = place.expect(2, &dry)?.out;
    ensure!(text.contains("Needs a confirmation by name") && text.contains("--confirm small"), "{text}");
    let plan = json(&place.expect(2, &[&dry[..], &["-o", "json"]].concat())?.out)?;
    ensure!(plan["confirmations"][0]["name"] == "small", "{}", plan["confirmations"]);
    ensure!(plan["confirmations"][0]["losses"].to_string().contains(VOLUME), "{}", plan["confirmations"]);
    let markdown = place.expect(2, &[&dry[..], &["-o", "markdown"]].concat())?.out;
    let open = markdown.split("<details>").next().context("a comment")?;
    ensure!(open.contains("--confirm small"), "{markdown}");

    // A plan that was saved needs it no less, wherever it was saved.
    place.expect(2, &[&dry[..], &["--out", "small.plan"]].concat())?;
    let stored = place.expect(2, &[&dry[..], &["--out", "state:"]].concat())?.out;
    let stored = stored.split_whitespace().find(|word| word.starts_with("state:")).context("a place")?;
    for saved in ["small.plan", stored] {
        ensure!(refused(&place, &["apply", saved, "--yes"], "small")?.out.contains("--confirm small"));
    }
    place.expect(0, &["apply", "small.plan", "--yes", "--confirm", "small"])?;
    ensure!(identities(&place)?.is_empty(), "something is left");
    Ok(())
}

/// A misspelt name is noticed when it is written, and not when the first plan needs it.
#[test]
fn an_unknown_name_is_refused_before_anything_is_done() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    place.write("spec.yaml", &with_volume("sim-1a"))?;
    let typo = [APPLY, &["--confirm", "sim_volume.etcd-man-a"]].concat();
    let refused = place.expect(1, &typo)?.err;
    ensure!(refused.contains("CLI0096") && refused.contains("needs no confirmation"), "{refused}");
    ensure!(!place.state().join("small").exists(), "something was done");
    // An address of the plan and the cluster's name exist, although this plan asks for neither.
    place.expect(0, &[APPLY, &["--confirm", VOLUME, "--confirm", "small"]].concat())?;
    let again = place.expect(0, &typo)?.err;
    ensure!(again.contains("warning: `--confirm sim_volume.etcd-man-a`"), "{again}");
    place.write("spec.yaml", &with_volume("sim-1b"))?;
    let refused = place.expect(1, &typo)?.err;
    ensure!(refused.contains("CLI0096") && refused.contains(&format!("`--confirm {VOLUME}`")), "{refused}");
    place.expect(2, &[PLAN, &["--out", "small.plan"]].concat())?;
    let saved = ["apply", "small.plan", "--yes", "--confirm"];
    let refused = place.expect(1, &[&saved[..], &["sim_volume.etcd-man-a"]].concat())?.err;
    ensure!(refused.contains("CLI0096"), "{refused}");
    place.expect(0, &[&saved[..], &[VOLUME, "--confirm", "sim_network.main"]].concat()).map(|_| ())
}

/// A name confirms a loss of one cluster only: that of another may not have been seen.
#[test]
fn a_name_confirms_for_one_cluster() -> Result<()> {
    let clusters = |zone: &str| {
        let of = |name: &str| {
            let named = with_volume(zone).replace("name: small", &format!("name: {name}"));
            named.replace("{ role: controlPlane", &format!("{{ cluster: {name}, role: controlPlane"))
        };
        let of = |name: &str| {
            of(name).replace("spec: { machineType", &format!("spec: {{ cluster: {name}, machineType"))
        };
        [of("aa"), of("bb")].join("---\n")
    };
    let place = fresh(&clusters("sim-1a"))?;
    place.expect(0, APPLY)?;
    let before = identities(&place)?;
    place.write("spec.yaml", &clusters("sim-1b"))?;
    // The plan shows the names as the apply takes them.
    let plan = place.expect(2, PLAN)?.out;
    for shown in [&plan, &place.expect(1, APPLY)?.out] {
        ensure!(shown.contains(&format!("--confirm aa/{VOLUME}")), "{shown}");
        ensure!(!shown.contains(&format!("--confirm {VOLUME}")), "{shown}");
    }
    for confirm in [&[][..], &["--confirm", VOLUME]] {
        let refused = place.expect(1, &[APPLY, confirm].concat())?.err;
        ensure!(
            refused.contains("RUN0008") && refused.contains(&format!("--confirm aa/{VOLUME}")),
            "{refused}"
        );
        ensure!(identities(&place)? == before, "something was done");
    }
    let (one, other) = (format!("aa/{VOLUME}"), format!("bb/{VOLUME}"));
    let refused = place.expect(1, &[APPLY, &["--confirm", &one]].concat())?.err;
    ensure!(refused.contains(&format!("--confirm {other}")), "{refused}");
    place.expect(0, &[APPLY, &["--confirm", &one, "--confirm", &other]].concat())?;
    place.expect(0, PLAN)?;
    Ok(())
}

/// Disks that are deleted with their machines: a roll, the end of a pool and the end of the cluster name them.
#[test]
fn data_disks_are_lost_only_by_name() -> Result<()> {
    let disks = "volumes: [{ device: /dev/xvdb, mountPath: /var/lib/data, sizeGiB: 50 }, \
                 { device: /dev/xvdc, sizeGiB: 50, deleteOnTermination: false }]";
    let workers = WORKERS.replace("machineType", &format!("{disks}, machineType"));
    let spec = [CLUSTER, CONTROL_PLANE, &workers].concat();
    let place = applied(&spec)?;
    let pool = "sim_machine_pool.workers";
    let refuses = |arguments: &[&str], name: &str| -> Result<()> {
        let refused = place.expect(1, arguments)?;
        let named = format!("{pool}: each machine that goes loses its data disk /dev/xvdb (/var/lib/data)");
        ensure!(refused.err.contains("RUN0008") && refused.err.contains(&named), "{}", refused.err);
        ensure!(refused.err.contains(&format!("--confirm {name}")), "{}", refused.err);
        Ok(())
    };
    refuses(&["delete", "-f", "spec.yaml", "--yes"], "small")?;
    place.write("spec.yaml", &spec.replace("sim-linux-1", "sim-linux-2"))?;
    refuses(APPLY, pool)?;
    place.expect(0, &[APPLY, &["--confirm", pool]].concat())?;
    place.write("spec.yaml", &[CLUSTER, CONTROL_PLANE].concat())?;
    refuses(APPLY, pool)?;
    let summary = place.expect(2, PLAN)?.out;
    ensure!(summary.contains("to delete") && !summary.contains("to roll"), "counted twice: {summary}");
    place.expect(0, &[APPLY, &["--confirm", pool]].concat())?;
    place.expect(0, PLAN).map(|_| ())
}

#[test]
fn no_other_name_confirms_the_deletion_of_a_cluster() -> Result<()> {
    let place = applied(&with_volume("sim-1a"))?;
    refused(&place, &["delete", "small", "--yes", "--confirm", VOLUME], "small")?;
    Ok(())
}

/// A cluster whose objects are not found may exist all the same: the account or the folder may be the wrong
/// one.
#[test]
fn a_cluster_without_data_or_objects_is_deleted_only_by_its_name() -> Result<()> {
    let place = applied(&spec())?;
    let before = identities(&place)?;
    let elsewhere = r#"{"directory":"elsewhere"}"#;
    let other = ["delete", "-f", "spec.yaml", "--provider", "sim", "--provider-config", elsewhere, "--yes"];
    for arguments in [&other[..], &["delete", "small", "--yes"]] {
        let refused = place.expect(1, arguments)?.err;
        ensure!(refused.contains("RUN0008") && refused.contains("--confirm small"), "{refused}");
    }
    place.expect(0, PLAN)?;
    ensure!(identities(&place)? == before, "something was deleted");
    Ok(())
}

/// Backups that a deletion keeps are kept by a second deletion, and by one that was killed before its commit.
#[test]
fn kept_backups_outlive_a_second_deletion() -> Result<()> {
    const STORE: &str = "sim_backup_store.etcd-main";
    const DELETE: &[&str] = &["delete", "-f", "spec.yaml", "--yes", "--confirm", "line"];
    let place = Place::new(PROGRAM)?;
    place.write("spec.yaml", crate::SMALL)?;
    place.expect(0, APPLY)?;
    let store = object(&place, STORE)?.id;
    let head = place.state().join("line/head");
    place.expect(0, DELETE)?;
    let again = place.expect(0, DELETE)?;
    ensure!(again.out.contains("Nothing of line is left to delete"), "{}", again.out);
    ensure!(object(&place, STORE)?.id == store, "{}", again.out);
    ensure!(std::fs::read_to_string(&head)?.contains("\"deleted\": true"), "no tombstone");
    place.expect(0, &[DELETE, &["--delete-backups"]].concat())?;
    ensure!(identities(&place)?.is_empty(), "something is left");
    Ok(())
}

/// Backups are kept if the state or the named spec keeps them, and the plan says which of them does.
#[test]
fn a_deletion_keeps_backups_that_the_state_or_the_spec_keeps() -> Result<()> {
    const STORE: &str = "sim_backup_store.etcd-main";
    const DELETE: &[&str] = &["delete", "-f", "spec.yaml", "--yes", "--confirm", "small"];
    let with = |keeps: bool| {
        let etcd = format!(
            "  etcd: [{{ name: main, members: [{{ name: a, pool: control-plane }}], backups: {{ enabled: true, keepOnDelete: {keeps} }} }}]\n  cloudLabels:"
        );
        spec().replace("  cloudLabels:", &etcd)
    };
    for (state, named, who) in [
        (false, true, "the spec says to keep it, although the state does not"),
        (true, false, "the state says to keep it, although the spec does not"),
    ] {
        let place = applied(&with(state))?;
        let store = object(&place, STORE)?.id;
        place.write("spec.yaml", &with(named))?;
        let shown = place.expect(2, &["delete", "-f", "spec.yaml", "--dry-run"])?.out;
        ensure!(shown.split_whitespace().collect::<Vec<_>>().join(" ").contains(who), "{shown}");
        let deleted = place.expect(0, DELETE)?.out;
        ensure!(deleted.contains(&format!("Kept in the cloud: {STORE}")), "{deleted}");
        let left: Vec<String> = identities(&place)?.into_iter().collect();
        ensure!(left == [store], "{left:?}");
    }
    // What neither keeps is deleted.
    let place = applied(&with(false))?;
    place.expect(0, DELETE)?;
    ensure!(identities(&place)?.is_empty(), "something is left");
    Ok(())
}

#[test]
fn a_deletion_that_was_interrupted_asks_again() -> Result<()> {
    let place = applied(&with_volume("sim-1a"))?;
    let mut killed = place.command(&["delete", "small", "--yes", "--confirm", "small"]);
    let ended = Ended::of(killed.env("SLIPWAY_TEST_KILL", "4:after").output()?)?;
    ensure!(ended.code.is_none(), "it was not killed: {}", ended.err);
    ensure!(!place.inventory()?.at(&VOLUME.parse()?).is_empty(), "killed too late to prove anything");
    // A deletion that continues without the name resolves interrupted steps, and deletes nothing else.
    let again = place.expect(1, &["delete", "small", "--yes"])?;
    ensure!(again.err.contains("RUN0008") && again.err.contains("--confirm small"), "{}", again.err);
    ensure!(!place.inventory()?.at(&VOLUME.parse()?).is_empty(), "the volume is gone");
    place.expect(0, &["delete", "small", "--yes", "--confirm", "small"])?;
    ensure!(identities(&place)?.is_empty(), "something is left");
    Ok(())
}

#[test]
fn at_a_terminal_the_name_is_typed_once() -> Result<()> {
    let place = applied(&with_volume("sim-1a"))?;
    let before = identities(&place)?;
    for wrong in ["yes\n", "smal\n", "\n", "\u{4}"] {
        let asked = typing(&place.command(&["delete", "small"]), wrong)?;
        ensure!(asked.code == Some(1) && asked.out.contains("CLI0036"), "{wrong:?}: {}", asked.out);
        ensure!(identities(&place)? == before, "{wrong:?} deleted something");
    }
    // With `--yes`, the program does not ask for a name.
    let silent = typing(&place.command(&["delete", "small", "--yes"]), "small\n")?;
    ensure!(silent.code == Some(1) && silent.out.contains("RUN0008"), "{}", silent.out);
    let asked = typing(&place.command(&["delete", "small"]), "small\n")?;
    ensure!(asked.code == Some(0) && asked.out.contains("type `small`"), "{}", asked.out);
    ensure!(identities(&place)?.is_empty(), "something is left");
    Ok(())
}
