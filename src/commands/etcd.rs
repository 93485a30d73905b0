//! `slipway etcd`: snapshots of a cluster's etcd, and its databases.

mod recover;
mod restore;

use std::process::ExitCode;

use serde::Serialize;
use slipway_limits::size::shown;
use slipway_operations::etcd::{self, Defragmented, Snapshot, Snapshots};

use super::done;
use crate::cli::ReportFormat;
use crate::cli::etcd::{BackupArguments, DefragmentArguments, EtcdCommand, SnapshotsArguments};
use crate::commands::kubeconfig::open;
use crate::error::CommandError;
use crate::program::Context;
use crate::ui::table::table;

pub(super) async fn run(context: &Context, command: EtcdCommand) -> Result<ExitCode, CommandError> {
    match command {
        EtcdCommand::Snapshots(arguments) => snapshots(context, &arguments).await,
        EtcdCommand::Backup(arguments) => backup(context, &arguments).await,
        EtcdCommand::Defragment(arguments) => defragment(context, &arguments).await,
        EtcdCommand::Restore(arguments) => restore::run(context, &arguments).await,
        EtcdCommand::Recover(arguments) => recover::run(context, &arguments).await,
    }
}

async fn snapshots(context: &Context, arguments: &SnapshotsArguments) -> Result<ExitCode, CommandError> {
    let opened = open(context, &arguments.cluster).await?;
    let found = etcd::snapshots(&opened).await?;
    match arguments.output {
        ReportFormat::Json => context.output.result(&json(&found)?)?,
        ReportFormat::Text => context.output.result(&listed(&found))?,
    }
    Ok(done(found.is_sound()))
}

