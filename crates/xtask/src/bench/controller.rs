//! What a controller costs that has many clusters of 200 resources: the first apply, a look at all drift, nothing to do, one change,
//! and replicas that share them.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;

use crate::output::say;

/// The resources of a cluster, beside the cluster itself.
const RESOURCES: usize = 200;

/// How long nothing to do is measured.
const IDLE: Duration = Duration::from_secs(60);

/// How long anything may take to happen.
const PATIENCE: Duration = Duration::from_secs(4 * 3600);

/// The unit of processor time in `/proc`, on all architectures that Slipway is built for.
const TICKS_PER_SECOND: f64 = 100.0;

/// The label of a run that was complete.
const COMPLETE: &str = "outcome=\"complete\"";

const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// Only what happens in the benchmark causes work: nothing is read and planned by the clock.
const CONFIGURATION: &str = r#"
data = "data-REPLICA"
listen = "127.0.0.1:0"
workers = 8
[webhooks]
listen = "127.0.0.1:0"
[[source]]
name = "fleet"
folder = "."
paths = ["clusters/*"]
interval = "12h"
trust = { file-roots = [".slipway"] }
webhook = { kind = "generic", secret-file = "secret" }
[[source.cluster]]
name = "*"
apply = "always"
drift-interval = "12h"
"#;

/// A controller that runs; it is killed with this value.
struct Controller {
    child: Child,
    metrics: SocketAddr,
    webhooks: SocketAddr,
}

impl Drop for Controller {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Controller {
    fn start(program: &Path, folder: &Path, replica: usize) -> Result<Self> {
        let configuration = format!("controller-{replica}.toml");
        fs::write(folder.join(&configuration), CONFIGURATION.replace("REPLICA", &replica.to_string()))?;
        let log = folder.join(format!("log-{replica}"));
        let child = Command::new(program)
            .args(["controller", "run", "-f", &configuration, "--log-format", "json"])
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log)?)
            .spawn()
            .with_context(|| program.display().to_string())?;
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut controller = Self { child, metrics: nowhere, webhooks: nowhere };
        let begun = Instant::now();
        loop {
            let text = fs::read_to_string(&log)?;
            let addresses =
                (address(&text, "health and metrics are served"), address(&text, "webhooks are received"));
            if let (Some(metrics), Some(webhooks)) = addresses {
                (controller.metrics, controller.webhooks) = (metrics, webhooks);
                return Ok(controller);
            }
            ensure!(begun.elapsed() < Duration::from_secs(60), "the controller does not start: {text}");
            sleep(Duration::from_millis(50));
        }
    }

    /// The sum of all samples of a metric that have a text in their labels.
    fn metric(&self, name: &str, labels: &str) -> Result<f64> {
        let answer = request(self.metrics, "GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")?;
        let is_sample = |line: &&str| {
            let rest = line.strip_prefix("slipway_controller_").and_then(|line| line.strip_prefix(name));
            rest.is_some_and(|rest| rest.starts_with(['{', ' ']) && rest.contains(labels))
        };
        let values = answer.lines().filter(is_sample).filter_map(|line| line.rsplit_once(' '));
        Ok(values.filter_map(|(_, value)| value.trim().parse::<f64>().ok()).sum())
    }

    fn clusters(&self) -> Result<usize> {
        Ok(self.metric("clusters", "reason=\"InSync\"")? as usize)
    }

    /// Processor time in seconds, and resident memory in megabytes.
    fn usage(&self) -> Result<(f64, u64)> {
        let process = Path::new("/proc").join(self.child.id().to_string());
        let stat = fs::read_to_string(process.join("stat"))?;
        // The name of the process, in parentheses, may have spaces.
        let (_, fields) = stat.rsplit_once(") ").context("the fields of a process")?;
        let ticks = fields.split(' ').skip(11).take(2).map(str::parse::<u64>).sum::<Result<u64, _>>()?;
        let status = fs::read_to_string(process.join("status"))?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("its memory")?;
        let kilobytes: u64 = resident.trim().trim_end_matches(" kB").parse()?;
        Ok((ticks as f64 / TICKS_PER_SECOND, kilobytes / 1024))
    }

    /// Waits until something holds, and shows what it took.
    fn row(&self, what: &str, holds: impl Fn() -> Result<bool>) -> Result<()> {
        let ((before, _), begun) = (self.usage()?, Instant::now());
        until(what, &holds)?;
        let ((after, memory), wall) = (self.usage()?, begun.elapsed());
        say(&format!("{what:46} {:6.2} s  {memory:5} MB  {:5.1} s", after - before, wall.as_secs_f64()));
        Ok(())
    }

    /// Sends the webhook of the source, signed by `openssl`.
    fn notify(&self) -> Result<()> {
        let body = "changed";
        let mut sign = Command::new("openssl")
            .args(["dgst", "-sha256", "-hmac", SECRET, "-r"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("openssl")?;
        sign.stdin.take().context("its input")?.write_all(body.as_bytes())?;
        let output = String::from_utf8(sign.wait_with_output()?.stdout)?;
        let signature = output.split(' ').next().unwrap_or_default();
        let answer = request(
            self.webhooks,
            &format!(
                "POST /hooks/fleet HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {}\r\nX-Hub-Signature-256: sha256={signature}\r\n\r\n{body}",
                body.len()
            ),
        )?;
        ensure!(answer.starts_with("HTTP/1.1 202"), "the webhook was answered with {answer}");
        Ok(())
    }
}

/// Measures a controller of this program with so many clusters, and then with so many replicas.
pub(super) fn measure(program: &Path, clusters: usize, replicas: usize) -> Result<()> {
    let place = TempDir::new()?;
    let folder = place.path();
    let secret = folder.join("secret");
    fs::write(&secret, SECRET)?;
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600))?;
    for number in 0..clusters {
        write_spec(folder, number, RESOURCES)?;
    }
    say(&format!("Controller, {clusters} clusters of {RESOURCES} resources      CPU      memory    wall"));
    let first = Controller::start(program, folder, 1)?;
    first.row("first apply", || Ok(first.clusters()? == clusters))?;

    // The processes of a fleet are not those of its creation.
    drop(first);
    let first = Controller::start(program, folder, 1)?;
    first.row("start", || Ok(first.clusters()? == clusters))?;
    let (before, _) = first.usage()?;
    sleep(IDLE);
    let (after, memory) = first.usage()?;
    let cores = (after - before) / IDLE.as_secs_f64();
    say(&format!("{:46} {cores:6.3} cores, {memory} MB", "idle"));

    let plans = first.metric("plans_total", "")?;
    signal(&first.child, "HUP")?;
    let looked = plans + clusters as f64;
    first.row("look at all drift", || Ok(first.metric("plans_total", "")? >= looked))?;

    let applies = first.metric("applies_total", COMPLETE)?;
    write_spec(folder, 0, RESOURCES + 1)?;
    first.notify()?;
    first.row("from a webhook to the end of a change", || {
        Ok(first.metric("applies_total", COMPLETE)? > applies)
    })?;
    share(program, folder, (clusters, replicas), first)
}

