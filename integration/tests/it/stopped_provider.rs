//! The process of a provider is stopped in the middle of an apply, as a debugger or a frozen container does it. The run
//! ends with an error that names the provider, and the next run completes it.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::Value as Json;
use slipway_integration::place::{Ended, Place};

use crate::cli::provider;
use crate::{APPLY, PROGRAM};

/// Ends the stopped process if the program has left it.
struct Stopped(u32);

impl Drop for Stopped {
    fn drop(&mut self) {
        let name = fs::read_to_string(format!("/proc/{}/comm", self.0)).unwrap_or_default();
        if name.starts_with("slipway-provide") {
            let _ = signal(self.0, "KILL");
        }
    }
}

fn signal(process: u32, name: &str) -> Result<()> {
    let status = Command::new("kill").args([&format!("-{name}"), &process.to_string()]).status()?;
    ensure!(status.success(), "kill -{name} failed");
    Ok(())
}

/// The process that created the first object in the simulated cloud.
fn creator(place: &Place) -> Option<u32> {
    let text = fs::read_to_string(place.cloud().join("calls.jsonl")).ok()?;
    let calls = text.lines().filter_map(|line| serde_json::from_str::<Json>(line).ok());
    let process = calls.filter(|call| call["token"].is_string()).find_map(|call| call["process"].as_u64())?;
    u32::try_from(process).ok()
}

/// Waits for the end of a run, which a test must not wait for without end.
fn end(mut run: Child) -> Result<Ended> {
    let begun = Instant::now();
    while run.try_wait()?.is_none() {
        if begun.elapsed() > Duration::from_secs(120) {
            run.kill()?;
            let ended = Ended::of(run.wait_with_output()?)?;
            anyhow::bail!("the run waits for a stopped provider: {ended:?}");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ended::of(run.wait_with_output()?)
}

#[test]
fn a_run_with_a_stopped_provider_ends_and_names_it() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    let path = provider(&place)?;
    let place = place.with_environment([("SLIPWAY_PROVIDER_PATH".to_owned(), path)]);
    // A simulated second takes 20 ms, so that the apply takes some seconds.
    let spec = include_str!("rollout.yaml")
        .replace("    name: sim\n", "    name: sim\n    config: { timeScale: 0.02 }\n");
    place.write("spec.yaml", &spec)?;
    place.expect(0, &["provider", "lock", "sim"])?;

    let run = place.command(APPLY).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let begun = Instant::now();
    let process = loop {
        if let Some(process) = creator(&place) {
            break process;
        }
        ensure!(begun.elapsed() < Duration::from_secs(60), "the provider created nothing in 60 s");
        std::thread::sleep(Duration::from_millis(2));
    };
    ensure!(process != run.id(), "the provider runs in the process of the program");
    let stopped = Stopped(process);
    signal(process, "STOP")?;
    let ended = end(run)?;
    ensure!(ended.code == Some(1), "{ended:?}");
    let said = format!("{}{}", ended.out, ended.err);
    // The default of the program, not one that a test has set.
    let words = "provider sim gives no sign of life: no answer at all for 8 s";
    ensure!(said.contains(words), "the error does not say `{words}`: {said}");
    drop(stopped);

    place.expect(0, APPLY)?;
    ensure!(place.inventory()?.doubled().is_empty(), "objects are doubled");
    place.expect(0, &["plan", "-f", "spec.yaml"])?;
    Ok(())
}
