//! The costs of the state: requests and bytes per applied resource, over S3, beside terraform's backends.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use slipway_testkit::proxy::{Request, Verdict};
use slipway_testkit::{Moto, Proxy};
use tempfile::TempDir;

use super::place::{APPLY, Place};
use super::{measure, terraform};
use crate::output::say;

/// The writes of an apply.
#[derive(Clone, Copy, Debug)]
struct Written {
    resources: usize,
    writes: usize,
    bytes: usize,
}

impl Written {
    /// Counts the requests that write.
    fn of(resources: usize, requests: &[Request]) -> Self {
        let writes: Vec<&Request> =
            requests.iter().filter(|request| matches!(request.method.as_str(), "PUT" | "POST")).collect();
        let length = |request: &&Request| -> usize {
            request.header("content-length").and_then(|text| text.parse().ok()).unwrap_or(0)
        };
        Self { resources, writes: writes.len(), bytes: writes.iter().map(length).sum() }
    }

    fn bytes_each(self) -> f64 {
        self.bytes as f64 / self.resources as f64
    }

    fn show(self, what: &str) {
        say(&format!(
            "{what:46} {:6} writes  {:9} bytes  {:7.4} writes and {:7.0} bytes a resource",
            self.writes,
            self.bytes,
            self.writes as f64 / self.resources as f64,
            self.bytes_each()
        ));
    }
}

/// Measures both at a size and at a tenth of it, and terraform at its own.
pub(super) fn measure(program: &Path, resources: usize, terraform: Option<(&Path, usize)>) -> Result<()> {
    say("\nWhat the state of an apply costs");
    let small = slipway(program, resources / 10)?;
    let large = slipway(program, resources)?;
    line("writes, 10 times the resources", large.writes as f64 / small.writes as f64);
    line("bytes a resource, 10 times the resources", large.bytes_each() / small.bytes_each());
    if let Some((terraform, count)) = terraform {
        let own = slipway(program, count)?;
        let http = over_http(terraform, count)?;
        line(&format!("writes of {count}, to terraform's http"), own.writes as f64 / http.writes as f64);
        line(&format!("bytes of {count}, to terraform's http"), own.bytes as f64 / http.bytes as f64);
        let local = on_files(terraform, count)?;
        line(&format!("bytes of {count}, to terraform's local at its end"), own.bytes as f64 / local as f64);
    }
    Ok(())
}

fn line(what: &str, ratio: f64) {
    say(&format!("{what:46} {ratio:6.2}x"));
}

/// An apply with its state in a bucket.
fn slipway(program: &Path, count: usize) -> Result<Written> {
    let moto = Moto::start()?;
    moto.create_bucket("state")?;
    let proxy = Proxy::start(moto.port(), |_| Verdict::Pass)?;
    let place = Place::with_objects(count)?;
    let environment = moto.environment().into_iter().map(|(name, value)| {
        if name == "AWS_ENDPOINT_URL" { (name, proxy.endpoint()) } else { (name, value) }
    });
    let environment: Vec<(String, String)> = environment.collect();
    // The store is made and proved once, whatever is applied.
    let store = ["--state", "s3://state/bench"];
    run(program, &[&["state", "init"][..], &store].concat(), place.path(), &environment)?;
    proxy.reset();
    run(program, &[&APPLY[..], &store].concat(), place.path(), &environment)?;
    let written = Written::of(count, &proxy.requests());
    written.show(&format!("slipway over S3: apply of {count} resources"));
    Ok(written)
}

fn run(program: &Path, arguments: &[&str], folder: &Path, environment: &[(String, String)]) -> Result<()> {
    let mut command = std::process::Command::new(program);
    command.args(arguments).current_dir(folder).envs(environment.iter().cloned());
    let output = command.output()?;
    anyhow::ensure!(
        output.status.success(),
        "{} {}: {}",
        program.display(),
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

/// An apply of terraform with its state behind a small HTTP server.
fn over_http(terraform: &Path, count: usize) -> Result<Written> {
    let kept: Arc<Mutex<Option<Vec<u8>>>> = Arc::default();
    let server = Proxy::start(0, move |request| {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        match request.method.as_str() {
            "POST" => *kept = Some(request.body.clone()),
            "GET" => {
                let Some(body) = kept.clone() else { return Verdict::status(404) };
                return Verdict::Answer { status: 200, headers: Vec::new(), body };
            }
            _ => {}
        }
        Verdict::status(200)
    })?;
    let address = format!("{}/state", server.endpoint());
    let backend = format!(
        "terraform {{\n  backend \"http\" {{\n    address = \"{address}\"\n    lock_address = \"{address}\"\n    \
         unlock_address = \"{address}\"\n  }}\n}}\n\n"
    );
    let folder = TempDir::new()?;
    apply(terraform, folder.path(), &format!("{backend}{}", terraform::configuration(count)))?;
    let written = Written::of(count, &server.requests());
    written.show(&format!("terraform, http backend: apply of {count}"));
    Ok(written)
}

/// The same with its state in a file: the bytes of that at its end.
fn on_files(terraform: &Path, count: usize) -> Result<u64> {
    let folder = TempDir::new()?;
    apply(terraform, folder.path(), &terraform::configuration(count))?;
    let bytes =
        std::fs::metadata(folder.path().join("terraform.tfstate")).context("terraform's state")?.len();
    say(&format!(
        "{:46}    its state has {bytes} bytes",
        format!("terraform, local backend: apply of {count}")
    ));
    Ok(bytes)
}

fn apply(terraform: &Path, folder: &Path, configuration: &str) -> Result<()> {
    std::fs::write(folder.join("main.tf"), configuration)?;
    measure::run(terraform, &["init", "-input=false", "-no-color"], folder)?;
    measure::run(terraform, &["apply", "-auto-approve", "-no-color"], folder)?;
    Ok(())
}