/// Starts replicas beside a controller, and kills one of them.
fn share(
    program: &Path,
    folder: &Path,
    (clusters, replicas): (usize, usize),
    first: Controller,
) -> Result<()> {
    let mut all = vec![first];
    for replica in 2..=replicas {
        all.push(Controller::start(program, folder, replica)?);
    }
    until("all replicas", &|| has_all(&all, clusters))?;
    let shares = shares(&all)?;
    let (fewest, most) = (shares.iter().min().context("a share")?, shares.iter().max().context("a share")?);
    say(&format!("{:46} {fewest} to {most} clusters each", format!("{replicas} replicas")));
    if all.len() > 1 {
        let begun = Instant::now();
        // It is killed: it tells the others nothing.
        drop(all.pop());
        until("the others", &|| has_all(&all, clusters))?;
        let seconds = begun.elapsed().as_secs_f64();
        say(&format!("{:46} {seconds:5.1} s", "until the others have the clusters of one"));
    }
    Ok(())
}

/// How many clusters each replica has.
fn shares(all: &[Controller]) -> Result<Vec<usize>> {
    all.iter().map(Controller::clusters).collect()
}

/// Whether these replicas know each other and no other replica, and have all clusters.
fn has_all(all: &[Controller], clusters: usize) -> Result<bool> {
    let known = all.first().context("a replica")?.metric("replicas", "")? as usize;
    Ok(known == all.len() && shares(all)?.iter().sum::<usize>() == clusters)
}

/// Writes the spec of a cluster.
fn write_spec(folder: &Path, number: usize, resources: usize) -> Result<()> {
    let name = format!("c{number:05}");
    // Each has a simulated cloud of its own: one for all would be read as a whole for each plan.
    let cloud = folder.join(".slipway/sim").join(&name);
    let spec = include_str!("bench.yaml")
        .replace("COUNT", &resources.to_string())
        .replace("name: bench", &format!("name: {name}"))
        .replace("config:", &format!("config:\n      directory: {}", cloud.display()));
    let folder = folder.join("clusters").join(name);
    fs::create_dir_all(&folder)?;
    Ok(fs::write(folder.join("spec.yaml"), spec)?)
}

/// The address in the line of a log with this message.
fn address(log: &str, message: &str) -> Option<SocketAddr> {
    let line = log.lines().find(|line| line.contains(message))?;
    let record: serde_json::Value = serde_json::from_str(line).ok()?;
    record["fields"]["address"].as_str()?.parse().ok()
}

fn request(address: SocketAddr, text: &str) -> Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(text.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn signal(child: &Child, name: &str) -> Result<()> {
    let sent = Command::new("kill").arg(format!("-{name}")).arg(child.id().to_string()).status()?;
    ensure!(sent.success(), "the process has ended");
    Ok(())
}

fn until(what: &str, holds: &dyn Fn() -> Result<bool>) -> Result<()> {
    let begun = Instant::now();
    while !holds()? {
        ensure!(begun.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        sleep(Duration::from_millis(100));
    }
    Ok(())
}
