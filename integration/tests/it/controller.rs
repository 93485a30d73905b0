//! `slipway controller` as a process: killed at writes, stopped by a signal, its endpoints and its commands.

mod waves;
mod webhooks;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value as Json;
use slipway_integration::place::Place;

use crate::{PROGRAM, SMALL};

const CONFIGURATION: &str = r#"
data = "controller-data"
listen = "127.0.0.1:0"
poll = "100ms"
retry = { first = "200ms", longest = "1s" }
[[source]]
name = "fleet"
paths = ["clusters/*"]
interval = "200ms"
trust = { file-roots = [".slipway"] }
[source.git]
url = "file://REPOSITORY"
[[source.cluster]]
name = "*"
apply = "APPLY"
"#;

/// A place with a repository that has the spec of one cluster, and the configuration of a controller.
fn place(apply: &str) -> Result<Place> {
    let place = Place::new(PROGRAM)?;
    place.write("work/clusters/line/spec.yaml", SMALL)?;
    git(&place, &["init", "--quiet", "--initial-branch=main", "."])?;
    commit(&place)?;
    let repository = place.path().join("work").display().to_string();
    place.write(
        "controller.toml",
        &CONFIGURATION.replace("REPOSITORY", &repository).replace("APPLY", apply),
    )?;
    Ok(place)
}

/// Commits everything, and returns the commit.
fn commit(place: &Place) -> Result<String> {
    git(place, &["add", "--all"])?;
    git(place, &["commit", "--quiet", "-m", "a change"])?;
    Ok(git(place, &["rev-parse", "HEAD"])?.trim().to_owned())
}

