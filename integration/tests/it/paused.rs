//! A process is stopped in the middle of its run, like a suspended laptop. Another run finishes; then the
//! first continues.
//!
//! Harm is checked by the cloud's log of calls, by the cloud's inventory, and by the journal.

use std::collections::BTreeSet;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use slipway_integration::place::{Ended, Place};
use slipway_state_store::{Backend, ClusterName, Epoch, layout};

use crate::PROGRAM;

const APPLY: [&str; 6] = ["apply", "-f", "spec.yaml", "--yes", "--wait", "1m"];

/// A cluster that takes a while: a simulated second takes 40 ms.
fn spec() -> String {
    include_str!("rollout.yaml")
        .replace("    name: sim\n", "    name: sim\n    config: { timeScale: 0.04 }\n")
}

/// An apply by this user, with a lease of two seconds.
fn apply(place: &Place, who: &str) -> Command {
    let mut command = place.command(&APPLY);
    command.env("USER", who).env("SLIPWAY_TEST_TERM", "4");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The calls of one process that change objects: method, name, token.
fn changes(place: &Place, pid: u32) -> Vec<(String, String, Option<String>)> {
    let text = std::fs::read_to_string(place.cloud().join("calls.jsonl")).unwrap_or_default();
    // The last line of a process that was just stopped may be incomplete.
    let calls = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    calls
        .filter(|call| call["process"] == pid && call["token"].is_string())
        .map(|call| {
            let text = |name: &str| call[name].as_str().map(str::to_owned);
            let name = format!("{}.{}", text("type").unwrap_or_default(), text("name").unwrap_or_default());
            (text("method").unwrap_or_default(), name, text("token"))
        })
        .collect()
}

/// The stored journal of an epoch: the tokens of begun steps, and whether it ends with a seal.
fn begun(backend: &Arc<dyn Backend>, epoch: u64) -> Result<(BTreeSet<String>, bool)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (mut tokens, mut is_sealed) = (BTreeSet::new(), false);
        for key in backend.list(&layout::journal(&ClusterName::new("roll")?, Epoch(epoch))).await? {
            ensure!(!is_sealed, "{key} is behind the seal");
            let (bytes, _) = backend.get(&key).await?.context("a segment that was listed")?;
            let text = std::str::from_utf8(&bytes)?;
            let mut lines = text.lines().map(serde_json::from_str::<Value>);
            is_sealed = !lines.next().context("a header")??["seal"].is_null();
            for record in lines {
                tokens.extend(tokens_of(&record?["begin"]));
            }
        }
        Ok((tokens, is_sealed))
    })
}

/// Every token in a value.
fn tokens_of(value: &Value) -> Vec<String> {
    match value {
        Value::Object(fields) => {
            let own = fields.get("token").and_then(Value::as_str).map(str::to_owned);
            own.into_iter().chain(fields.values().flat_map(tokens_of)).collect()
        }
        Value::Array(items) => items.iter().flat_map(tokens_of).collect(),
        _ => Vec::new(),
    }
}

/// Stops a process while it holds no lock of the kernel. On the same host, another run would wait for that
/// lock, and not for the lease.
fn stop(process: &Child) -> Result<()> {
    let pid = process.id().to_string();
    for _ in 0..200 {
        signal(process, "STOP")?;
        let stat = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        wait_for(|| stat().rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('T')))?;
        let locks = std::fs::read_to_string("/proc/locks")?;
        if !locks.lines().any(|line| line.split_whitespace().any(|word| word == pid)) {
            return Ok(());
        }
        signal(process, "CONT")?;
    }
    anyhow::bail!("it always holds a lock")
}

fn a_paused_run_does_no_harm(place: &Place, stop_at: usize) -> Result<()> {
    place.write("spec.yaml", &spec())?;
    let first = apply(place, "first").spawn()?;
    wait_for(|| changes(place, first.id()).len() >= stop_at).context("the first run is at work")?;
    stop(&first)?;
    let before = changes(place, first.id());

    let second = Ended::of(apply(place, "second").output()?)?;
    ensure!(second.code == Some(0), "the second run: {second:?}");
    let backend = place.backend()?;
    let (begun_by_first, is_sealed) = begun(&backend, 1)?;
    ensure!(is_sealed, "the first epoch has a seal");
    ensure!(!begun_by_first.is_empty(), "the first run has begun something");
    let (inventory, head) = (place.inventory()?, head(&backend)?);

    signal(&first, "CONT")?;
    let pid = first.id();
    let woken = Ended::of(first.wait_with_output()?)?;
    ensure!(woken.code == Some(1), "the woken run: {woken:?}");
    for part in ["error[RUN0010]: the run lost its hold on roll", "second@", "hint: "] {
        ensure!(woken.err.contains(part), "no `{part}` in what the woken run says: {}", woken.err);
    }
    ensure!(begun(&backend, 1)?.0 == begun_by_first, "the sealed epoch goes on");
    ensure!(self::head(&backend)? == head, "the woken run changed the head");
    let after = changes(place, pid);
    ensure!(after.len() >= before.len());
    for (method, name, token) in &after {
        let token = token.as_deref().unwrap_or_default();
        ensure!(begun_by_first.contains(token), "{method} of {name} was called and never begun");
    }
    let ids = |inventory: &slipway_provider_sim::inspect::Inventory| -> BTreeSet<String> {
        inventory.objects.iter().map(|object| object.id.clone()).collect()
    };
    ensure!(ids(&place.inventory()?) == ids(&inventory), "the woken run made or removed something");
    ensure!(place.inventory()?.doubled().is_empty(), "something is there twice");
    let plan = Ended::of(place.command(&["plan", "-f", "spec.yaml"]).output()?)?;
    ensure!(plan.code == Some(0), "a plan is left: {plan:?}");
    Ok(())
}

fn head(backend: &Arc<dyn Backend>) -> Result<Vec<u8>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let stored = runtime.block_on(backend.get(&layout::head(&ClusterName::new("roll")?)))?;
    Ok(stored.context("the head")?.0.to_vec())
}

#[test]
fn a_paused_run_does_no_harm_to_files() -> Result<()> {
    for stop_at in [1, 12] {
        a_paused_run_does_no_harm(&Place::new(PROGRAM)?, stop_at)
            .with_context(|| format!("stopped at call {stop_at}"))?;
    }
    Ok(())
}

#[test]
fn a_paused_run_does_no_harm_to_a_bucket() -> Result<()> {
    for stop_at in [2, 9] {
        a_paused_run_does_no_harm(&Place::on_s3(PROGRAM)?, stop_at)
            .with_context(|| format!("stopped at call {stop_at}"))?;
    }
    Ok(())
}

fn wait_for(condition: impl Fn() -> bool) -> Result<()> {
    let begun = Instant::now();
    while !condition() {
        ensure!(begun.elapsed() < Duration::from_secs(60), "it did not happen in 60 s");
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

fn signal(process: &Child, name: &str) -> Result<()> {
    let status = Command::new("kill").args([&format!("-{name}"), &process.id().to_string()]).status()?;
    ensure!(status.success(), "kill -{name} failed");
    Ok(())
}
