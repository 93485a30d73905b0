//! The cost of objects, compared with kubectl, against one API server in one run: requests, seconds, and
//! memory.
//!
//! `cargo xtask bench --only-objects` runs it. Its arguments are numbers of objects.

#![allow(missing_docs, clippy::print_stdout, reason = "a measurement for people")]

#[allow(dead_code, reason = "a part of what the tests need")]
#[path = "../tests/kubernetes/lab.rs"]
mod lab;

use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value as Json, json};
use slipway_plan::Mode;
use slipway_provider_kubernetes::{files, order};
use slipway_resource::Desired;

use lab::{Api, Lab};

/// How many objects one namespace has, beside itself.
const EACH: usize = 99;

/// Objects of five kinds, half of them ConfigMaps of about a kilobyte.
fn manifests(prefix: &str, count: usize, value: &str) -> Vec<Json> {
    let mut all = Vec::with_capacity(count);
    let mut place = String::new();
    for number in 0..count {
        let (of, within) = (number / (EACH + 1), number % (EACH + 1));
        if within == 0 {
            place = format!("{prefix}-{of}");
            all.push(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": place}}));
            continue;
        }
        let metadata = json!({"name": format!("o-{number}"), "namespace": place, "labels": {"app": "bench"}});
        all.push(match within % 6 {
            0 => json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}),
            1 => json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": metadata,
                "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]}),
            2 => json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": metadata,
                "spec": {"podSelector": {"matchLabels": {"app": "bench"}}, "policyTypes": ["Ingress"]}}),
            _ => json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata,
                "data": {"value": if number == 5 { value } else { "1" }, "text": "x".repeat(900)}}),
        });
    }
    all
}

fn wanted(manifests: &[Json]) -> Vec<Desired> {
    order(manifests.iter().map(files::desired).collect())
}

/// The measured cost of an operation.
struct Cost {
    requests: usize,
    seconds: f64,
    /// In MiB; of this process, and so only for Slipway.
    memory: f64,
}

fn peak() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).context("a peak")?;
    Ok(line.split_whitespace().nth(1).context("a number")?.parse::<f64>()? / 1024.0)
}

async fn measured<T>(api: &Api, client: &str, work: impl Future<Output = Result<T>>) -> Result<(Cost, T)> {
    let before = api.requests(client)?.len();
    // The peak from here on.
    std::fs::write("/proc/self/clear_refs", "5")?;
    let begun = Instant::now();
    let result = work.await?;
    let seconds = begun.elapsed().as_secs_f64();
    let memory = peak()?;
    Ok((Cost { requests: api.requests(client)?.len() - before, seconds, memory }, result))
}

fn row(what: &str, cost: &Cost) {
    let memory = if what.starts_with("slipway") { format!("{:7.0} MiB", cost.memory) } else { String::new() };
    println!("{what:52} {:6} requests {:8.2} s {memory}", cost.requests, cost.seconds);
}

fn ratio(what: &str, own: &Cost, peer: &Cost) {
    let requests = own.requests as f64 / peer.requests.max(1) as f64;
    println!("{what:52} {requests:6.3}x requests {:6.3}x seconds", own.seconds / peer.seconds);
}

async fn kubectl(api: &Api, arguments: &[&str], input: &str) -> Result<()> {
    tokio::task::block_in_place(|| match api.kubectl_with(arguments, input) {
        // A difference is its answer.
        Err(error) if arguments[0] == "diff" && error.to_string().ends_with(": ") => Ok(()),
        result => result.map(drop),
    })
}

fn text(manifests: &[Json]) -> String {
    json!({"apiVersion": "v1", "kind": "List", "items": manifests}).to_string()
}

async fn size(api: &Api, count: usize) -> Result<()> {
    println!("\n{count} objects");
    let own = |value: &str| wanted(&manifests(&format!("slipway-{count}"), count, value));
    let peer = |value: &str| text(&manifests(&format!("kubectl-{count}"), count, value));
    let lab = Lab::new(api, &format!("bench-{count}"));
    let apply = ["apply", "--server-side", "-f", "-"];
    let diff = ["diff", "--server-side", "-f", "-"];

    let (first, (_, report)) = measured(api, "slipway", lab.run(&own("1"), Mode::Apply)).await?;
    ensure!(report.failures.is_empty(), "{:?}", report.failures);
    row("slipway: first apply, with its plan", &first);
    let (peer_first, ()) = measured(api, "kubectl", kubectl(api, &apply, &peer("1"))).await?;
    row("kubectl apply --server-side: first", &peer_first);

    let (idle, plan) = measured(api, "slipway", lab.plan(&own("1"))).await?;
    ensure!(plan.changes.is_empty(), "{}", lab::shown(&plan));
    row("slipway: plan without changes", &idle);
    let kinds = 5;
    let allowed = kinds * count.div_ceil(500).max(1) + 5;
    ensure!(idle.requests <= allowed, "{} requests, {allowed} are allowed", idle.requests);
    let (peer_idle, ()) = measured(api, "kubectl", kubectl(api, &diff, &peer("1"))).await?;
    row("kubectl diff: no change", &peer_idle);

    let (changed, (plan, report)) = measured(api, "slipway", lab.run(&own("2"), Mode::Apply)).await?;
    ensure!(report.failures.is_empty() && plan.changes.len() == 1, "{:?}", report.failures);
    row("slipway: apply of one change, with its plan", &changed);
    let (peer_changed, ()) = measured(api, "kubectl", kubectl(api, &diff, &peer("2"))).await?;
    row("kubectl diff: one change", &peer_changed);
    let (peer_applied, ()) = measured(api, "kubectl", kubectl(api, &apply, &peer("2"))).await?;
    row("kubectl apply --server-side: one change", &peer_applied);

    ratio("first apply, to kubectl apply", &first, &peer_first);
    ratio("plan without changes, to kubectl diff", &idle, &peer_idle);
    ratio("one change, to kubectl apply", &changed, &peer_applied);
    Ok(())
}

#[tokio::main]
async fn main() -> Result<()> {
    let sizes: Vec<usize> = std::env::args().skip(1).map(|size| size.parse()).collect::<Result<_, _>>()?;
    let api = Api::start(false)?;
    println!("seconds depend on the machine; the ratios are to kubectl in the same run");
    for count in sizes {
        size(&api, count).await?;
    }
    Ok(())
}
