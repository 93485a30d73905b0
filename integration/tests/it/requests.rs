//! Requests of runs to the store fail: before their effect, after it, refused, not answered. The same command
//! again has the normal result. The cloud has no object twice, and none that the state does not know.

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use slipway_integration::place::{Ended, Place};
use slipway_testkit::Proxy;
use slipway_testkit::proxy::Verdict;

use crate::crash::{APPLY, DELETE, SMALL, command, on_s3, shape};

/// The number of requests that fail, one in each run. `SLIPWAY_CRASH=all` tries every request.
const SAMPLE: usize = 6;

const SECOND: Duration = Duration::from_secs(1);

fn verdicts() -> [Verdict; 11] {
    [
        Verdict::DropAfter,
        Verdict::status(503),
        Verdict::AnswerAfter(500),
        Verdict::status(412),
        Verdict::SilenceAfter(2 * SECOND),
        Verdict::status(409),
        Verdict::AnswerAfter(412),
        Verdict::DropBefore,
        Verdict::AnswerAfter(503),
        Verdict::status(500),
        Verdict::Silence(2 * SECOND),
    ]
}

/// A place whose requests pass a proxy, which fails one of them.
struct Disturbed {
    place: Place,
    proxy: Proxy,
    left: Arc<AtomicUsize>,
    verdict: Arc<Mutex<Verdict>>,
}

impl Disturbed {
    fn new() -> Result<Self> {
        let place = on_s3()?;
        place.write("config/slipway/config.toml", "[state]\ntimeout-seconds = 1\n")?;
        let (left, verdict) = (Arc::new(AtomicUsize::new(usize::MAX)), Arc::new(Mutex::new(Verdict::Pass)));
        let (counting, told) = (left.clone(), verdict.clone());
        let proxy = Proxy::start(place.bucket().context("a bucket")?.port(), move |_| {
            match counting.fetch_sub(1, Ordering::SeqCst) {
                0 => told.lock().map_or(Verdict::Pass, |told| told.clone()),
                _ => Verdict::Pass,
            }
        })?;
        Ok(Self { place, proxy, left, verdict })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(&self.place, arguments);
        command.env("AWS_ENDPOINT_URL", self.proxy.endpoint());
        command
    }

    /// Runs the program while request number `at` fails.
    fn run(&self, arguments: &[&str], at: usize, verdict: Verdict) -> Result<Ended> {
        *self.verdict.lock().map_err(|_| anyhow::anyhow!("poisoned"))? = verdict;
        self.left.store(at, Ordering::SeqCst);
        let ended = Ended::of(self.command(arguments).output()?);
        self.left.store(usize::MAX, Ordering::SeqCst);
        ended
    }
}

fn survive(name: &str, before: Option<&str>, spec: &str, arguments: &[&str], first: usize) -> Result<()> {
    let start = on_s3()?;
    if let Some(before) = before {
        start.write("spec.yaml", before)?;
        let ended = Ended::of(command(&start, APPLY).output()?)?;
        ensure!(ended.code == Some(0), "{ended:?}");
    }
    let prepared = || -> Result<Disturbed> {
        let disturbed = Disturbed::new()?;
        disturbed.place.copy_from(&start)?;
        disturbed.place.write("spec.yaml", spec)?;
        Ok(disturbed)
    };
    let undisturbed = prepared()?;
    let ended = undisturbed.run(arguments, usize::MAX, Verdict::Pass)?;
    ensure!(ended.code == Some(0), "{ended:?}");
    let (requests, wanted) = (undisturbed.proxy.reset(), shape(&undisturbed.place)?);
    let all = std::env::var("SLIPWAY_CRASH").is_ok_and(|value| value == "all");
    let stride = if all { 1 } else { requests.div_ceil(SAMPLE) };
    let verdicts = verdicts();
    for (number, at) in (0..requests).step_by(stride).enumerate() {
        let verdict = &verdicts[(first + number) % verdicts.len()];
        let what = format!("{name}: request {at} of {requests}: {verdict:?}");
        let disturbed = prepared()?;
        let ended = disturbed.run(arguments, at, verdict.clone())?;
        ensure!(matches!(ended.code, Some(0 | 1)), "{what}: {ended:?}");
        let again = disturbed.run(arguments, usize::MAX, Verdict::Pass)?;
        ensure!(again.code == Some(0), "{what}: the next run: {again:?}");
        ensure!(shape(&disturbed.place)? == wanted, "{what}: the cloud is not as it should be");
        if arguments == APPLY {
            let plan = Ended::of(disturbed.command(&["plan", "-f", "spec.yaml"]).output()?)?;
            ensure!(plan.code == Some(0), "{what}: a plan is left: {plan:?}");
        }
    }
    Ok(())
}

#[test]
fn of_a_create() -> Result<()> {
    survive("create", None, SMALL, APPLY, 0)
}

#[test]
fn of_an_update() -> Result<()> {
    survive("update", Some(SMALL), &SMALL.replace("zones: [sim-1a]", "zones: [sim-1a, sim-1b]"), APPLY, 3)
}

#[test]
fn of_a_delete() -> Result<()> {
    survive("delete", Some(SMALL), SMALL, DELETE, 6)
}
