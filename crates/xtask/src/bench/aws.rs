//! The costs of clusters on AWS: calls, time, processor and memory of each part of a life over moto, beside
//! the figures of kOps 1.37 for the same shapes.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Result, ensure};
use slipway_testkit::proxy::{Proxy, Verdict};
use slipway_testkit::{Moto, http};
use tempfile::TempDir;

use super::measure::{self, Usage};
use crate::output::say;
use crate::workspace;

/// The packages that are built beside the program.
pub(super) const PACKAGES: [&str; 1] = ["slipway-provider-aws"];

/// The latency of a call, where it is simulated.
const LATENCY_MS: u64 = 50;

/// A shape, and what kOps needs for it: calls of create, no-op and delete, and seconds of a no-op at 50 ms a call.
const SHAPES: &[(&str, &str, [usize; 3], f64)] =
    &[("minimal", "kops-minimal.yaml", [220, 128, 94], 5.6), ("HA", "kops-ha.yaml", [461, 259, 149], 8.5)];

/// The patches that make moto behave like AWS, in their order.
const MENDED: [&str; 6] = ["wrap.py", "network.py", "machines.py", "groups.py", "services.py", "tokens.py"];

const SIGNED: [(&str, &str); 2] = [
    (
        "Authorization",
        "AWS4-HMAC-SHA256 Credential=testing/20260101/us-east-1/route53/aws4_request, SignedHeaders=host, Signature=0",
    ),
    ("Content-Type", "text/xml"),
];
const ZONE: &[u8] = b"<CreateHostedZoneRequest xmlns=\"https://route53.amazonaws.com/doc/2013-04-01/\">\
    <Name>example.com</Name><CallerReference>bench</CallerReference></CreateHostedZoneRequest>";

/// The cloud of one life.
struct Lab {
    folder: TempDir,
    proxy: Proxy,
    latency: Arc<AtomicU64>,
    environment: Vec<(String, String)>,
    _moto: Moto,
}

impl Lab {
    fn new(program: &Path, spec: &str) -> Result<Self> {
        let tests = workspace::root().join("providers/aws/tests");
        let mended = MENDED.map(|part| std::fs::read_to_string(tests.join("support/mended").join(part)));
        let mended = mended.into_iter().collect::<std::io::Result<Vec<_>>>()?.concat();
        let moto = Moto::start_mended(&mended)?;
        let answer = http::request("POST", moto.port(), "/2013-04-01/hostedzone", &SIGNED, ZONE)?;
        ensure!(answer.status == 201, "no hosted zone");
        let latency = Arc::new(AtomicU64::new(0));
        let shared = Arc::clone(&latency);
        let proxy = Proxy::start(moto.port(), move |_| match shared.load(Ordering::Relaxed) {
            0 => Verdict::Pass,
            milliseconds => Verdict::Delay(Duration::from_millis(milliseconds)),
        })?;
        let folder = TempDir::new()?;
        std::fs::copy(tests.join("life/specs").join(spec), folder.path().join("spec.yaml"))?;
        let provider = folder.path().join("providers/aws");
        std::fs::create_dir_all(&provider)?;
        let manifest = std::fs::read_to_string(workspace::root().join("providers/aws/provider.toml"))?;
        let lines =
            manifest.lines().filter(|line| !line.starts_with("executable") && !line.starts_with("offline"));
        std::fs::write(
            provider.join("provider.toml"),
            lines.map(|line| format!("{line}\n")).collect::<String>(),
        )?;
        let executable = program.with_file_name("slipway-provider-aws");
        std::os::unix::fs::symlink(executable, provider.join("slipway-provider-aws"))?;
        let mut environment = moto.environment();
        environment.push(("AWS_ENDPOINT_URL".to_owned(), proxy.endpoint()));
        environment.push(("AWS_CONFIG_FILE".to_owned(), "/dev/null".to_owned()));
        environment.push(("AWS_SHARED_CREDENTIALS_FILE".to_owned(), "/dev/null".to_owned()));
        environment.push(("SLIPWAY_PROVIDER_PATH".to_owned(), "providers".to_owned()));
        let lab = Self { folder, proxy, latency, environment, _moto: moto };
        lab.run(program, &["provider", "lock", "aws"], 0)?;
        Ok(lab)
    }

    /// Runs a command. Returns its costs and the number of its calls.
    fn run(&self, program: &Path, arguments: &[&str], latency_ms: u64) -> Result<(Usage, usize)> {
        self.latency.store(latency_ms, Ordering::Relaxed);
        self.proxy.reset();
        let usage = measure::run_with(program, arguments, self.folder.path(), &self.environment)?;
        Ok((usage, self.proxy.reset()))
    }
}

/// Measures the life of each shape.
pub(super) fn measure(program: &Path, runs: usize) -> Result<()> {
    say("What                              calls  (kOps)     wall     CPU  memory");
    let apply = ["apply", "-f", "spec.yaml", "--yes"];
    let plan = ["plan", "-f", "spec.yaml"];
    let confirmed = ["--confirm", "minimal.example.com", "--confirm", "ha.example.com"];
    let delete = [&["delete", "-f", "spec.yaml", "--yes", "--delete-backups"], &confirmed[..]].concat();
    for (name, spec, kops, kops_wall) in SHAPES {
        let lab = Lab::new(program, spec)?;
        let info = lab.run(program, &["provider", "info", "aws"], 0)?;
        row(&format!("{name}: start of the provider"), &info, None);
        row(&format!("{name}: create"), &lab.run(program, &apply, 0)?, Some(kops[0]));
        let nothing = || lab.run(program, &plan, LATENCY_MS);
        let mut plans = (0..runs.max(1)).map(|_| nothing()).collect::<Result<Vec<_>>>()?;
        plans.sort_by(|left, right| left.0.wall.total_cmp(&right.0.wall));
        if let Some(middle) = plans.get(plans.len() / 2) {
            row(&format!("{name}: no-op plan, {LATENCY_MS} ms a call"), middle, Some(kops[1]));
            say(&format!("{:34} {:.2} s of kOps' {kops_wall:.1} s", "", middle.0.wall));
        }
        row(&format!("{name}: delete"), &lab.run(program, &delete, 0)?, Some(kops[2]));
    }
    Ok(())
}

fn row(what: &str, (usage, calls): &(Usage, usize), kops: Option<usize>) {
    let kops = kops.map(|calls| format!("({calls})")).unwrap_or_default();
    say(&format!(
        "{what:34} {calls:4}  {kops:>6}  {:5.2} s  {:4.2} s  {:3} MB",
        usage.wall, usage.cpu, usage.memory_mb
    ));
}