async fn backup(context: &Context, arguments: &BackupArguments) -> Result<ExitCode, CommandError> {
    let opened = open(context, &arguments.cluster).await?;
    let saved = etcd::backup(&opened).await?;
    match arguments.output {
        ReportFormat::Json => context.output.result(&json(&saved)?)?,
        ReportFormat::Text => context.output.result(&format!(
            "Saved and verified {}: revision {}, {}, on {} in {}.",
            saved.name,
            number(saved.revision),
            bytes(saved.size),
            saved.machine,
            saved.store
        ))?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn defragment(context: &Context, arguments: &DefragmentArguments) -> Result<ExitCode, CommandError> {
    let opened = open(context, &arguments.cluster).await?;
    let done = etcd::defragment(&opened).await?;
    match arguments.output {
        ReportFormat::Json => context.output.result(&json(&done)?)?,
        ReportFormat::Text => context.output.result(&defragmented(&done))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The members whose databases were defragmented, as a table.
fn defragmented(done: &[Defragmented]) -> String {
    let row = |member: &Defragmented| {
        let alarm = if member.cleared { "cleared" } else { "" };
        vec![member.machine.clone(), bytes(member.before), bytes(member.after), alarm.to_owned()]
    };
    let rows: Vec<Vec<String>> = done.iter().map(row).collect();
    table(&["MEMBER", "BEFORE", "AFTER", "ALARM"], &rows)
}

/// The snapshots as a table, with what is wrong below it.
fn listed(found: &Snapshots) -> String {
    let row = |snapshot: &Snapshot| {
        vec![
            snapshot.name.clone(),
            snapshot.taken.as_deref().map(to_the_second).unwrap_or_default(),
            number(snapshot.revision),
            bytes(snapshot.size),
            snapshot.member.clone().unwrap_or_default(),
            if snapshot.verified.is_some() { "yes" } else { "no" }.to_owned(),
            format!("{}:{}", snapshot.machine, snapshot.store),
        ]
    };
    let mut text = if found.snapshots.is_empty() {
        format!("{} has no snapshots of etcd yet.\n", found.cluster)
    } else {
        let rows: Vec<Vec<String>> = found.snapshots.iter().map(row).collect();
        table(&["NAME", "TAKEN", "REVISION", "SIZE", "MEMBER", "VERIFIED", "WHERE"], &rows)
    };
    let of_keepers =
        found.keepers.iter().filter_map(|keeper| Some((&keeper.machine, keeper.problem.as_ref()?)));
    let of_snapshots =
        found.snapshots.iter().filter_map(|snapshot| Some((&snapshot.name, snapshot.problem.as_ref()?)));
    let problems: Vec<String> =
        of_keepers.chain(of_snapshots).map(|(name, problem)| format!("{name}: {problem}\n")).collect();
    if !problems.is_empty() {
        text.push_str("\nPROBLEMS\n");
        text.extend(problems);
    }
    text
}

fn to_the_second(time: &str) -> String {
    let time = time.parse::<jiff::Timestamp>().ok();
    time.map(|time| time.strftime("%Y-%m-%d %H:%M:%SZ").to_string()).unwrap_or_default()
}

fn number(number: Option<i64>) -> String {
    number.map(|number| number.to_string()).unwrap_or_default()
}

fn bytes(size: Option<i64>) -> String {
    size.and_then(|size| u64::try_from(size).ok()).map(shown).unwrap_or_default()
}

fn json(value: &impl Serialize) -> Result<String, CommandError> {
    serde_json::to_string_pretty(value)
        .map_err(|error| CommandError::internal("the report cannot be written", error))
}

#[cfg(test)]
mod tests {
    use slipway_operations::etcd::Keeper;

    use super::*;

    #[test]
    fn defragmented_members_are_a_table() {
        let member = |machine: &str, cleared| Defragmented {
            machine: machine.to_owned(),
            before: Some(8 << 20),
            after: Some(4 << 20),
            cleared,
        };
        assert_eq!(
            defragmented(&[member("cp-0", true), member("cp-1", false)]),
            "MEMBER  BEFORE  AFTER  ALARM\n\
             cp-0    8 MiB   4 MiB  cleared\n\
             cp-1    8 MiB   4 MiB\n"
        );
    }

    #[test]
    fn snapshots_are_a_table_with_what_is_wrong_below() {
        let snapshot = |name: &str, problem: Option<&str>| Snapshot {
            name: name.to_owned(),
            taken: problem.is_none().then(|| "2026-11-26T07:43:22.123Z".to_owned()),
            revision: problem.is_none().then_some(1234),
            size: problem.is_none().then_some(4 << 20),
            stored: None,
            member: problem.is_none().then(|| "cp-1".to_owned()),
            etcd_version: None,
            sha256: None,
            verified: problem.is_none().then(|| "2026-11-26T07:43:23Z".to_owned()),
            problem: problem.map(str::to_owned),
            machine: "cp-1".to_owned(),
            store: "/var/backups/slipway".to_owned(),
        };
        let keeper = |machine: &str, problem: Option<&str>| Keeper {
            machine: machine.to_owned(),
            leads: Some(true),
            revision: None,
            problem: problem.map(str::to_owned),
        };
        let mut found = Snapshots {
            cluster: "demo".to_owned(),
            keepers: vec![keeper("cp-1", None)],
            snapshots: vec![snapshot("20261126T074322Z-1234", None)],
        };
        assert_eq!(
            listed(&found),
            "NAME                   TAKEN                 REVISION  SIZE   MEMBER  VERIFIED  WHERE\n\
             20261126T074322Z-1234  2026-11-26 07:43:22Z  1234      4 MiB  cp-1    yes       cp-1:/var/backups/slipway\n"
        );
        assert!(found.is_sound());
        found.snapshots = vec![snapshot("20261126T080000Z-5", Some("it was damaged"))];
        found.keepers.push(keeper("cp-2", Some("no answer")));
        assert_eq!(
            listed(&found),
            "NAME                TAKEN  REVISION  SIZE  MEMBER  VERIFIED  WHERE\n\
             20261126T080000Z-5                                 no        cp-1:/var/backups/slipway\n\
             \n\
             PROBLEMS\n\
             cp-2: no answer\n\
             20261126T080000Z-5: it was damaged\n"
        );
        assert!(!found.is_sound());
        found.snapshots.clear();
        found.keepers.clear();
        assert_eq!(listed(&found), "demo has no snapshots of etcd yet.\n");
    }
}