fn git(place: &Place, arguments: &[&str]) -> Result<String> {
    let mut git = Command::new("git");
    git.args(arguments).current_dir(place.path().join("work")).env("HOME", place.path());
    git.env("GIT_CONFIG_NOSYSTEM", "1");
    for who in ["AUTHOR", "COMMITTER"] {
        git.env(format!("GIT_{who}_NAME"), "tester").env(format!("GIT_{who}_EMAIL"), "tester@example.com");
    }
    let output = git.output()?;
    ensure!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

/// A controller, which is killed with this value.
pub(crate) struct Running(Child);

impl Running {
    pub(crate) fn start(place: &Place, variables: &[(&str, String)]) -> Result<Self> {
        let mut command =
            place.command(&["controller", "run", "-f", "controller.toml", "--log-format", "json"]);
        command.envs(variables.iter().cloned()).stdout(Stdio::null()).stderr(Stdio::piped());
        Ok(Self(command.spawn()?))
    }

    /// Reads the log as long as it is written.
    fn log(&mut self) -> Result<JoinHandle<Vec<String>>> {
        let log = BufReader::new(self.0.stderr.take().context("its log")?).lines();
        Ok(std::thread::spawn(move || log.map_while(Result::ok).collect()))
    }

    /// The address of the endpoints, as the log has it.
    fn address(&mut self) -> Result<SocketAddr> {
        let (addresses, _) = self.addresses(&["health and metrics are served"])?;
        addresses.first().copied().context("its address")
    }

    /// The addresses in messages of the log, which come in this order, and the lines of the log after the end of the process.
    fn addresses(&mut self, messages: &[&str]) -> Result<(Vec<SocketAddr>, JoinHandle<Vec<String>>)> {
        let mut log = BufReader::new(self.0.stderr.take().context("its log")?).lines();
        let mut addresses: Vec<SocketAddr> = Vec::new();
        let mut lines: Vec<String> = Vec::new();
        while let Some(line) = log.next() {
            let line = line?;
            let record: Json = serde_json::from_str(&line)?;
            lines.push(line);
            let fields = &record["fields"];
            if messages.get(addresses.len()).is_some_and(|message| fields["message"] == *message) {
                addresses.push(fields["address"].as_str().context("an address")?.parse()?);
            }
            if addresses.len() == messages.len() {
                // Somebody reads the log as long as it is written.
                let reads = move || {
                    lines.extend(log.map_while(Result::ok));
                    lines
                };
                return Ok((addresses, std::thread::spawn(reads)));
            }
        }
        anyhow::bail!("the log does not name its addresses: {lines:#?}")
    }

    /// Stops it by a signal, and waits for its end.
    fn stop(&mut self) -> Result<()> {
        let stopped = Command::new("kill").args(["-TERM", &self.0.id().to_string()]).status()?;
        ensure!(stopped.success() && self.0.wait()?.success(), "a stop is no failure");
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until the cluster is ready, or not, for a reason.
pub(crate) fn until(place: &Place, reason: &str) -> Result<Json> {
    let begun = Instant::now();
    loop {
        let shown = place.run(&["controller", "show", "-o", "json"])?;
        let report: Json = serde_json::from_str(&shown.out).unwrap_or_default();
        let status = report["clusters"][0]["status"].clone();
        let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
        if conditions.iter().any(|condition| condition["type"] == "Ready" && condition["reason"] == reason) {
            return Ok(status);
        }
        ensure!(begun.elapsed() < Duration::from_secs(40), "not {reason}: {}", shown.out);
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn get(address: SocketAddr, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

#[test]
fn a_controller_that_is_killed_at_a_write_goes_on_where_it_was() -> Result<()> {
    for kill in ["4:before", "9:after", "14:before", "22:after"] {
        let place = place("always")?;
        let mut killed = Running::start(&place, &[("SLIPWAY_TEST_KILL", kill.to_owned())])?;
        let log = killed.log()?;
        let begun = Instant::now();
        let status = loop {
            let status = killed.0.try_wait()?;
            if status.is_some() || begun.elapsed() > Duration::from_secs(30) {
                break status;
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        if status.is_none_or(|status| status.success()) {
            let shown = place.run(&["controller", "show", "-o", "json"])?.out;
            killed.0.kill()?;
            let log = log.join().unwrap_or_default();
            anyhow::bail!("{kill}: it was not killed\n{shown}\n{}", log.join("\n"));
        }
        drop(killed);
        let _second = Running::start(&place, &[])?;
        until(&place, "InSync")?;
        let inventory = place.inventory()?;
        ensure!(inventory.doubled().is_empty(), "{kill}: {:?}", inventory.doubled());
        place.expect(0, &["plan", "-f", "work/clusters/line"])?;
    }
    Ok(())
}

#[test]
fn an_approved_plan_goes_on_with_its_approval_after_a_kill() -> Result<()> {
    let place = place("approved")?;
    let first = Running::start(&place, &[])?;
    let status = until(&place, "ApprovalNeeded")?;
    ensure!(place.inventory()?.objects.is_empty(), "nothing is applied that is not approved");
    drop(first);
    let plan = status["plan"]["place"].as_str().context("its place")?;
    let get = place.run(&["get", "clusters"])?;
    ensure!(get.code == Some(0), "a stored plan is no damage: {get:?}");
    let approved = place.expect(0, &["approve", plan, "--yes"])?;
    ensure!(approved.err.contains("counts this approval only if its `approvers` name"), "{approved:?}");
    // It is killed in the middle of the run.
    let mut killed = Running::start(&place, &[("SLIPWAY_TEST_KILL", "20:before".to_owned())])?;
    killed.0.wait()?;
    let _second = Running::start(&place, &[])?;
    until(&place, "InSync")?;
    ensure!(place.inventory()?.doubled().is_empty());
    let history = place.expect(0, &["state", "history", "line"])?;
    ensure!(history.out.contains("slipway-controller@"), "{}", history.out);
    Ok(())
}

#[test]
fn a_request_reads_a_corrected_folder_again() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    let configuration = CONFIGURATION
        .replace("interval = \"200ms\"\n", "interval = \"1h\"\nfolder = \"work\"\n")
        .replace("[source.git]\nurl = \"file://REPOSITORY\"\n", "")
        .replace("APPLY", "always");
    place.write("controller.toml", &configuration)?;
    place.write("work/clusters/line/spec.yaml", SMALL)?;
    let _running = Running::start(&place, &[])?;
    until(&place, "InSync")?;
    for (spec, reason) in [(format!("{SMALL}\nnonsense: ["), "SpecInvalid"), (SMALL.to_owned(), "InSync")] {
        place.write("work/clusters/line/spec.yaml", &spec)?;
        place.expect(0, &["controller", "request", "line"])?;
        until(&place, reason)?;
    }
    Ok(())
}

#[test]
fn definitions_are_printed_without_a_configuration() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    let printed = place.expect(0, &["controller", "install", "--definitions"])?.out;
    ensure!(printed.contains("kind: CustomResourceDefinition"), "{printed}");
    let refused = place.run(&["controller", "install", "--systemd"])?;
    ensure!(refused.code != Some(0) && refused.err.contains("--file"), "{refused:?}");
    Ok(())
}

#[test]
fn a_cluster_that_no_controller_has_reported_is_shown_as_such() -> Result<()> {
    let place = place("always")?;
    place.expect(0, &["apply", "-f", "work/clusters/line", "--yes"])?;
    place.expect(0, &["controller", "pause", "line", "--reason", "incident 7"])?;
    let shown = place.expect(0, &["controller", "show", "line"])?;
    for part in ["No controller has reported the cluster line", "incident 7"] {
        ensure!(shown.out.contains(part), "no `{part}`: {}", shown.out);
    }
    let shown = place.expect(0, &["controller", "show", "line", "-o", "json"])?;
    let report: Json = serde_json::from_str(&shown.out)?;
    ensure!(report["clusters"] == Json::Array(Vec::new()), "{}", shown.out);
    Ok(())
}

#[test]
fn persons_see_and_steer_a_controller() -> Result<()> {
    let place = place("always")?;
    for useless in [&["--reason", " "][..], &["--reason", "one\ntwo"], &["--reason", "x", "--for", "0s"]] {
        place.expect(1, &[&["controller", "pause", "line"], useless].concat())?;
    }
    let unknown = place.expect(1, &["controller", "pause", "lime", "--reason", "x"])?;
    ensure!(unknown.err.contains("RECON0011"), "{}", unknown.err);
    let unknown = place.expect(1, &["controller", "show", "lime"])?;
    ensure!(unknown.err.contains("RECON0011"), "{}", unknown.err);
    let mut running = Running::start(&place, &[])?;
    let address = running.address()?;
    until(&place, "InSync")?;
    ensure!(get(address, "/healthz")?.starts_with("HTTP/1.1 200"));
    ensure!(get(address, "/readyz")?.starts_with("HTTP/1.1 200"));
    let metrics = get(address, "/metrics")?;
    for part in [
        "slipway_controller_applies_total{outcome=\"complete\"} 1",
        "slipway_controller_clusters{reason=\"InSync\"} 1",
        "slipway_controller_provider_calls_total{provider=\"sim\",outcome=\"ok\"} ",
    ] {
        ensure!(metrics.contains(part), "no `{part}` in {metrics}");
    }
    let paused =
        place.expect(0, &["controller", "pause", "line", "--for", "2h", "--reason", "incident 7"])?;
    ensure!(paused.out.contains("paused until 2") || paused.err.contains("paused until 2"), "{paused:?}");
    for arguments in [&["get", "clusters"][..], &["plan", "-f", "work/clusters/line"]] {
        let said = place.expect(0, arguments)?;
        ensure!(said.err.contains("incident 7"), "{arguments:?}: {}", said.err);
    }
    let pool = "\n---\napiVersion: slipway.dev/v1alpha1\nkind: NodePool\nmetadata: { name: workers }\nspec: { machineType: sim.medium, size: { fixed: 1 } }\n";
    place.write("work/clusters/line/spec.yaml", &format!("{SMALL}{pool}"))?;
    commit(&place)?;
    until(&place, "Paused")?;
    ensure!(place.inventory()?.machines.len() == 1);
    place.expect(0, &["controller", "resume", "line"])?;
    until(&place, "InSync")?;
    ensure!(place.inventory()?.machines.len() == 2);
    let verified = place.expect(0, &["state", "verify"])?;
    ensure!(!verified.out.contains("_controller"), "{}", verified.out);

    let shown = place.expect(0, &["controller", "show", "line"])?;
    ensure!(!shown.out.contains("no replica"), "{}", shown.out);
    running.stop()?;
    for arguments in [&["controller", "show"][..], &["controller", "show", "line"]] {
        let shown = place.expect(0, arguments)?;
        let silence = "no replica of the controller default lives (last sign 2";
        ensure!(shown.out.contains(silence), "{arguments:?}: {}", shown.out);
    }
    let shown = place.expect(0, &["controller", "show", "-o", "json"])?;
    let report: Json = serde_json::from_str(&shown.out)?;
    ensure!(report["controllers"][0]["lives"] == false, "{}", shown.out);
    ensure!(report["clusters"][0]["overdue"] == false, "{}", shown.out);
    Ok(())
}
