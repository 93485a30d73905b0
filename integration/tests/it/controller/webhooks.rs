//! Webhooks that a running controller receives.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use aws_lc_rs::hmac;
use slipway_integration::place::Place;
use slipway_resource::hexadecimal;

use super::{Running, commit, get, place, until};
use crate::SMALL;

const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// A place whose source is read once in an hour, and when a webhook arrives.
fn hooked() -> Result<Place> {
    let place = place("never")?;
    let text = std::fs::read_to_string(place.path().join("controller.toml"))?;
    let webhook = "interval = \"1h\"\nwebhook = { kind = \"github\", secret-file = \"webhook-secret\" }";
    let text = text
        .replace("interval = \"200ms\"", webhook)
        .replace("[[source]]", "[webhooks]\nlisten = \"127.0.0.1:0\"\n[[source]]");
    place.write("controller.toml", &text)?;
    place.write("webhook-secret", &format!("{SECRET}\n"))?;
    Ok(place)
}

fn sign(body: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    format!("sha256={}", hexadecimal(hmac::sign(&key, body.as_bytes()).as_ref()))
}

/// What GitHub sends about a push.
fn push(branch: &str, commit: &str) -> String {
    format!(r#"{{"ref":"refs/heads/{branch}","after":"{commit}","repository":{{"full_name":"o/fleet"}}}}"#)
}

/// Sends a webhook as GitHub does, and returns the answer. The announced length may be another than that of the body.
fn deliver(
    address: SocketAddr,
    (path, id): (&str, &str),
    signature: &str,
    (body, length): (&str, usize),
) -> Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(40)))?;
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         X-GitHub-Event: push\r\nX-GitHub-Delivery: {id}\r\nX-Hub-Signature-256: {signature}\r\n\r\n"
    );
    stream.write_all(format!("{head}{body}").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// Waits until the cluster was planned at a commit.
fn until_revision(place: &Place, revision: &str) -> Result<()> {
    let begun = Instant::now();
    while until(place, "PlanOnly")?["revision"] != revision {
        ensure!(begun.elapsed() < Duration::from_secs(40), "not at {revision}");
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

#[test]
fn a_signed_webhook_lets_a_change_be_planned_at_once_and_others_are_refused() -> Result<()> {
    let place = hooked()?;
    let mut running = Running::start(&place, &[("SLIPWAY_LOG", "debug".to_owned())])?;
    let (addresses, log) = running.addresses(&["health and metrics are served", "webhooks are received"])?;
    let (health, hooks) = (addresses[0], addresses[1]);
    let first = until(&place, "PlanOnly")?;
    let pool = "\n---\napiVersion: slipway.dev/v1alpha1\nkind: NodePool\nmetadata: { name: workers }\nspec: { machineType: sim.medium, size: { fixed: 1 } }\n";
    place.write("work/clusters/line/spec.yaml", &format!("{SMALL}{pool}"))?;
    let revision = commit(&place)?;

    let (body, other) = (push("main", &revision), push("topic", &revision));
    let (signature, whole) = (sign(&body), (body.as_str(), body.len()));
    let fleet = |id: &'static str| ("/hooks/fleet", id);
    for (answer, status) in [
        (deliver(hooks, fleet("1"), &sign(&other), whole)?, "401"),
        (deliver(hooks, fleet("2"), &signature, ("", 5 << 20))?, "413"),
        (deliver(hooks, fleet("3"), &sign(&other), (&other, other.len()))?, "200"),
        (deliver(hooks, ("/hooks/nobody", "4"), &signature, whole)?, "404"),
        (get(hooks, "/healthz")?, "404"),
        (get(hooks, "/metrics")?, "404"),
        (deliver(health, fleet("5"), &signature, whole)?, "405"),
    ] {
        ensure!(answer.starts_with(&format!("HTTP/1.1 {status}")), "not {status}: {answer}");
    }
    // None of them was a reason to read the source: it would have been read by now.
    std::thread::sleep(Duration::from_millis(1_500));
    let unchanged = until(&place, "PlanOnly")?;
    ensure!(unchanged["revision"] == first["revision"], "the source was read: {unchanged}");

    let accepted = deliver(hooks, fleet("6"), &signature, whole)?;
    ensure!(accepted.starts_with("HTTP/1.1 202"), "{accepted}");
    until_revision(&place, &revision)?;
    for id in ["6", "7"] {
        let replay = deliver(hooks, fleet(id), &signature, whole)?;
        ensure!(replay.starts_with("HTTP/1.1 200") && replay.ends_with("received before\n"), "{replay}");
    }

    let metrics = get(health, "/metrics")?;
    for (source, outcome, count) in
        [("fleet", "accepted", 1), ("fleet", "ignored", 3), ("fleet", "refused", 2), ("", "refused", 3)]
    {
        let line = format!(
            "slipway_controller_webhooks_total{{source=\"{source}\",outcome=\"{outcome}\"}} {count}\n"
        );
        ensure!(metrics.contains(&line), "no `{line}` in {metrics}");
    }
    running.stop()?;
    let log = log.join().map_err(|_| anyhow::anyhow!("its log was not read"))?.join("\n");
    let digits = signature.trim_start_matches("sha256=");
    ensure!(!log.contains(SECRET) && !log.contains(digits), "a secret is in the log: {log}");
    ensure!(place.inventory()?.objects.is_empty(), "a webhook applies nothing");
    Ok(())
}

#[test]
fn webhooks_that_cannot_be_received_are_refused_at_the_start() -> Result<()> {
    let place = hooked()?;
    let text = std::fs::read_to_string(place.path().join("controller.toml"))?;
    let run = ["controller", "run", "-f", "controller.toml"];
    place.write("webhook-secret", "hunter2")?;
    let short = place.expect(1, &run)?;
    ensure!(short.err.contains("error[FORGE0010]: source fleet: the secret in "), "{}", short.err);
    ensure!(short.err.contains("openssl rand -hex 32") && !short.err.contains("hunter2"), "{}", short.err);
    place.write("controller.toml", &text.replace("[webhooks]\nlisten = \"127.0.0.1:0\"\n", ""))?;
    let alone = place.expect(1, &run)?;
    ensure!(alone.err.contains("error[RECON0002]: source fleet: `webhook` needs the table"), "{}", alone.err);
    ensure!(alone.err.contains("hint: add `[webhooks]`"), "{}", alone.err);
    Ok(())
}
